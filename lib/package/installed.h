/* SPDX-License-Identifier: MIT
 *
 * Installed Drivers as the contracts of lib/driver: what the startup YAML selects with `package`.
 *
 * Faults of a selection, besides package_load()'s, all FAULT_CONFIGURATION: DRIVER_CAPABILITY_MISSING (tells
 * what the package offers), DRIVER_TABLE_SIZE, DRIVER_ID_MISMATCH, DRIVER_DEVELOPMENT_ONLY,
 * DRIVER_OPERATION_MISSING, DRIVER_IMPLEMENTATION_INVALID, DRIVER_ACTIVATION_ORDER_INVALID,
 * DRIVER_MAINTENANCE_INTERVAL_INVALID, DRIVER_SETTINGS_INVALID.
 *
 * An opened Driver hangs on `context`, and lives until the process ends: it has no close(). Opening calls its
 * open(), with the deadline and watch of `call`; what that says may pass is FAULT_UNAVAILABLE, what will not
 * is FAULT_CONFIGURATION, under the Driver's own codes.
 */
#ifndef OCC_PACKAGE_INSTALLED_H
#define OCC_PACKAGE_INSTALLED_H

#include "lib/driver/authority.h"
#include "lib/driver/compute.h"
#include "lib/driver/configuration.h"
#include "lib/driver/sandbox.h"
#include "lib/package/package.h"

struct schema;
struct yaml_node;

struct package_selection {
    const char *package;
    const char *id;
    bool production;
    /* drivers.*.configuration, checked against package_schema(); NULL: none was given. */
    const struct yaml_node *configuration;
};

/* The closed schema of its configuration, which lives as long as the process. */
bool package_schema(const struct package_selection *selection, enum package_capability capability,
                    const struct schema **schema, struct fault *fault) MUST_USE;

bool package_open_compute(const void *context, const struct package_selection *selection,
                          const struct driver_call *call, const struct compute_driver **driver,
                          struct fault *fault) MUST_USE;
bool package_open_authority(const void *context, const struct package_selection *selection,
                            const struct driver_call *call, const struct authority **authority,
                            struct fault *fault) MUST_USE;
bool package_open_configuration(const void *context, const struct package_selection *selection,
                                const struct driver_call *call, const struct configuration_driver **driver,
                                struct fault *fault) MUST_USE;
bool package_open_secret(const void *context, const struct package_selection *selection,
                         const struct driver_call *call, const struct secret_driver **driver,
                         struct fault *fault) MUST_USE;
bool package_open_sandbox(const void *context, const struct package_selection *selection,
                          const struct driver_call *call, const struct sandbox_driver **driver,
                          struct fault *fault) MUST_USE;

#endif
