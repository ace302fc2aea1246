/* SPDX-License-Identifier: MIT
 *
 * A revision stopped: not served, and no Pod of it is left. The Harness, which acts, goes first (K93); the
 * claims stay.
 *
 * What is not ours is left alone, and nothing to wait for: a deployment that ended with OWNERSHIP_CONFLICT
 * could never be stopped otherwise.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/text.h"

#define CODE "REVISION_STOPPING"

static bool stop_harness(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_reference reference = {
        &kubernetes_deployment, task->tenant.data,
        kubernetes_of_revision(task->call->memory, KUBERNETES_HARNESS, &task->topology)};
    const struct kubernetes_owner owner = kubernetes_revision_owner(&task->topology, KUBERNETES_ROLE_AGENT);

    if (!task->topology.dedicated)
        return true;
    return kubernetes_sandbox_cleanup(task, fault) &&
           kubernetes_task_remove(task, &reference, &owner, fault) &&
           kubernetes_task_is_rid(task, CODE, fault);
}

/* There is one gateway for all revisions: it goes where its Pods are this one's. */
static bool stop_gateway(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_owner owner = kubernetes_agent_owner(&task->topology, KUBERNETES_ROLE_GATEWAY);
    const struct kubernetes_reference reference = kubernetes_gateway_reference(task);
    const char *revision_id;
    const cJSON *deployment;

    if (!kubernetes_task_reaches(task, task->topology.gateway_space))
        return true;
    if (!kubernetes_gateway_find(task, &deployment, &revision_id, fault))
        return false;
    if (!text_equal(revision_id, task->revision->id))
        return true;
    return kubernetes_task_remove(task, &reference, &owner, fault) &&
           kubernetes_task_is_rid(task, CODE, fault);
}

bool kubernetes_do_stop(struct kubernetes_task *task, struct fault *fault)
{
    return kubernetes_do_deactivate(task, fault) && stop_harness(task, fault) && stop_gateway(task, fault) &&
           kubernetes_no_pod_is_left(task, fault);
}
