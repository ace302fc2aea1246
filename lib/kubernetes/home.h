/* SPDX-License-Identifier: MIT
 *
 * Where a Namespace's Configurations and Secrets are kept: its data namespace, as admissions meet it. They
 * may come before Compute has made it, or before an administrator let us in, which their callers are told as
 * what it is.
 */
#ifndef OCC_KUBERNETES_HOME_H
#define OCC_KUBERNETES_HOME_H

#include "lib/kubernetes/tenant/tenant.h"

/* Finds it. *there is false while a managed one does not exist (yet, or no more). Faults: FAULT_PERMANENT
 * NAMESPACE_NOT_READY (adopted, and not bound yet); of kubernetes_tenant_find(), as kubernetes_home_fault()
 * tells them. */
bool kubernetes_home_find(struct kubernetes_client *client, const struct driver_call *call,
                          const struct subject_namespace *owner, struct kubernetes_tenant *tenant,
                          bool *there, struct fault *fault) MUST_USE;

/* The same for removing something: *there is false while there is none, adopted or not. Faults: of
 * kubernetes_tenant_find_to_leave(). */
bool kubernetes_home_find_to_leave(struct kubernetes_client *client, const struct driver_call *call,
                                   const struct subject_namespace *owner, struct kubernetes_tenant *tenant,
                                   bool *there, struct fault *fault) MUST_USE;

/* For what needs it: FAULT_PENDING NAMESPACE_NOT_READY, as Compute will make it. Returns false. */
bool kubernetes_home_absent(const struct kubernetes_client *client, const struct kubernetes_tenant *tenant,
                            struct fault *fault);

/* What a fault of an operation in it means: where access is denied, a managed one may still get its
 * RoleBinding (FAULT_PENDING), but an adopted one is as it was released to us until an administrator does
 * something (FAULT_PERMANENT). Settings that went wrong stay FAULT_CONFIGURATION. Returns false. */
bool kubernetes_home_fault(const struct subject_namespace *owner, struct fault *fault);

#endif
