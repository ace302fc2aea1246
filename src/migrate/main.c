/* SPDX-License-Identifier: MIT
 *
 * occ-migrate: applies the schema's migrations, or checks them. See occ-migrate(8).
 */
#include "lib/base/build.h"

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/standard.h"
#include "lib/config/settings.h"
#include "lib/config/startup.h"
#include "lib/io/pg.h"
#include "lib/store/migrate.h"
#include "src/migrate/report.h"

#include <signal.h>
#include <sodium.h>

#define EXIT_NOT_CURRENT 1

static const struct option own_options[] = {
    {.flag = "check",
     .type = OPTION_SWITCH,
     .help = "Changes nothing; says whether the schema is empty, behind, current or unsupported."},
};
static const struct option_table own = {"Actions", own_options, COUNT_OF(own_options)};
static const struct option_table *const tables[] = {&own, &settings_general, &settings_database, NULL};

static const struct option_request request = {
    .program = "occ-migrate",
    .program_bit = PROGRAM_MIGRATE,
    .tables = tables,
    .summary = "Brings the database's schema up to date, as the role occ_migrator.",
    .manual = "occ-migrate(8)",
};

static int check(struct pg *connection, const void *context)
{
    struct migration_status status;
    struct fault fault;

    if (!migration_check(connection, context, NULL, &status, &fault) || !report_checked(&status, &fault))
        return report_fault(&fault);
    if (status.state == MIGRATION_UNSUPPORTED) {
        (void)fault_set(&fault, FAULT_CONFLICT, "SCHEMA_UNSUPPORTED", "%s", status.finding);
        return report_fault(&fault);
    }
    return status.state == MIGRATION_CURRENT ? EXIT_SUCCESS : EXIT_NOT_CURRENT;
}

static int apply(struct pg *connection, const void *context)
{
    struct migration_status before;
    struct fault fault;

    if (!migrate_apply(connection, context, &before, &fault) || !report_applied(&before, &fault))
        return report_fault(&fault);
    return EXIT_SUCCESS;
}

/* The startup YAML only says how much is logged; one that is named must be good. A migration is of no mode,
 * so that the mode need not be given: without it, the rules that hold in every mode are checked. */
static void read_log_level(const void *context, const struct options *options, struct findings *findings)
{
    const char *path = options_text(options, "config-path");
    enum settings_mode mode = MODE_DEVELOPMENT;

    if (options_text(options, "mode"))
        (void)!settings_mode_read(options, findings, &mode);
    if (path)
        log_set_level(
            startup_of_file(context, path, options_source(options, "config-path"), mode, NULL, findings)
                ->log_level);
}

static void tell_start(const void *context, const struct settings_url *url, bool checking)
{
    const char *host, *database;

    pg_url_describe(context, url->url, &host, &database);
    log_event(LOG_DEBUG, "migration.started", log_text("version", PACKAGE_VERSION),
              log_boolean("check", checking), log_text("databaseHost", host),
              log_text("databaseName", database));
}

static int run(const void *context, int argc, char **argv)
{
    struct findings *findings = findings_new(context);
    struct options *options;
    struct settings_url url;
    struct fault fault;
    struct pg *connection;
    int status;

    switch (options_read(context, &request, argc, argv, findings, &options)) {
    case OPTIONS_HELP:
        (void)fputs(options_help(context, &request), stdout);
        return fflush(stdout) == EOF ? 70 : EXIT_SUCCESS;
    case OPTIONS_VERSION:
        (void)fputs(options_version(context, &request), stdout);
        return fflush(stdout) == EOF ? 70 : EXIT_SUCCESS;
    case OPTIONS_READ:
        break;
    }
    bool named = settings_url_read(options, "OCC_MIGRATION_DATABASE_URL", "migration-database-url-file",
                                   findings, &url);
    settings_forget_secrets();
    read_log_level(context, options, findings);
    report_warnings(findings);
    if (!named || findings_problems(findings) > 0)
        return report_findings(findings);
    if (!settings_url_load(context, &url, &fault))
        return report_fault(&fault);

    const bool checking = options_true(options, "check");
    const struct pg_options target = {
        .url = url.url,
        .application_name = "occ-migrate",
        .timeout_ms = (int)options_number(options, "database-timeout-ms"),
        .read_only = checking,
    };
    tell_start(context, &url, checking);
    if (!pg_connect(context, &target, &connection, &fault))
        return report_fault(&fault);
    if (!migrate_verify(connection, &fault))
        return report_fault(&fault);
    status = checking ? check(connection, context) : apply(connection, context);
    talloc_free(connection);
    return status;
}

int main(int argc, char **argv)
{
    void *context = talloc_new(NULL);
    int status;

    standard_open();
    secret_forbid_core();
    if (context == NULL || sodium_init() < 0)
        mem_exhausted();
    /* A reader of stdout that goes away is an error to report, not a death in the middle. */
    (void)signal(SIGPIPE, SIG_IGN);
    log_open("occ-migrate");
    status = run(context, argc, argv);
    talloc_free(context);
    return status;
}
