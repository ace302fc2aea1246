/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/migrate/report.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/io/json.h"

#include <errno.h>

static bool print_record(const void *context, const cJSON *record, struct fault *fault)
{
    if (puts(json_write(context, record)) == EOF || fflush(stdout) == EOF)
        return fault_set(fault, FAULT_UNAVAILABLE, "OUTPUT_FAILED", "Standard output cannot be written: %s",
                         strerror(errno));
    return true;
}

static cJSON *new_record(const void *context, const char *event, enum migration_state state, size_t applied)
{
    cJSON *record = json_new_object(context);
    char time[CLOCK_TEXT_SIZE];

    clock_text(time);
    json_add_text(record, "time", time);
    json_add_text(record, "service", "occ-migrate");
    json_add_text(record, "event", event);
    json_add_text(record, "status", migration_state_name(state));
    json_add_number(record, "version", (int64_t)applied);
    return record;
}

static void add_names_from(cJSON *record, const char *member, size_t first)
{
    cJSON *names = json_add_array(record, member);

    for (size_t i = first; i < migration_list_length; i++)
        json_append_text(names, migration_list[i].name);
}

bool report_applied(const struct migration_status *before, struct fault *fault)
{
    void *context = talloc_new(NULL);
    cJSON *record = new_record(context, "migration.applied", MIGRATION_CURRENT, migration_list_length);
    bool done;

    add_names_from(record, "applied", before->applied);
    done = print_record(context, record, fault);
    talloc_free(context);
    return done;
}

bool report_checked(const struct migration_status *status, struct fault *fault)
{
    void *context = talloc_new(NULL);
    cJSON *record = new_record(context, "migration.checked", status->state, status->applied);
    bool done;

    if (status->state == MIGRATION_UNSUPPORTED)
        json_add_text(record, "finding", status->finding);
    else
        add_names_from(record, "pending", status->applied);
    done = print_record(context, record, fault);
    talloc_free(context);
    return done;
}

int report_fault(const struct fault *fault)
{
    log_fault(LOG_ERROR, "migration.failed", fault);
    return fault_exit_status(fault);
}

void report_warnings(const struct findings *findings)
{
    for (size_t i = 0; i < findings_count(findings); i++) {
        const struct finding *finding = findings_at(findings, i);

        if (finding->kind == FINDING_WARNING)
            log_event(LOG_WARN, "migration.warning", log_text("setting", finding->where),
                      log_text("code", finding->code), log_text("message", finding->message));
    }
}

int report_findings(const struct findings *findings)
{
    for (size_t i = 0; i < findings_count(findings); i++) {
        const struct finding *finding = findings_at(findings, i);

        if (finding->kind != FINDING_WARNING)
            log_event(LOG_ERROR, "migration.failed", log_text("setting", finding->where),
                      log_text("code", finding->code), log_text("message", finding->message));
    }
    return findings_exit_status(findings);
}
