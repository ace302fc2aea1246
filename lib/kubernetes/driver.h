/* SPDX-License-Identifier: MIT
 *
 * The bundled Drivers of Kubernetes: Compute, Configurations (ConfigMaps) and Secrets, each with a client of
 * its own.
 */
#ifndef OCC_KUBERNETES_DRIVER_H
#define OCC_KUBERNETES_DRIVER_H

#include "lib/driver/compute.h"
#include "lib/driver/configuration.h"
#include "lib/driver/sandbox.h"
#include "lib/driver/secret.h"
#include "lib/kubernetes/settings.h"

#define KUBERNETES_COMPUTE_ID "compute-kubernetes"
#define KUBERNETES_COMPUTE_IMPLEMENTATION "kubernetes"
#define KUBERNETES_CONFIGURATION_ID "config-kubernetes"
#define KUBERNETES_SECRET_ID "secret-kubernetes"

/* Each makes a Driver that hangs on `context` and connects with its first operation. `node` is its checked
 * `configuration`. `sandbox` (may be NULL) must live as long; it surrounds dedicated Harnesses.
 *
 * Compute's preflight is that of lib/kubernetes/preflight.h. The others' look at the credentials and ask no
 * server, as what they may do in tenants' namespaces shows with the first operation:
 *
 * FAULT_PENDING NAMESPACE_NOT_READY (a managed Namespace has none yet), KUBERNETES_ACCESS_DENIED (no
 * RoleBinding there yet); of an adopted one both are FAULT_PERMANENT until it is ready. FAULT_PERMANENT
 * OWNERSHIP_CONFLICT (an object of that name that is not ours), CONFIGURATION_DOCUMENT_TOO_LARGE,
 * CONFIGURATION_DOCUMENT_REFUSED, CONFIGURATION_DOCUMENT_MISSING, SECRET_VALUE_TOO_LARGE,
 * SECRET_VALUE_MISSING. FAULT_CONFIGURATION where credentials or certificates went wrong, but for reading a
 * Secret, which passes do: there it is pending. */
void kubernetes_open_compute(const void *context, const struct yaml_node *node,
                             const struct sandbox_driver *sandbox, const struct compute_driver **driver);
void kubernetes_open_configuration(const void *context, const struct yaml_node *node,
                                   const struct configuration_driver **driver);
void kubernetes_open_secret(const void *context, const struct yaml_node *node,
                            const struct secret_driver **driver);

#endif
