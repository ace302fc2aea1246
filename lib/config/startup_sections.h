/* SPDX-License-Identifier: MIT
 *
 * The sections of the startup YAML: one schema each, one file each.
 */
#ifndef OCC_CONFIG_STARTUP_SECTIONS_H
#define OCC_CONFIG_STARTUP_SECTIONS_H

#include "lib/config/schema.h"

/* The whole file. */
extern const struct schema startup_schema;

/* drivers.* : the selection of each Driver. */
extern const struct schema startup_drivers;

/* {mode: inCluster} or {mode: kubeconfig, kubeconfigPath, context}: how a Driver reaches Kubernetes. */
extern const struct schema startup_kubernetes_authentication;

/* drivers.compute.configuration of compute-kubernetes. */
extern const struct schema startup_kubernetes_compute;

#endif
