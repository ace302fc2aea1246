/* SPDX-License-Identifier: MIT
 *
 * A Namespace on Kubernetes: two namespaces of the cluster, one for its Harnesses (data) and one for the
 * gateways of its dedicated Agents, each with a fence (lib/kubernetes/tenant/fence.h). The data namespace is
 * made by us (managed), or one that an administrator made and released to us (adopted, K113).
 *
 * An administrator releases a namespace by the annotation openclaw.dev/namespace-lifecycle=external and the
 * labels pod-security.kubernetes.io/enforce, audit and warn, each "restricted". It must be nobody else's: no
 * other app.kubernetes.io/managed-by, no owner reference, no label or annotation of another Namespace. It is
 * bound by one label and one annotation, openclaw.dev/namespace and openclaw.dev/namespace-id, in one patch
 * that is guarded by its resourceVersion.
 */
#ifndef OCC_KUBERNETES_TENANT_TENANT_H
#define OCC_KUBERNETES_TENANT_TENANT_H

#include "lib/driver/subject.h"
#include "lib/kubernetes/object/name.h"
#include "lib/kubernetes/object/ensure.h"
#include "lib/kubernetes/settings.h"

/* A namespace of the cluster. */
enum kubernetes_space {
    KUBERNETES_SPACE_GONE,
    KUBERNETES_SPACE_GOING, /* it is being deleted, and all that is in it */
    KUBERNETES_SPACE_THERE,
};

/* The names that a Namespace's two are found under, and whether they are there. */
struct kubernetes_tenant {
    const struct subject_namespace *subject;
    char data[KUBERNETES_LABEL_SIZE]; /* "oce-…", the older form where that is what is there, or the adopted
                                         one's */
    char gateways[KUBERNETES_LABEL_SIZE];
    enum kubernetes_space data_state, gateways_state;
};

/* Finds the names, and proves by label and annotation that what is there is this Namespace's. *there tells
 * whether the data namespace is there and is this Namespace's (a managed one may not be there yet, or no
 * more; an adopted one may be released and not bound yet). At most three requests.
 *
 * Faults: FAULT_PERMANENT OWNERSHIP_CONFLICT (partial or foreign marks), KUBERNETES_LAYOUT_SPLIT (both the
 * older and the new form carry its marks, K120), KUBERNETES_NAMESPACE_NOT_RELEASED (adopted: missing, not
 * annotated as external, or without the restricted labels); or the client's. */
bool kubernetes_tenant_find(struct kubernetes_client *client, const struct driver_call *call,
                            const struct subject_namespace *subject, struct kubernetes_tenant *tenant,
                            bool *there, struct fault *fault) MUST_USE;

/* The same for taking away what is ours, whatever has become of the marks of the namespaces, or of an adopted
 * one's release: an administrator who takes it back must not keep us in it, and what runs there must be
 * stopped. *there tells whether the data namespace exists; what is ours in it says so itself. Fault:
 * KUBERNETES_LAYOUT_SPLIT; or the client's. */
bool kubernetes_tenant_find_to_leave(struct kubernetes_client *client, const struct driver_call *call,
                                     const struct subject_namespace *subject,
                                     struct kubernetes_tenant *tenant, bool *there,
                                     struct fault *fault) MUST_USE;

/* True when both namespaces are there with all that belongs to them and without a difference; makes and
 * repairs what is not. FAULT_PENDING NAMESPACE_INCOMPLETE: with call->observe_only, what is not so.
 * FAULT_PENDING KUBERNETES_NAMESPACE_TERMINATING: one of them is on its way out. Faults: of
 * kubernetes_tenant_find(), kubernetes_ensure(); OWNERSHIP_CONFLICT also for a third namespace of the cluster
 * that carries this Namespace's label. */
bool kubernetes_tenant_ensure(struct kubernetes_client *client, const struct driver_call *call,
                              const struct kubernetes_settings *settings,
                              const struct subject_namespace *subject, struct fault *fault) MUST_USE;

/* True when nothing of it is left. Managed: both namespaces are deleted by UID. Adopted: the fence is taken
 * off it, default-deny last; the namespace, its marks and foreign objects stay (K115); one that is gone, or
 * was never bound, has nothing of ours.
 *
 * FAULT_PENDING KUBERNETES_NAMESPACE_TERMINATING names what holds it: the conditions that the cluster reports
 * (NamespaceContentRemaining, …), their reasons and the cluster's words on them, made printable and cut, and
 * the namespace's own finalizers (K75). Finalizers are never stripped. FAULT_PENDING
 * KUBERNETES_NAMESPACE_PRESENT: what is still there, with call->observe_only or because its deletion met a
 * conflict. */
bool kubernetes_tenant_delete(struct kubernetes_client *client, const struct driver_call *call,
                              const struct subject_namespace *subject, struct fault *fault) MUST_USE;

/* For a start: whether the data namespace of any Namespace is there twice, under the older and the new name
 * or by a label that was copied (K120). FAULT_CONFIGURATION KUBERNETES_LAYOUT_SPLIT names both; or the
 * client's.
 */
bool kubernetes_tenant_check_layout(struct kubernetes_client *client, const struct driver_call *call,
                                    struct fault *fault) MUST_USE;

#endif
