/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/text.h"

/* ---- The tenant's namespaces */

static void place(struct kubernetes_task *task)
{
    const char *installation_id = task->call->installation_id;

    task->tenant.subject = &task->agent->owner;
    if (task->revision)
        task->topology =
            kubernetes_topology_of(task->compute->settings, &task->tenant, installation_id, task->revision);
    else
        task->topology = (struct kubernetes_topology){.settings = task->compute->settings,
                                                      .tenant = &task->tenant,
                                                      .installation_id = installation_id,
                                                      .agent = task->agent};
}

static bool is_there(enum kubernetes_space state, const char *name, struct fault *fault)
{
    if (state == KUBERNETES_SPACE_THERE)
        return true;
    if (state == KUBERNETES_SPACE_GOING)
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_NAMESPACE_TERMINATING",
                         "The namespace %s is being deleted", name);
    return fault_set(fault, FAULT_PENDING, "NAMESPACE_INCOMPLETE", "The namespace %s is not there", name);
}

bool kubernetes_task_enter(struct kubernetes_task *task, struct fault *fault)
{
    const struct kubernetes_tenant *tenant = &task->tenant;
    bool there;

    if (!kubernetes_tenant_find(task->compute->client, task->call, &task->agent->owner, &task->tenant, &there,
                                fault))
        return false;
    place(task);
    return is_there(there ? tenant->data_state : KUBERNETES_SPACE_GONE, tenant->data, fault) &&
           is_there(tenant->gateways_state, tenant->gateways, fault);
}

bool kubernetes_task_return(struct kubernetes_task *task, struct fault *fault)
{
    bool there;

    if (!kubernetes_tenant_find_to_leave(task->compute->client, task->call, &task->agent->owner,
                                         &task->tenant, &there, fault))
        return false;
    place(task);
    return true;
}

/* ---- Objects in them */

bool kubernetes_task_reaches(const struct kubernetes_task *task, const char *space)
{
    const struct kubernetes_tenant *tenant = &task->tenant;

    return (text_equal(space, tenant->data) ? tenant->data_state : tenant->gateways_state) ==
           KUBERNETES_SPACE_THERE;
}

bool kubernetes_task_ensure(struct kubernetes_task *task, const struct kubernetes_wanted *wanted,
                            const cJSON **live, struct fault *fault)
{
    return kubernetes_ensure(task->compute->client, task->call, wanted, live, fault);
}

bool kubernetes_task_remove(struct kubernetes_task *task, const struct kubernetes_reference *reference,
                            const struct kubernetes_owner *owner, struct fault *fault)
{
    bool gone = true;

    if (!kubernetes_task_reaches(task, reference->space))
        return true;
    if (!kubernetes_remove(task->compute->client, task->call, reference, owner, &gone, fault)) {
        if (!fault_is(fault, "OWNERSHIP_CONFLICT"))
            return false;
        compute_warn(task->seen, "OWNERSHIP_CONFLICT", "%s", fault->message);
        gone = true;
    }
    if (!gone && !task->left)
        task->left = kubernetes_reference_words(task->call->memory, reference);
    return true;
}

bool kubernetes_task_is_rid(const struct kubernetes_task *task, const char *code, struct fault *fault)
{
    return !task->left || fault_set(fault, FAULT_PENDING, code, "%s is still there", task->left);
}
