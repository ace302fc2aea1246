/* SPDX-License-Identifier: MIT
 *
 * occ-bootstrap: creates the one Installation, or says that it is there.
 */
#include "lib/base/build.h"

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/standard.h"
#include "lib/base/text.h"
#include "lib/config/settings.h"
#include "lib/config/startup.h"
#include "lib/store/migration.h"
#include "lib/store/session_role.h"
#include "src/bootstrap/bootstrap.h"

#include <errno.h>
#include <unistd.h>

#define PROGRAM "occ-bootstrap"
#define FAILED "installation.bootstrap-failed"
#define WARNING "installation.bootstrap-warning"
#define CONNECT_TIMEOUT_MS 60000

static const struct option_table *const tables[] = {
    &settings_general,
    &settings_database,
    &settings_bootstrap,
    NULL,
};

static const struct option_request command_line = {
    .program = PROGRAM,
    .program_bit = PROGRAM_BOOTSTRAP,
    .tables = tables,
    .summary =
        "Creates the Installation of a migrated database: its administrator, service principal with a "
        "service "
        "key, administrator role, and the Namespace \"default\". Run again, it verifies and changes nothing.",
    .manual = "occ-bootstrap(8)",
};

struct run {
    void *memory;
    struct options *options;
    struct findings *findings;
    struct settings_url url;
    struct bootstrap_request request;
};

/* What development may leave to us, production must say. */
static const char *read_name(struct run *run, const char *option, bool has_default, const char *fallback)
{
    const char *value = options_text(run->options, option);

    if (value || options_given(run->options, option))
        return value;
    if (has_default)
        return fallback;
    findings_add(run->findings, FINDING_PROBLEM, options_source(run->options, option), "SETTING_REQUIRED",
                 "must be given in production (or as --%s)", option);
    return NULL;
}

static const char *read_output(struct run *run, const char *option)
{
    const char *value = options_text(run->options, option);

    if (!value && !options_given(run->options, option))
        findings_add(run->findings, FINDING_PROBLEM, options_source(run->options, option), "SETTING_REQUIRED",
                     "must name a file to create (or give --%s)", option);
    return value;
}

/* The startup YAML is not needed here, but one that is named must be good, and says how much is logged. */
static void read_log_level(struct run *run, enum settings_mode mode)
{
    const char *path = options_text(run->options, "config-path");

    if (path)
        log_set_level(startup_of_file(run->memory, path, options_source(run->options, "config-path"), mode,
                                      NULL, run->findings)
                          ->log_level);
}

static void read_settings(struct run *run)
{
    struct bootstrap_request *request = &run->request;
    enum settings_mode mode = MODE_PRODUCTION;
    bool development = settings_mode_read(run->options, run->findings, &mode) && mode == MODE_DEVELOPMENT;

    (void)!settings_url_read(run->options, "OCC_DATABASE_URL", "database-url-file", run->findings, &run->url);
    read_log_level(run, mode);
    request->email = read_name(run, "admin-email", development, "admin@example.com");
    request->installation_name = read_name(run, "installation-name", development, "OpenClaw Development");
    request->password_path = read_output(run, "password-file");
    request->key_path = read_output(run, "service-key-file");
    request->password_setting = options_source(run->options, "password-file");
    request->key_setting = options_source(run->options, "service-key-file");
    if (request->password_path && text_equal(request->password_path, request->key_path))
        findings_add(run->findings, FINDING_PROBLEM, request->key_setting, "OUTPUT_FILE_REFUSED",
                     "must name another file than %s", request->password_setting);
}

/* Every finding is told, each as a record of its own: this program's stderr is read by machines. */
static int tell_findings(const struct run *run)
{
    size_t index;

    for (index = 0; index < findings_count(run->findings); index++) {
        const struct finding *finding = findings_at(run->findings, index);

        const bool warning = finding->kind == FINDING_WARNING;

        log_event(warning ? LOG_WARN : LOG_ERROR, warning ? WARNING : FAILED,
                  log_text("setting", finding->where), log_text("code", finding->code),
                  log_text("message", finding->message));
    }
    return findings_exit_status(run->findings);
}

static int tell_fault(const struct run *run, const struct bootstrap_report *report, const struct fault *fault)
{
    log_event(LOG_ERROR, FAILED, log_text("code", fault->code), log_text("message", fault->message),
              log_text("dependency", fault->dependency), log_text("cause", fault->cause),
              log_text("leftPasswordFile", report->wrote_password ? run->request.password_path : NULL),
              log_text("leftServiceKeyFile", report->wrote_key ? run->request.key_path : NULL));
    return fault_exit_status(fault);
}

static int tell_success(const struct run *run, const struct bootstrap_report *report)
{
    char line[4097];
    size_t length;
    const struct log_field fields[] = {
        log_text("installationId", report->installation_id),
        log_text("installationName", run->request.installation_name),
        log_text("administratorEmail", run->request.email),
        log_text("namespaceId", report->namespace_id),
        log_text("servicePrincipalId", report->service_principal_id),
        log_text("serviceKeyId", report->key_id),
        log_text("serviceKeyExpiresAt", report->key_expires_at),
        log_text("passwordFile", report->wrote_password ? run->request.password_path : NULL),
        log_text("serviceKeyFile", report->wrote_key ? run->request.key_path : NULL),
        {LOG_FIELD_END, 0, 0, 0},
    };

    length = log_format(line, sizeof line - 1, LOG_INFO,
                        report->already ? "installation.already-bootstrapped" : "installation.bootstrapped",
                        fields);
    line[length++] = '\n';
    if (fwrite(line, 1, length, stdout) != length || fflush(stdout) != 0) {
        log_event(
            LOG_ERROR, FAILED, log_text("code", "OUTPUT_FAILED"),
            log_text("message", "The Installation is there, but its record could not be written to stdout."));
        return 70;
    }
    return 0;
}

static void tell_start(const struct run *run)
{
    const char *host, *database;

    pg_url_describe(run->memory, run->url.url, &host, &database);
    log_event(LOG_DEBUG, "installation.bootstrap-started", log_text("version", PACKAGE_VERSION),
              log_text("databaseHost", host), log_text("databaseName", database));
}

static int work(struct run *run)
{
    struct bootstrap_report report = {0};
    struct pg_options connect = {.application_name = PROGRAM, .timeout_ms = CONNECT_TIMEOUT_MS};
    struct pg *connection;
    const char *role;
    struct fault fault;

    if (!settings_url_load(run->memory, &run->url, &fault))
        return tell_fault(run, &report, &fault);
    settings_forget_secrets();
    connect.url = run->url.url;
    tell_start(run);
    if (!pg_connect(run->memory, &connect, &connection, &fault) ||
        !session_role_check(connection, run->memory, NULL, &role, &fault) ||
        !migration_require_current(connection, NULL, &fault) ||
        !bootstrap_run(connection, run->memory, &run->request, &report, &fault))
        return tell_fault(run, &report, &fault);
    return tell_success(run, &report);
}

int main(int argc, char **argv)
{
    struct run run = {.memory = talloc_named_const(NULL, 0, PROGRAM)};
    int status = 0;

    standard_open();
    secret_forbid_core();
    log_open(PROGRAM);
    run.findings = findings_new(run.memory);
    switch (options_read(run.memory, &command_line, argc, argv, run.findings, &run.options)) {
    case OPTIONS_HELP:
        (void)fputs(options_help(run.memory, &command_line), stdout);
        break;
    case OPTIONS_VERSION:
        (void)fputs(options_version(run.memory, &command_line), stdout);
        break;
    case OPTIONS_READ:
        read_settings(&run);
        status = tell_findings(&run);
        if (status == 0)
            status = work(&run);
        break;
    }
    talloc_free(run.memory);
    return status;
}
