/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

/* Nothing is granted to them: they name who a Pod is, and the Harness's is the subject of its token. */
static struct kubernetes_wanted intend_account(const void *context,
                                               const struct kubernetes_topology *topology, const char *what,
                                               const char *space)
{
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_service_account, space, kubernetes_of_agent(context, what, topology)},
        .owner = kubernetes_agent_owner(topology, NULL),
        .intent = json_new_object(context),
    };

    json_add_boolean(wanted.intent, "automountServiceAccountToken", false);
    return wanted;
}

struct kubernetes_wanted kubernetes_intend_gateway_account(const void *context,
                                                           const struct kubernetes_topology *topology)
{
    return intend_account(context, topology, KUBERNETES_GATEWAY, topology->gateway_space);
}

struct kubernetes_wanted kubernetes_intend_harness_account(const void *context,
                                                           const struct kubernetes_topology *topology)
{
    return intend_account(context, topology, KUBERNETES_HARNESS, kubernetes_harness_space(topology));
}
