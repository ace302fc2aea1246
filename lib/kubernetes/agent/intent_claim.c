/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

#define GATEWAY_SIZE "10Gi"
#define HARNESS_SIZE "40Gi"

/* Made once: a claim's form cannot be changed afterwards, and what it holds outlives every revision. */
static struct kubernetes_wanted intend_claim(const void *context, const struct kubernetes_topology *topology,
                                             const char *what, const char *space, const char *class,
                                             const char *size)
{
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_claim, space, kubernetes_of_agent(context, what, topology)},
        .owner = kubernetes_agent_owner(topology, NULL),
        .intent = json_new_object(context),
        .keep = true,
    };
    cJSON *spec = json_add_object(wanted.intent, "spec");

    json_append_text(json_add_array(spec, "accessModes"), "ReadWriteOnce");
    if (class)
        json_add_text(spec, "storageClassName", class);
    json_add_text(json_add_object(json_add_object(spec, "resources"), "requests"), "storage", size);
    return wanted;
}

struct kubernetes_wanted kubernetes_intend_gateway_claim(const void *context,
                                                         const struct kubernetes_topology *topology)
{
    return intend_claim(context, topology, KUBERNETES_GATEWAY_STATE, topology->gateway_space,
                        topology->settings->gateway_storage_class, GATEWAY_SIZE);
}

/* Of the cluster's default StorageClass. */
struct kubernetes_wanted kubernetes_intend_harness_claim(const void *context,
                                                         const struct kubernetes_topology *topology)
{
    return intend_claim(context, topology, KUBERNETES_HARNESS_STATE, kubernetes_harness_space(topology), NULL,
                        HARNESS_SIZE);
}
