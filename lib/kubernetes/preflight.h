/* SPDX-License-Identifier: MIT
 *
 * What compute-kubernetes looks at before a worker starts. Nothing is changed.
 */
#ifndef OCC_KUBERNETES_PREFLIGHT_H
#define OCC_KUBERNETES_PREFLIGHT_H

#include "lib/kubernetes/agent/operations.h"

/* Credentials, the server's certificate and version, what we may do in the whole cluster, and what older
 * versions left. What tenants' namespaces allow cannot be asked before they exist: there a missing right is
 * pending.
 *
 * An operation of struct compute_operations. Warnings: KUBERNETES_VERSION_OLD (below 1.35),
 * KUBERNETES_API_NOT_SERVED (gatewayRouting without HTTPRoute: Agents wait for it). Faults:
 * FAULT_CONFIGURATION KUBERNETES_AUTHENTICATION_INVALID, KUBERNETES_TLS_FAILED, KUBERNETES_UNAUTHENTICATED,
 * KUBERNETES_ANSWER_INVALID, KUBERNETES_ACCESS_DENIED (all that is missing), KUBERNETES_LAYOUT_SPLIT (K120);
 * FAULT_UNAVAILABLE KUBERNETES_API_UNAVAILABLE. */
bool kubernetes_preflight(void *self, const struct driver_call *call, struct compute_observation *seen,
                          struct fault *fault) MUST_USE;

#endif
