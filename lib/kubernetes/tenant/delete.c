/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/tenant/fence.h"

/* Begins the deletion of a namespace that was read as `seen` (NULL: not there). */
static bool begin(struct kubernetes_client *client, const struct driver_call *call, const cJSON *seen,
                  struct fault *fault)
{
    const struct kubernetes_reference reference = {&kubernetes_namespace, NULL, kubernetes_name(seen)};

    return call->observe_only || !seen || kubernetes_is_terminating(seen) ||
           kubernetes_delete(client, call, &reference, kubernetes_uid(seen), fault);
}

/* True when it is gone. */
static bool is_gone(const cJSON *space, struct fault *fault)
{
    if (!space)
        return true;
    if (!kubernetes_is_terminating(space))
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_NAMESPACE_PRESENT", "Namespace %s is still there",
                         kubernetes_name(space));
    return kubernetes_space_leaving(space, fault);
}

/* Where an administrator deletes the adopted namespace meanwhile, its RoleBinding may go before our objects
 * do. */
static bool leave_adopted(struct kubernetes_client *client, const struct driver_call *call,
                          const struct kubernetes_spaces *spaces, struct fault *fault)
{
    if (!spaces->bound ||
        kubernetes_fence_remove(client, call, spaces->tenant.subject, spaces->tenant.data, fault))
        return true;
    if (fault_is(fault, "KUBERNETES_ACCESS_DENIED") && kubernetes_is_terminating(spaces->data))
        return kubernetes_space_leaving(spaces->data, fault);
    return false;
}

bool kubernetes_tenant_delete(struct kubernetes_client *client, const struct driver_call *call,
                              const struct subject_namespace *subject, struct fault *fault)
{
    const bool managed = subject->existing_namespace == NULL;
    struct kubernetes_spaces spaces;

    if (!kubernetes_spaces_look(client, call, subject, &spaces, fault) ||
        !kubernetes_spaces_are_all(client, call, &spaces, fault))
        return false;
    if (!begin(client, call, spaces.gateways, fault) ||
        !(managed ? begin(client, call, spaces.data, fault) : leave_adopted(client, call, &spaces, fault)))
        return false;
    /* What the server began with "done" is looked at again: a deleted Namespace never is. */
    return kubernetes_spaces_look(client, call, subject, &spaces, fault) && is_gone(spaces.gateways, fault) &&
           (!managed || is_gone(spaces.data, fault));
}
