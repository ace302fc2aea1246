/* SPDX-License-Identifier: MIT
 *
 * The startup YAML (occ-installation.yaml(5)): the Installation's Drivers and what all its processes share.
 *
 * The API and the worker read the same file. It is checked against closed schemas with all findings told;
 * sections that only the API uses are checked for shape and ignored with one warning; sections that would
 * change what the worker does are refused by name. Without a file, development uses the Docker Compute Driver
 * and native IAM.
 */
#ifndef OCC_CONFIG_STARTUP_H
#define OCC_CONFIG_STARTUP_H

#include "lib/base/log.h"
#include "lib/config/schema.h"
#include "lib/config/worker_settings.h"
#include "lib/config/yaml.h"

/* How installed Drivers (`package`) are looked up. A program that opens all of them gives one; without it the
 * selection of a package is checked for its shape, and its configuration for credentials, and no more until
 * it is opened. */
struct startup_packages {
    void *subject;
    /* Finds the closed schema of what `package` offers for a capability ("compute") under the identifier
     * `id`. The schema lives as long as the process. Fault: FAULT_CONFIGURATION, told with the place of
     * `package`. */
    bool (*schema)(void *subject, const char *capability, const char *package, const char *id,
                   bool production, const struct schema **schema, struct fault *fault) MUST_USE;
};

struct startup_driver {
    const char *id;                        /* "compute-docker-development"; NULL: none is selected */
    const char *package;                   /* of an installed Driver; NULL: it is bundled */
    const struct yaml_node *configuration; /* checked; NULL: none was given */
};

struct startup {
    enum log_severity log_level;
    const char *cluster; /* occ.cluster; NULL: not given */
    struct startup_driver iam, configuration, secret, compute, sandbox;
    const char *file;             /* its path, for findings; NULL without a file */
    const struct yaml_node *root; /* of the whole file, for yaml_at(); NULL without a file */
};

/* Reads the text of a startup YAML; `file` is its path, for findings. NULL as `text`: no file, the defaults
 * of development. `packages` may be NULL. The result hangs on `context` and is complete only when `findings`
 * has no problem. */
struct startup *startup_read(const void *context, const char *file, const struct secret *text,
                             enum settings_mode mode, const struct startup_packages *packages,
                             struct findings *findings) __attribute__((returns_nonnull)) MUST_USE;

/* The same for the worker's settings, as the children get them. */
struct startup *startup_of_worker(const void *context, const struct worker_settings *settings,
                                  const struct startup_packages *packages, struct findings *findings)
    __attribute__((returns_nonnull)) MUST_USE;

/* The same for a program that reads the file itself: `path` from settings_config_path(), NULL without a file,
 * and the name by which the user gave it. */
struct startup *startup_of_file(const void *context, const char *path, const char *source,
                                enum settings_mode mode, const struct startup_packages *packages,
                                struct findings *findings) __attribute__((returns_nonnull)) MUST_USE;

#endif
