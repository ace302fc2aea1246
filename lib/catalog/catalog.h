/* SPDX-License-Identifier: MIT
 *
 * The Drivers that there are, bundled with this program or installed, and opening those that the startup YAML
 * selects. For programs: nothing between them and a Driver knows which one answers.
 *
 * Everything opened hangs on `context`. Opening a bundled Driver touches nothing outside: its first operation
 * connects. An installed one is loaded and opened by its own code, with the deadline and watch of `call`.
 * Faults name the setting (drivers.secret.id): FAULT_CONFIGURATION <CAPABILITY>_DRIVER_UNAVAILABLE for one
 * that is not in this build, naming what is, <CAPABILITY>_DRIVER_REFUSED for a Driver of development selected
 * in production; and those of lib/package/installed.h.
 */
#ifndef OCC_CATALOG_CATALOG_H
#define OCC_CATALOG_CATALOG_H

#include "lib/config/startup.h"
#include "lib/driver/authority.h"
#include "lib/driver/compute.h"
#include "lib/driver/configuration.h"
#include "lib/driver/sandbox.h"

#define CATALOG_NATIVE_IAM "native-iam"

/* What Drivers are opened with besides their configuration. Everything is borrowed during the call. */
struct catalog_settings {
    bool production;                /* the process's mode; false: development */
    const char *docker_socket_path; /* from DOCKER_HOST without "unix://" */
    /* OCC_DEVELOPMENT_CONFIGURATION_ROOT; NULL: this program is not told it, as no worker is, and opens no
     * Driver that needs it. */
    const char *configuration_root;
};

/* How a startup YAML's installed Drivers are looked up: loads their packages. For startup_of_file() and
 * startup_of_worker() in a program that opens all that are selected. */
extern const struct startup_packages catalog_packages;

/* `sandbox`, from catalog_open_sandbox() (NULL: none), surrounds the Harnesses that the Driver runs, and must
 * live as long as it. */
bool catalog_open_compute(const void *context, const struct catalog_settings *settings,
                          const struct startup *startup, const struct sandbox_driver *sandbox,
                          const struct driver_call *call, const struct compute_driver **driver,
                          struct fault *fault) MUST_USE;

/* NULL where none is selected. */
bool catalog_open_secret(const void *context, const struct catalog_settings *settings,
                         const struct startup *startup, const struct driver_call *call,
                         const struct secret_driver **driver, struct fault *fault) MUST_USE;

/* NULL where none is selected, and for one that needs a setting which this program is not told. */
bool catalog_open_configuration(const void *context, const struct catalog_settings *settings,
                                const struct startup *startup, const struct driver_call *call,
                                const struct configuration_driver **driver, struct fault *fault) MUST_USE;

/* NULL for native IAM. */
bool catalog_open_authority(const void *context, const struct catalog_settings *settings,
                            const struct startup *startup, const struct driver_call *call,
                            const struct authority **authority, struct fault *fault) MUST_USE;

/* NULL where none is selected. */
bool catalog_open_sandbox(const void *context, const struct catalog_settings *settings,
                          const struct startup *startup, const struct driver_call *call,
                          const struct sandbox_driver **driver, struct fault *fault) MUST_USE;

/* The version of the package that a selection names, for reports; NULL for a bundled Driver, and for a
 * package that is not loaded. */
const char *catalog_package_version(const struct startup_driver *selected);

#endif
