/* SPDX-License-Identifier: MIT
 *
 * A revision served. A dedicated one is ready, and alone, before the Service leads to it. An embedded one
 * takes the Service first, which then leads nowhere, and then the gateway: its Pod begins when its
 * predecessor's has ended.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/text.h"

/* A Deployment whose template names the revision is left as it is: it was made from what the revision had
 * when it was prepared, and of that something may be gone by now. */
static bool take_gateway(struct kubernetes_task *task, struct fault *fault)
{
    const char *revision_id;
    const cJSON *deployment;

    if (!kubernetes_gateway_find(task, &deployment, &revision_id, fault))
        return false;
    return (deployment && text_equal(revision_id, task->revision->id)) ||
           kubernetes_provide_gateway(task, fault);
}

static bool take_embedded(struct kubernetes_task *task, const cJSON **pod, struct fault *fault)
{
    return kubernetes_route_take(task, fault) && take_gateway(task, fault) &&
           kubernetes_revision_is_ready(task, pod, fault);
}

static bool take_dedicated(struct kubernetes_task *task, const cJSON **pod, struct fault *fault)
{
    return kubernetes_revision_is_ready(task, pod, fault) && kubernetes_route_take(task, fault);
}

bool kubernetes_do_activate(struct kubernetes_task *task, struct fault *fault)
{
    const cJSON *pod;

    if (!kubernetes_task_enter(task, fault))
        return false;
    if (!(task->topology.dedicated ? take_dedicated : take_embedded)(task, &pod, fault))
        return false;
    return kubernetes_route_publish(task, fault) &&
           kubernetes_gateway_is_served(task->compute->client, task->call, &task->topology, pod, task->seen,
                                        fault);
}

bool kubernetes_do_deactivate(struct kubernetes_task *task, struct fault *fault)
{
    if (!kubernetes_task_return(task, fault))
        return false;
    return !kubernetes_task_reaches(task, task->topology.gateway_space) ||
           kubernetes_route_leave(task, fault);
}
