/* SPDX-License-Identifier: MIT
 *
 * Preflight: looks at everything that a worker relies on, changes nothing, and tells all that it finds.
 */
#include "lib/base/build.h"

#include "src/worker/preflight.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/iam/soundness.h"
#include "lib/store/installation.h"
#include "lib/store/migration.h"
#include "lib/store/session_role.h"

#define EXIT_AGAIN 75

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};

void preflight_fact(struct preflight *preflight, const char *name, const char *value)
{
    struct message message = message_new(MESSAGE_FACT);

    (void)text_copy(message.body.fact.name, sizeof message.body.fact.name, name);
    (void)text_copy(message.body.fact.value, sizeof message.body.fact.value, value);
    (void)!child_say(preflight->child, &message);
}

/* A text longer than a message travels in parts. */
void preflight_finding(struct preflight *preflight, enum report_level level, const struct fault *fault)
{
    const char *rest = fault->message;
    bool more = true;

    while (more) {
        struct message message = message_new(MESSAGE_FINDING);
        struct message_finding *finding = &message.body.finding;

        finding->level = level;
        finding->class = fault->class;
        (void)text_copy(finding->code, sizeof finding->code, fault->code);
        (void)text_copy(finding->dependency, sizeof finding->dependency, fault->dependency);
        (void)text_copy(finding->cause, sizeof finding->cause, fault->cause);
        more = !text_copy(finding->part, sizeof finding->part, rest);
        finding->more = more;
        rest += strlen(finding->part);
        if (!child_say(preflight->child, &message))
            return;
    }
    if (level == REPORT_PROBLEM)
        preflight->problems++;
    else
        preflight->warnings++;
}

void preflight_problem(struct preflight *preflight, const struct fault *fault)
{
    preflight_finding(preflight, REPORT_PROBLEM, fault);
}

static void check_startup(struct preflight *preflight)
{
    const struct child *child = preflight->child;
    const char *host, *database;
    size_t index;

    preflight_fact(preflight, "version", PACKAGE_VERSION);
    preflight_fact(preflight, "mode", settings_mode_text(child->settings->mode));
    preflight_fact(preflight, "configPath", child->settings->config_path);
    preflight_fact(preflight, "logLevel", level_names[child->startup->log_level]);
    preflight_fact(preflight, "cluster", child->startup->cluster);
    pg_url_describe(child, child->settings->database.url, &host, &database);
    preflight_fact(preflight, "databaseHost", host);
    preflight_fact(preflight, "databaseName", database);
    if (child->settings->metrics_enabled) {
        struct fault fault = {.class = FAULT_NONE};

        (void)fault_set(&fault, FAULT_PENDING, "METRICS_UNAVAILABLE",
                        "metrics are enabled, but this version serves none");
        preflight_finding(preflight, REPORT_WARNING, &fault);
    }
    for (index = 0; index < findings_count(child->findings); index++) {
        const struct finding *finding = findings_at(child->findings, index);
        struct fault fault = {.class = FAULT_NONE};

        (void)fault_set(&fault, FAULT_CONFIGURATION, finding->code, "%s%s%s", finding->where,
                        finding->where[0] ? ": " : "", finding->message);
        preflight_finding(preflight, finding->kind == FINDING_WARNING ? REPORT_WARNING : REPORT_PROBLEM,
                          &fault);
    }
}

static bool check_iam(struct preflight *preflight, struct pg *connection, struct fault *fault)
{
    struct iam_defect *defects;
    size_t count, index;

    if (!iam_check_soundness(connection, preflight->child, &preflight->child->watch, &defects, &count, fault))
        return false;
    for (index = 0; index < count; index++) {
        struct fault defect = {.class = FAULT_NONE};

        (void)fault_set(&defect, FAULT_CONFIGURATION, defects[index].code, "%s", defects[index].message);
        preflight_problem(preflight, &defect);
    }
    if (!count)
        preflight_fact(preflight, "iam", "sound");
    return true;
}

static bool check_contents(struct preflight *preflight, struct pg *connection, struct fault *fault)
{
    struct child *child = preflight->child;
    struct installation *installation;
    const char *role;

    if (!session_role_check(connection, child, &child->watch, &role, fault))
        return false;
    preflight_fact(preflight, "databaseRole", role);
    preflight_fact(preflight, "databasePooled", pg_is_pooled(connection) ? "yes" : "no");
    if (!migration_require_current(connection, &child->watch, fault))
        return false;
    preflight_fact(preflight, "schema", migration_list[migration_list_length - 1].name);
    if (!installation_require(connection, child, &child->watch, &installation, fault))
        return false;
    preflight_fact(preflight, "installationId", installation->id);
    preflight_fact(preflight, "installationName", installation->name);
    preflight->installation_id = installation->id;
    return check_iam(preflight, connection, fault);
}

static void check_database(struct preflight *preflight)
{
    struct child *child = preflight->child;
    const struct pg_options options = {
        .url = child->settings->database.url,
        .application_name = "occ-worker preflight",
        .timeout_ms = child->settings->database_timeout_ms,
        .watch = &child->watch,
    };
    struct fault fault = {.class = FAULT_NONE};
    struct pg *connection = NULL;

    if (!pg_connect(child, &options, &connection, &fault) || !check_contents(preflight, connection, &fault))
        preflight_problem(preflight, &fault);
    talloc_free(connection);
}

int preflight_run(struct child *child)
{
    struct preflight preflight = {.child = child};
    struct message message;
    bool startup_is_good;

    check_startup(&preflight);
    startup_is_good = !findings_problems(child->findings);
    check_database(&preflight);
    if (startup_is_good)
        preflight_drivers(&preflight);
    preflight_harnesses(&preflight);
    message = message_new(MESSAGE_VERDICT);
    message.body.verdict.problems = preflight.problems;
    message.body.verdict.warnings = preflight.warnings;
    return child_say(child, &message) ? 0 : EXIT_AGAIN;
}
