/* SPDX-License-Identifier: MIT
 *
 * A revision prepared: all that it needs is there, and where it can run beside what is served (or nothing
 * is), it runs and is ready.
 *
 * An embedded replacement cannot: there is one gateway, and one claim. Its Deployment stays its predecessor's
 * until the activation rolls it.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/text.h"

/* One that an earlier revision of this identifier left would be ours; what it says decides. It is immutable,
 * so it can neither be changed nor be what the database admitted. */
static bool provide_snapshot(struct kubernetes_task *task, const char *space, struct fault *fault)
{
    struct kubernetes_wanted wanted = kubernetes_intend_snapshot(task->call->memory, &task->topology, space);
    const char *document;
    const cJSON *live;

    wanted.keep = true;
    if (!kubernetes_task_ensure(task, &wanted, &live, fault))
        return false;
    document = json_text(json_object(live, "data"), KUBERNETES_KEY_DOCUMENT);
    if (document && text_equal(document, task->revision->document))
        return true;
    return fault_set(fault, FAULT_PERMANENT, "KUBERNETES_SNAPSHOT_CONFLICT",
                     "%s holds another document than the revision was admitted with: delete it",
                     kubernetes_reference_words(task->call->memory, &wanted.reference));
}

static bool provide_revision(struct kubernetes_task *task, struct fault *fault)
{
    return kubernetes_provide_secrets(task, fault) && provide_snapshot(task, task->tenant.data, fault) &&
           (!task->topology.dedicated || provide_snapshot(task, task->tenant.gateways, fault));
}

/* Last, so that a revision that is refused has changed nothing of what its predecessor is served by: other
 * settings, such as another port, come to it here. The claim comes after the transport's Secrets
 * (credentials.c). */
static bool provide_agent(struct kubernetes_task *task, struct fault *fault)
{
    const void *memory = task->call->memory;
    const struct kubernetes_wanted account = kubernetes_intend_gateway_account(memory, &task->topology);
    const struct kubernetes_wanted policy = kubernetes_intend_gateway_policy(memory, &task->topology);
    const struct kubernetes_wanted claim = kubernetes_intend_gateway_claim(memory, &task->topology);

    return kubernetes_task_ensure(task, &account, NULL, fault) &&
           kubernetes_task_ensure(task, &policy, NULL, fault) && kubernetes_route_provide(task, fault) &&
           kubernetes_task_ensure(task, &claim, NULL, fault);
}

/* One that is not ours is told now: once the activation met it, its revision would be the active one. */
static bool is_replacement(struct kubernetes_task *task, bool *replaces, struct fault *fault)
{
    const struct kubernetes_owner owner = kubernetes_agent_owner(&task->topology, KUBERNETES_ROLE_GATEWAY);
    const struct kubernetes_reference reference = kubernetes_gateway_reference(task);
    const char *revision_id;
    const cJSON *deployment;

    *replaces = false;
    if (task->topology.dedicated)
        return true;
    if (!kubernetes_gateway_find(task, &deployment, &revision_id, fault) ||
        (deployment && !kubernetes_owner_check(deployment, &reference, &owner, fault)))
        return false;
    *replaces = deployment && !text_equal(revision_id, task->revision->id);
    return true;
}

bool kubernetes_do_prepare(struct kubernetes_task *task, struct fault *fault)
{
    bool replaces;

    if (!kubernetes_task_enter(task, fault) || !kubernetes_sandbox_fits(task, fault) ||
        !kubernetes_route_is_possible(task, fault) || !kubernetes_sandbox_configure(task, fault) ||
        !kubernetes_provide_transport(task, fault) || !provide_revision(task, fault) ||
        !provide_agent(task, fault) || !is_replacement(task, &replaces, fault))
        return false;
    if (replaces)
        return true;
    return (!task->topology.dedicated || kubernetes_provide_harness(task, fault)) &&
           kubernetes_provide_gateway(task, fault) && kubernetes_revision_is_ready(task, NULL, fault);
}
