/* SPDX-License-Identifier: MIT
 *
 * The worker's settings as plain values, checked against each other, with the contents of the files they
 * name.
 *
 * The supervisor reads flags and environment once (worker_settings_read), then the named files
 * (worker_settings_load; again on a reload), and hands the result to every child as a snapshot.
 */
#ifndef OCC_CONFIG_WORKER_SETTINGS_H
#define OCC_CONFIG_WORKER_SETTINGS_H

#include "lib/config/settings.h"

#define WORKER_STARTUP_MOST 1048576 /* bytes of the startup YAML */

struct worker_settings {
    enum settings_mode mode;
    const char *config_path;           /* NULL: none was given */
    const char *config_source;         /* the setting as the user gave it, for messages */
    const struct secret *startup_text; /* the startup YAML's bytes; NULL without a path, or not loaded */
    struct settings_url database;
    struct settings_url metrics_database; /* without file and URL: the exporter uses `database`, read-only */
    int database_timeout_ms;
    int reconcilers;
    int poll_interval_ms;
    int lease_duration_ms;
    int max_attempts;
    int convergence_timeout_ms;
    int drain_timeout_ms;
    int start_timeout_ms;
    int recycle_passes;
    int recycle_age_ms;
    const char *readiness_path; /* NULL: no marker */
    const char *liveness_path;
    const char *docker_socket; /* an absolute path */
    bool metrics_enabled;
    const char *metrics_host; /* an address; NULL while disabled */
    int metrics_port;
};

/* The tables of occ-worker's settings, for its option_request besides its own: ends with NULL. */
#define WORKER_SETTINGS_TABLES &settings_general, &settings_database, &settings_worker, &settings_metrics

/* Reads and checks what flags and environment say; everything wrong is a finding. The result hangs on
 * `context`, is complete only when `findings` has no problem, and names files that worker_settings_load()
 * reads. */
struct worker_settings *worker_settings_read(const void *context, const struct options *options,
                                             struct findings *findings)
    __attribute__((returns_nonnull)) MUST_USE;

/* A copy of `settings`, independent of it and hanging on `context`, with the named files' contents as they
 * are now: database URLs (private files) and the startup YAML (trusted file). What cannot be read is a
 * finding (DATABASE_CONFIGURATION_INVALID, STARTUP_FILE_REJECTED). */
struct worker_settings *worker_settings_load(const void *context, const struct worker_settings *settings,
                                             struct findings *findings)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
