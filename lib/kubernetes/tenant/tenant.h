/* SPDX-License-Identifier: MIT
 *
 * A Namespace on Kubernetes: two namespaces of the cluster, one for its Harnesses (data) and one for the
 * gateways of its dedicated Agents, each with its quota, limits and network policies. The data namespace is
 * made by us (managed), or one that an administrator made and released to us (adopted, K113).
 */
#ifndef OCC_KUBERNETES_TENANT_TENANT_H
#define OCC_KUBERNETES_TENANT_TENANT_H

#include "lib/driver/subject.h"
#include "lib/kubernetes/object/name.h"
#include "lib/kubernetes/object/ensure.h"
#include "lib/kubernetes/settings.h"

/* The names that a Namespace's two are found under. */
struct kubernetes_tenant {
    const struct subject_namespace *subject;
    char data[KUBERNETES_LABEL_SIZE]; /* "oce-…", the older form where that is what is there, or the adopted
                                         one's */
    char gateways[KUBERNETES_LABEL_SIZE];
};

/* Finds the names, and proves by label and annotation that what is there is this Namespace's. *there tells
 * whether the data namespace exists (a managed one may not yet, or no more). Faults: FAULT_PERMANENT
 * OWNERSHIP_CONFLICT (partial, foreign or duplicate marks), KUBERNETES_LAYOUT_SPLIT (both the older and the
 * new form carry its marks, K120), KUBERNETES_NAMESPACE_NOT_RELEASED (adopted: not annotated as external, or
 * without the restricted labels, or missing); or the client's. */
bool kubernetes_tenant_find(struct kubernetes_client *client, const struct driver_call *call,
                            const struct subject_namespace *subject, struct kubernetes_tenant *tenant,
                            bool *there, struct fault *fault) MUST_USE;

/* True when both namespaces are there with all that belongs to them and without a difference; makes and
 * repairs what is not. FAULT_PENDING NAMESPACE_INCOMPLETE: with call->observe_only, what is not so. Faults:
 * of kubernetes_tenant_find(), kubernetes_ensure(). */
bool kubernetes_tenant_ensure(struct kubernetes_client *client, const struct driver_call *call,
                              const struct kubernetes_settings *settings,
                              const struct subject_namespace *subject, struct fault *fault) MUST_USE;

/* True when nothing of it is left. Managed: both namespaces are deleted by UID. Adopted: ours is removed from
 * it, default-deny last; the namespace, its marks and foreign objects stay (K115). FAULT_PENDING
 * KUBERNETES_NAMESPACE_TERMINATING names the condition that holds it (K75); finalizers are never stripped. */
bool kubernetes_tenant_delete(struct kubernetes_client *client, const struct driver_call *call,
                              const struct subject_namespace *subject, struct fault *fault) MUST_USE;

#endif
