/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

static const char *const exact[] = {"data", NULL};

struct kubernetes_wanted kubernetes_intend_secret(const void *context,
                                                  const struct kubernetes_topology *topology,
                                                  const char *space, const char *name, bool revision,
                                                  cJSON *data)
{
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_secret, space, name},
        .owner =
            revision ? kubernetes_revision_owner(topology, NULL) : kubernetes_agent_owner(topology, NULL),
        .intent = json_new_object(context),
        .comparison = {exact},
    };

    json_add_text(wanted.intent, "type", "Opaque");
    json_add_copy(wanted.intent, "data", data);
    return wanted;
}
