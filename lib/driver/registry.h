/* SPDX-License-Identifier: MIT
 *
 * Which Compute Drivers a program has, and opening the selected one.
 *
 * The table is the program's: this layer lies below the Drivers and knows none of them. A program lists what
 * it was built with, and nothing between it and the Driver knows which one answers.
 */
#ifndef OCC_DRIVER_REGISTRY_H
#define OCC_DRIVER_REGISTRY_H

#include "lib/driver/compute.h"

/* What Drivers are opened with. A Driver reads its own fields and ignores the others. Everything is borrowed
 * during the call. */
struct compute_settings {
    bool production;                /* the process's mode; false: development */
    const char *docker_socket_path; /* from DOCKER_HOST without "unix://" */
};

struct compute_entry {
    const char *id;             /* as selected in the startup YAML: "compute-docker-development" */
    const char *implementation; /* as recorded with revisions: "docker-local" */
    bool development_only;
    bool supports_existing_namespaces;
    /* Checks the Driver's own settings without touching anything outside. Fault: FAULT_CONFIGURATION. */
    bool (*validate)(const struct compute_settings *settings, struct fault *fault) MUST_USE;
    /* Makes a Driver that hangs on `context`, without touching anything outside: the first operation
     * connects. Settings have passed validate(). */
    bool (*open)(const void *context, const struct compute_settings *settings,
                 const struct compute_driver **driver, struct fault *fault) MUST_USE;
};

struct compute_registry {
    const struct compute_entry *entries;
    size_t count;
};

/* What the configuration selects. */
struct compute_selection {
    const char *id;
    const char *package; /* an installed Driver's package, or NULL for a bundled one */
};

/* Finds the selected Driver, checks that this mode may use it, and validates its settings. The entry is the
 * registry's.
 *
 * Fault: FAULT_CONFIGURATION COMPUTE_DRIVER_UNAVAILABLE for a package (this program loads none) and for an id
 * that is not in the registry; the message names what there is. COMPUTE_DRIVER_REFUSED for a Driver of
 * development selected in production; or what validate() says. */
bool registry_select_compute(const struct compute_registry *registry,
                             const struct compute_selection *selection,
                             const struct compute_settings *settings, const struct compute_entry **entry,
                             struct fault *fault) MUST_USE;

/* The same, and opens it. */
bool registry_open_compute(const void *context, const struct compute_registry *registry,
                           const struct compute_selection *selection, const struct compute_settings *settings,
                           const struct compute_driver **driver, struct fault *fault) MUST_USE;

#endif
