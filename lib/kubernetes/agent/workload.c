/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/agent/pod_state.h"

/* ---- The gateway */

struct kubernetes_reference kubernetes_gateway_reference(const struct kubernetes_task *task)
{
    return (struct kubernetes_reference){
        &kubernetes_deployment, task->topology.gateway_space,
        kubernetes_of_agent(task->call->memory, KUBERNETES_GATEWAY, &task->topology)};
}

bool kubernetes_gateway_find(struct kubernetes_task *task, const cJSON **deployment, const char **revision_id,
                             struct fault *fault)
{
    const struct kubernetes_reference reference = kubernetes_gateway_reference(task);
    const char *named;

    if (!kubernetes_get(task->compute->client, task->call, &reference, deployment, fault))
        return false;
    named = *deployment ? kubernetes_label(json_object(json_object(*deployment, "spec"), "template"),
                                           KUBERNETES_LABEL_REVISION)
                        : NULL;
    *revision_id = named ? named : "";
    return true;
}

bool kubernetes_provide_gateway(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_wanted wanted = kubernetes_intend_gateway(task->call->memory, &task->topology);

    return kubernetes_task_ensure(task, &wanted, NULL, fault);
}

/* ---- The Harness */

static bool is_alone(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_owner owner = kubernetes_agent_owner(&task->topology, KUBERNETES_ROLE_AGENT);
    const cJSON *pods, *rival;

    if (!kubernetes_list(task->compute->client, task->call, &kubernetes_pod, task->tenant.data,
                         kubernetes_owner_selector(task->call->memory, &owner), &pods, fault))
        return false;
    rival = kubernetes_pod_of(pods, task->revision->id, true);
    if (!rival)
        return true;
    return fault_set(fault, FAULT_PENDING, "REVISION_INCOMPLETE",
                     "The Harness of an earlier revision has not ended yet: Pod %.253s",
                     kubernetes_name(rival));
}

static bool has_facet(const struct kubernetes_task *task, unsigned facet)
{
    return kubernetes_sandbox_provisions(task) && (task->compute->sandbox->facets & facet);
}

static bool provide_claim(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_wanted wanted =
        kubernetes_intend_harness_claim(task->call->memory, &task->topology);

    return has_facet(task, SANDBOX_FILESYSTEM) || kubernetes_task_ensure(task, &wanted, NULL, fault);
}

/* What the gateway may reach depends on where the Harness is. */
static bool provide_policies(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_wanted ingress =
        kubernetes_intend_harness_ingress(task->call->memory, &task->topology);
    const struct kubernetes_wanted egress =
        kubernetes_intend_harness_egress(task->call->memory, &task->topology);

    return (has_facet(task, SANDBOX_NETWORKING) || kubernetes_task_ensure(task, &ingress, NULL, fault)) &&
           kubernetes_task_ensure(task, &egress, NULL, fault);
}

static bool provide_own(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_wanted service =
        kubernetes_intend_harness_service(task->call->memory, &task->topology);
    const struct kubernetes_wanted deployment =
        kubernetes_intend_harness(task->call->memory, &task->topology);

    return kubernetes_task_ensure(task, &service, NULL, fault) && is_alone(task, fault) &&
           kubernetes_task_ensure(task, &deployment, NULL, fault);
}

bool kubernetes_provide_harness(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_wanted account =
        kubernetes_intend_harness_account(task->call->memory, &task->topology);

    if (!kubernetes_task_ensure(task, &account, NULL, fault) || !provide_claim(task, fault))
        return false;
    if (kubernetes_sandbox_provisions(task))
        return is_alone(task, fault) && kubernetes_sandbox_provision(task, fault) &&
               provide_policies(task, fault);
    return provide_policies(task, fault) && provide_own(task, fault);
}

/* ---- Pods */

bool kubernetes_revision_is_ready(struct kubernetes_task *task, const cJSON **pod, struct fault *fault)
{
    struct kubernetes_client *client = task->compute->client;

    if (task->topology.dedicated && !kubernetes_sandbox_provisions(task) &&
        !kubernetes_workload_is_ready(client, task->call, &task->topology, KUBERNETES_ROLE_AGENT, NULL,
                                      task->seen, fault))
        return false;
    return kubernetes_workload_is_ready(client, task->call, &task->topology, KUBERNETES_ROLE_GATEWAY, pod,
                                        task->seen, fault);
}

/* Its node, as that may be why it does not end. */
static const char *words_of(const struct kubernetes_task *task, const char *space, const cJSON *pod)
{
    const char *node = json_text(json_object(pod, "spec"), "nodeName");

    return mem_format(task->call->memory, "%s/%s%s%s", space, kubernetes_name(pod), node ? " on node " : "",
                      node ? node : "");
}

bool kubernetes_no_pod_is_left(struct kubernetes_task *task, struct fault *fault)
{
    const struct {
        const char *name;
        enum kubernetes_space state;
    } spaces[] = {{task->tenant.data, task->tenant.data_state},
                  {task->tenant.gateways, task->tenant.gateways_state}};
    const char *first = NULL;
    int left = 0;

    for (size_t i = 0; i < COUNT_OF(spaces); i++) {
        /* Of an embedded revision nothing is in the gateways' namespace. */
        bool possible = i == 0 || !task->revision || task->topology.dedicated;
        const cJSON *pods;

        if (!possible || spaces[i].state == KUBERNETES_SPACE_GONE)
            continue;
        if (!kubernetes_list_pods(task->compute->client, task->call, &task->topology, spaces[i].name, &pods,
                                  fault))
            return false;
        left += cJSON_GetArraySize(pods);
        if (!first && cJSON_GetArraySize(pods) > 0)
            first = words_of(task, spaces[i].name, cJSON_GetArrayItem(pods, 0));
    }
    if (!first)
        return true;
    return fault_set(fault, FAULT_PENDING, "REVISION_STOPPING", "%d of the %s's Pods %s not ended yet%s %s",
                     left, task->revision ? "revision" : "Agent", left == 1 ? "has" : "have",
                     left == 1 ? ":" : ", the first of them", first);
}
