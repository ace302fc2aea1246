/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

#include "lib/kubernetes/agent/intent_pod.h"

/* One for each revision of a dedicated Agent. */
struct kubernetes_wanted kubernetes_intend_harness(const void *context,
                                                   const struct kubernetes_topology *topology)
{
    const struct kubernetes_settings *settings = topology->settings;
    const struct kubernetes_owner owner = kubernetes_revision_owner(topology, KUBERNETES_ROLE_AGENT);
    const struct workload workload = {
        .role = KUBERNETES_ROLE_AGENT,
        .account = kubernetes_of_agent(context, KUBERNETES_HARNESS, topology),
        .claim = kubernetes_of_agent(context, KUBERNETES_HARNESS_STATE, topology),
        .image = settings->agent_image,
        .resources = settings->agent_resources,
        .node_selector = settings->node_selector,
        .seccomp_profile = kubernetes_is_native(topology) ? NULL : settings->codex_seccomp_profile,
        .port_name = "app-server",
        .port = KUBERNETES_HARNESS_PORT,
        .harness = true,
        .environment = workload_harness_environment(context, topology),
    };
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_deployment, kubernetes_harness_space(topology),
                      kubernetes_of_revision(context, KUBERNETES_HARNESS, topology)},
        .owner = owner,
        .intent = json_new_object(context),
        .comparison = {workload_exact},
    };

    workload_intend(wanted.intent, topology, &workload, &owner, &owner);
    return wanted;
}
