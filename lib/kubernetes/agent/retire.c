/* SPDX-License-Identifier: MIT
 *
 * What belongs to a revision alone removed, and what an Agent has as a whole. Objects are found by their
 * names, so that what was never made costs a look, and removed by their UIDs.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/text.h"

/* One kind of object to remove: "<what>-<h>" or "<what>-<h>-<r>". */
struct unwanted {
    const struct kubernetes_kind *kind;
    const char *what;
    bool in_gateways;
    const char *role;
};

static bool remove_all(struct kubernetes_task *task, const struct unwanted *unwanted, size_t count,
                       bool revision, struct fault *fault)
{
    const void *memory = task->call->memory;

    for (size_t i = 0; i < count; i++) {
        const struct unwanted *each = &unwanted[i];
        const struct kubernetes_reference reference = {
            each->kind, each->in_gateways ? task->tenant.gateways : task->tenant.data,
            revision ? kubernetes_of_revision(memory, each->what, &task->topology)
                     : kubernetes_of_agent(memory, each->what, &task->topology)};
        const struct kubernetes_owner owner = revision
                                                  ? kubernetes_revision_owner(&task->topology, each->role)
                                                  : kubernetes_agent_owner(&task->topology, each->role);

        if (!kubernetes_task_remove(task, &reference, &owner, fault))
            return false;
    }
    return true;
}

/* ---- A revision */

static const struct unwanted of_revision[] = {
    {&kubernetes_service, KUBERNETES_HARNESS, false, NULL},
    {&kubernetes_network_policy, KUBERNETES_HARNESS, false, NULL},
    {&kubernetes_network_policy, KUBERNETES_HARNESS, true, NULL},
    {&kubernetes_config_map, KUBERNETES_SNAPSHOT, true, NULL},
    {&kubernetes_config_map, KUBERNETES_SNAPSHOT, false, NULL},
    {&kubernetes_secret, KUBERNETES_HARNESS_BINDINGS, false, NULL},
    {&kubernetes_secret, KUBERNETES_HARNESS_SECRETS, false, NULL},
};
#define OF_DEDICATED 4 /* the first of them, which an embedded one never has */

bool kubernetes_do_retire(struct kubernetes_task *task, struct fault *fault)
{
    size_t skipped;

    if (!kubernetes_do_stop(task, fault))
        return false;
    skipped = task->topology.dedicated ? 0 : OF_DEDICATED;
    return remove_all(task, of_revision + skipped, COUNT_OF(of_revision) - skipped, true, fault) &&
           kubernetes_task_is_rid(task, "REVISION_STOPPING", fault);
}

/* ---- An Agent */

static const struct unwanted of_agent[] = {
    {&kubernetes_service, KUBERNETES_GATEWAY, false, NULL},
    {&kubernetes_service, KUBERNETES_GATEWAY, true, NULL},
    {&kubernetes_deployment, KUBERNETES_GATEWAY, false, KUBERNETES_ROLE_GATEWAY},
    {&kubernetes_deployment, KUBERNETES_GATEWAY, true, KUBERNETES_ROLE_GATEWAY},
    {&kubernetes_service_account, KUBERNETES_GATEWAY, false, NULL},
    {&kubernetes_service_account, KUBERNETES_GATEWAY, true, NULL},
    {&kubernetes_service_account, KUBERNETES_HARNESS, false, NULL},
    {&kubernetes_secret, KUBERNETES_GATEWAY_PASSWORD, false, NULL},
};
static const struct unwanted routes_of_agent[] = {
    {&kubernetes_http_route, KUBERNETES_GATEWAY, false, NULL},
    {&kubernetes_http_route, KUBERNETES_GATEWAY, true, NULL},
};
/* While a Pod is there its policy is. */
static const struct unwanted policies_of_agent[] = {
    {&kubernetes_network_policy, KUBERNETES_GATEWAY, false, NULL},
    {&kubernetes_network_policy, KUBERNETES_GATEWAY, true, NULL},
};
/* Last, and in this order: while there is a claim, the transport's Secrets may not be made anew. */
static const struct unwanted claims_of_agent[] = {
    {&kubernetes_claim, KUBERNETES_HARNESS_STATE, false, NULL},
    {&kubernetes_claim, KUBERNETES_GATEWAY_STATE, false, NULL},
    {&kubernetes_claim, KUBERNETES_GATEWAY_STATE, true, NULL},
};

/* One may be there of a time when the startup YAML had gatewayRouting. Whoever took that out may have taken
 * the right to HTTPRoutes away, too. */
static bool remove_routes(struct kubernetes_task *task, struct fault *fault)
{
    bool served;

    if (!kubernetes_kind_is_served(task->compute->client, task->call, &kubernetes_http_route, &served, fault))
        return false;
    return !served || remove_all(task, routes_of_agent, COUNT_OF(routes_of_agent), false, fault) ||
           (!task->compute->settings->routing_name && fault_is(fault, "KUBERNETES_ACCESS_DENIED"));
}

static bool remove_transport(struct kubernetes_task *task, struct fault *fault)
{
    const struct unwanted transport[] = {
        {&kubernetes_secret, KUBERNETES_GATEWAY_PASSWORD, true, NULL},
        {&kubernetes_secret, task->compute->settings->transport_secret_prefix, true, NULL},
    };

    return remove_all(task, transport, COUNT_OF(transport), false, fault);
}

bool kubernetes_do_delete(struct kubernetes_task *task, struct fault *fault)
{
    return kubernetes_task_return(task, fault) && kubernetes_sandbox_cleanup(task, fault) &&
           remove_routes(task, fault) && remove_all(task, of_agent, COUNT_OF(of_agent), false, fault) &&
           kubernetes_no_pod_is_left(task, fault) &&
           remove_all(task, policies_of_agent, COUNT_OF(policies_of_agent), false, fault) &&
           remove_transport(task, fault) &&
           remove_all(task, claims_of_agent, COUNT_OF(claims_of_agent), false, fault) &&
           kubernetes_task_is_rid(task, "AGENT_INCOMPLETE", fault);
}
