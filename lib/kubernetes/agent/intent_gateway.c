/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

#include "lib/kubernetes/agent/intent_pod.h"

/* One for the Agent, whatever the revision: its selector never changes (K83), its template names the
 * revision.
 */
struct kubernetes_wanted kubernetes_intend_gateway(const void *context,
                                                   const struct kubernetes_topology *topology)
{
    const struct kubernetes_settings *settings = topology->settings;
    const struct kubernetes_owner owner = kubernetes_agent_owner(topology, KUBERNETES_ROLE_GATEWAY);
    const struct kubernetes_owner pods = kubernetes_revision_owner(topology, KUBERNETES_ROLE_GATEWAY);
    const struct workload workload = {
        .role = KUBERNETES_ROLE_GATEWAY,
        .account = kubernetes_of_agent(context, KUBERNETES_GATEWAY, topology),
        .claim = kubernetes_of_agent(context, KUBERNETES_GATEWAY_STATE, topology),
        .image = settings->gateway_image,
        .resources = settings->gateway_resources,
        .node_selector = settings->gateway_node_selector,
        .port_name = "gateway",
        .port = settings->gateway_port,
        .harness = !topology->dedicated,
        .environment = workload_gateway_environment(context, topology),
    };
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_deployment, topology->gateway_space,
                      kubernetes_of_agent(context, KUBERNETES_GATEWAY, topology)},
        .owner = owner,
        .intent = json_new_object(context),
        .comparison = {workload_exact},
    };

    workload_intend(wanted.intent, topology, &workload, &owner, &pods);
    return wanted;
}
