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
 * `configuration`. `sandbox` (may be NULL) must live as long; it surrounds dedicated Harnesses. Their
 * preflights fail with FAULT_CONFIGURATION for what an operator must mend and with FAULT_UNAVAILABLE for what
 * may pass by itself. */
void kubernetes_open_compute(const void *context, const struct yaml_node *node,
                             const struct sandbox_driver *sandbox, const struct compute_driver **driver);
void kubernetes_open_configuration(const void *context, const struct yaml_node *node,
                                   const struct configuration_driver **driver);
void kubernetes_open_secret(const void *context, const struct yaml_node *node,
                            const struct secret_driver **driver);

#endif
