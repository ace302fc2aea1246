/* SPDX-License-Identifier: MIT
 *
 * The fence of a namespace: what bounds everything that ever runs in it. Each of a Namespace's two has one.
 *
 * Default-deny comes first and goes last, so that at no moment anything is allowed that is not meant to be.
 * The quota of the startup YAML holds in each of the two by itself: a dedicated Agent has one Pod in both, so
 * the gateways' namespace needs no less than the data namespace, and a tenant can never hold more than twice
 * the quota. The objects' names begin with "openclaw-", because in an adopted namespace an administrator's
 * own "default-deny" is likely.
 */
#ifndef OCC_KUBERNETES_TENANT_FENCE_H
#define OCC_KUBERNETES_TENANT_FENCE_H

#include "lib/kubernetes/tenant/spaces.h"

#define KUBERNETES_DEFAULT_DENY "openclaw-default-deny" /* no ingress, no egress, for all Pods */
#define KUBERNETES_DNS "openclaw-dns" /* egress to the cluster's DNS: 53 and 5353, UDP and TCP */
#define KUBERNETES_QUOTA "openclaw-quota"
#define KUBERNETES_LIMITS "openclaw-limits" /* what a container has that does not say what it needs */

/* True when the whole fence of `space` stands and has no difference; builds and repairs it. Faults are those
 * of kubernetes_ensure(). */
bool kubernetes_fence_ensure(struct kubernetes_client *client, const struct driver_call *call,
                             const struct kubernetes_settings *settings,
                             const struct subject_namespace *subject, const char *space,
                             struct fault *fault) MUST_USE;

/* True when nothing of the fence is left; takes it away, default-deny only when the rest is gone.
 * FAULT_PENDING KUBERNETES_OBJECT_TERMINATING: one of them is on its way out; KUBERNETES_NAMESPACE_PRESENT:
 * with call->observe_only, what is still there. Faults are those of kubernetes_remove(). */
bool kubernetes_fence_remove(struct kubernetes_client *client, const struct driver_call *call,
                             const struct subject_namespace *subject, const char *space,
                             struct fault *fault) MUST_USE;

/* ---- dns.c */

/* The policy that lets Pods ask the cluster's DNS. What it grants beyond that stays: older versions wrote it
 * without port 5353 (K117), and somebody may have added to it. What is missing is added, guarded;
 * FAULT_PENDING KUBERNETES_CONFLICT where it changed since it was read. */
bool kubernetes_dns_ensure(struct kubernetes_client *client, const struct driver_call *call,
                           const struct kubernetes_peer *dns, const struct subject_namespace *subject,
                           const char *space, struct fault *fault) MUST_USE;

/* The egress rules of `policy` (NULL: none yet) with what is missing of DNS; hangs on `context`. */
cJSON *kubernetes_dns_rules(const void *context, const struct kubernetes_peer *dns, const cJSON *policy)
    __attribute__((returns_nonnull));

#endif
