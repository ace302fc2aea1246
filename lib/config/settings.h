/* SPDX-License-Identifier: MIT
 *
 * Every setting of every program: flags, variables, defaults and ranges, as tables for the reader of options.
 *
 * A program lists the tables that it needs and names itself with its bit; options of other programs are left
 * out. Getters take the flag's name ("poll-interval-ms"), or the variable's where there is no flag (secrets).
 */
#ifndef OCC_CONFIG_SETTINGS_H
#define OCC_CONFIG_SETTINGS_H

#include "lib/config/option.h"

/* mode, config-path */
extern const struct option_table settings_general;
/* OCC_DATABASE_URL, database-url-file, OCC_MIGRATION_DATABASE_URL, migration-database-url-file,
 * database-timeout-ms */
extern const struct option_table settings_database;
/* reconcilers … docker-host: the worker's own */
extern const struct option_table settings_worker;
/* metrics-enabled, metrics-host, metrics-port, OCC_METRICS_DATABASE_URL, metrics-database-url-file */
extern const struct option_table settings_metrics;
/* admin-email, installation-name, password-file, service-key-file: of occ-bootstrap */
extern const struct option_table settings_bootstrap;
/* service-key-file, development-configuration-root: of occctl */
extern const struct option_table settings_ctl;
/* namespace: of those of its commands that work in one */
extern const struct option_table settings_ctl_namespace;

enum settings_mode { MODE_DEVELOPMENT, MODE_PRODUCTION };

#define SETTINGS_URL_MISSING "A valid PostgreSQL connection URL must be explicitly configured."

/* "development" or "production". */
const char *settings_mode_text(enum settings_mode mode) __attribute__((returns_nonnull));

/* The mode; a finding when it was not given. Returns false when it is not known (a wrong value has its
 * finding). */
bool settings_mode_read(const struct options *options, struct findings *findings,
                        enum settings_mode *mode) MUST_USE;

/* The startup YAML's path; NULL when it was not given, with a finding where `mode` needs it. */
const char *settings_config_path(const struct options *options, struct findings *findings,
                                 enum settings_mode mode);

/* Where a database URL comes from. */
struct settings_url {
    const struct secret *url; /* from the variable, or read from the file; NULL: none */
    const char *file;         /* the file's path; NULL: the variable */
    const char *source;       /* the setting as the user gave it */
};

/* The URL of `variable` ("OCC_DATABASE_URL") or the file of `flag` ("database-url-file"): a finding unless
 * exactly one of them is given, and for a URL whose form is wrong. A file is only named here:
 * settings_url_load() reads it. The result borrows from `options`. */
bool settings_url_read(const struct options *options, const char *variable, const char *flag,
                       struct findings *findings, struct settings_url *url) MUST_USE;

/* Reads the named file, if one is named, cuts the white space at its end, and checks the URL's form. May be
 * called again to read the file again; the new URL hangs on `context`. Faults: FAULT_CONFIGURATION
 * DATABASE_CONFIGURATION_INVALID. */
bool settings_url_load(const void *context, struct settings_url *url, struct fault *fault) MUST_USE;

/* Overwrites the values of all variables that hold secrets in this process' environment, where /proc shows
 * them, and removes them. Call it once, when the settings have been read. */
void settings_forget_secrets(void);

#endif
