/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/home.h"

#include "lib/base/text.h"

bool kubernetes_home_fault(const struct subject_namespace *owner, struct fault *fault)
{
    if (fault_is(fault, "KUBERNETES_ACCESS_DENIED") && !text_is_empty(owner->existing_namespace))
        fault->class = FAULT_PERMANENT;
    return false;
}

bool kubernetes_home_absent(const struct kubernetes_client *client, const struct kubernetes_tenant *tenant,
                            struct fault *fault)
{
    return fault_set(
        fault, FAULT_PENDING, "NAMESPACE_NOT_READY",
        "The namespace %s of Namespace %s does not exist at %s: it comes when that is provisioned",
        tenant->data, tenant->subject->id, kubernetes_client_place(client));
}

bool kubernetes_home_find(struct kubernetes_client *client, const struct driver_call *call,
                          const struct subject_namespace *owner, struct kubernetes_tenant *tenant,
                          bool *there, struct fault *fault)
{
    if (!kubernetes_tenant_find(client, call, owner, tenant, there, fault))
        return kubernetes_home_fault(owner, fault);
    if (!*there && !text_is_empty(owner->existing_namespace))
        return fault_set(fault, FAULT_PERMANENT, "NAMESPACE_NOT_READY",
                         "The existing namespace %s at %s is not bound to Namespace %s yet: wait until that "
                         "is ready",
                         owner->existing_namespace, kubernetes_client_place(client), owner->id);
    return true;
}

bool kubernetes_home_find_to_leave(struct kubernetes_client *client, const struct driver_call *call,
                                   const struct subject_namespace *owner, struct kubernetes_tenant *tenant,
                                   bool *there, struct fault *fault)
{
    return kubernetes_tenant_find_to_leave(client, call, owner, tenant, there, fault) ||
           kubernetes_home_fault(owner, fault);
}
