/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

static const char *const exact[] = {"data", NULL};

/* Immutable (Kubernetes, "Immutable ConfigMaps"): nobody changes a revision under its Pods, and no node has
 * to watch it. One of other content is told as a field that cannot be changed (K83). */
struct kubernetes_wanted
kubernetes_intend_snapshot(const void *context, const struct kubernetes_topology *topology, const char *space)
{
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_config_map, space,
                      kubernetes_of_revision(context, KUBERNETES_SNAPSHOT, topology)},
        .owner = kubernetes_revision_owner(topology, NULL),
        .intent = json_new_object(context),
        .comparison = {exact},
    };

    json_add_boolean(wanted.intent, "immutable", true);
    json_add_text(json_add_object(wanted.intent, "data"), KUBERNETES_KEY_DOCUMENT,
                  topology->revision->document);
    return wanted;
}
