/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/report.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"

#define EXIT_BUG 70

struct report *report_new(const void *context)
{
    return mem_new(context, struct report);
}

static struct report_entry *entry_add(struct report *report)
{
    struct report_entry *entry;

    if (report->entry_count == REPORT_ENTRIES)
        return NULL;
    report->entries = mem_grow(report, report->entries, struct report_entry, report->entry_count + 1);
    entry = &report->entries[report->entry_count++];
    *entry = (struct report_entry){.level = REPORT_PROBLEM};
    return entry;
}

static void take_finding(struct report *report, const struct message_finding *finding)
{
    struct report_entry *entry =
        report->open && report->entry_count ? &report->entries[report->entry_count - 1] : entry_add(report);
    size_t length;

    report->open = finding->more;
    if (!entry)
        return;
    entry->level = (enum report_level)finding->level;
    entry->fault.class = (enum fault_class)finding->class;
    (void)text_copy(entry->fault.code, sizeof entry->fault.code, finding->code);
    (void)text_copy(entry->fault.dependency, sizeof entry->fault.dependency, finding->dependency);
    (void)text_copy(entry->fault.cause, sizeof entry->fault.cause, finding->cause);
    length = strlen(entry->fault.message);
    (void)text_copy(entry->fault.message + length, sizeof entry->fault.message - length, finding->part);
}

void report_take(struct report *report, const struct message *message)
{
    struct report_fact *fact;

    if (message->type == MESSAGE_FINDING) {
        take_finding(report, &message->body.finding);
    } else if (message->type == MESSAGE_FACT && report->fact_count < REPORT_FACTS) {
        fact = &report->facts[report->fact_count++];
        (void)text_copy(fact->name, sizeof fact->name, message->body.fact.name);
        (void)text_copy(fact->value, sizeof fact->value, message->body.fact.value);
        text_make_line(fact->value);
    } else if (message->type == MESSAGE_VERDICT) {
        report->complete = message->body.verdict.problems == report_problems(report);
    }
}

void report_add_fault(struct report *report, enum report_level level, const struct fault *fault)
{
    struct report_entry *entry = entry_add(report);

    if (entry)
        *entry = (struct report_entry){.level = level, .fault = *fault};
}

void report_add_findings(struct report *report, const struct findings *findings)
{
    size_t index;

    for (index = 0; index < findings_count(findings); index++) {
        const struct finding *finding = findings_at(findings, index);
        bool warning = finding->kind == FINDING_WARNING;
        struct fault fault = {.class = FAULT_NONE};

        (void)fault_set(&fault, finding->kind == FINDING_USAGE ? FAULT_INVALID : FAULT_CONFIGURATION,
                        finding->code, "%s%s%s", finding->where, finding->where[0] ? ": " : "",
                        finding->message);
        report_add_fault(report, warning ? REPORT_WARNING : REPORT_PROBLEM, &fault);
    }
}

const char *report_fact(const struct report *report, const char *name)
{
    size_t index;

    for (index = 0; index < report->fact_count; index++) {
        if (text_equal(report->facts[index].name, name))
            return report->facts[index].value;
    }
    return "";
}

static int gravity(const struct fault *fault)
{
    switch (fault->class) {
    case FAULT_INVALID:
        return 3;
    case FAULT_CONFIGURATION:
        return 2;
    case FAULT_UNAVAILABLE:
    case FAULT_RETRYABLE:
        return 1;
    default:
        return 0;
    }
}

const struct fault *report_problem(const struct report *report)
{
    const struct fault *gravest = NULL;
    size_t index;

    for (index = 0; index < report->entry_count; index++) {
        const struct report_entry *entry = &report->entries[index];

        if (entry->level == REPORT_PROBLEM && (!gravest || gravity(&entry->fault) > gravity(gravest)))
            gravest = &entry->fault;
    }
    return gravest;
}

size_t report_problems(const struct report *report)
{
    size_t count = 0, index;

    for (index = 0; index < report->entry_count; index++)
        count += report->entries[index].level == REPORT_PROBLEM;
    return count;
}

int report_exit_status(const struct report *report)
{
    const struct fault *problem = report_problem(report);

    if (problem) {
        /* At a start there is no later try that this process would make: a dependency is unavailable. */
        if (problem->class == FAULT_RETRYABLE || problem->class == FAULT_PENDING)
            return 69;
        return fault_exit_status(problem);
    }
    return report->complete ? 0 : EXIT_BUG;
}

static void print_entries(const struct report *report, enum report_level level, const char *title,
                          FILE *stream)
{
    bool titled = false;
    size_t index;

    for (index = 0; index < report->entry_count; index++) {
        const struct report_entry *entry = &report->entries[index];

        if (entry->level != level)
            continue;
        if (!titled)
            (void)fprintf(stream, "%s\n", title);
        titled = true;
        (void)fprintf(stream, "  %s  %s\n", entry->fault.code, entry->fault.message);
    }
}

void report_print(const struct report *report, FILE *stream)
{
    size_t problems = report_problems(report), index;

    if (report->fact_count)
        (void)fprintf(stream, "Facts\n");
    for (index = 0; index < report->fact_count; index++) {
        if (report->facts[index].value[0])
            (void)fprintf(stream, "  %-27s %s\n", report->facts[index].name, report->facts[index].value);
    }
    print_entries(report, REPORT_WARNING, "Warnings", stream);
    print_entries(report, REPORT_PROBLEM, "Problems", stream);
    if (problems)
        (void)fprintf(stream, "Result: %zu problem%s, the worker would not start.\n", problems,
                      problems == 1 ? "" : "s");
    else if (report->complete)
        (void)fprintf(stream, "Result: the worker can start.\n");
    else
        (void)fprintf(stream, "Result: the verification did not end.\n");
}

static void json_entries(const struct report *report, enum report_level level, cJSON *array)
{
    size_t index;

    for (index = 0; index < report->entry_count; index++) {
        const struct report_entry *entry = &report->entries[index];
        cJSON *object;

        if (entry->level != level)
            continue;
        object = json_append_object(array);
        json_add_text(object, "code", entry->fault.code);
        json_add_text(object, "message", entry->fault.message);
        if (entry->fault.dependency[0])
            json_add_text(object, "dependency", entry->fault.dependency);
        if (entry->fault.cause[0])
            json_add_text(object, "cause", entry->fault.cause);
    }
}

void report_print_json(const struct report *report, FILE *stream)
{
    void *scratch = talloc_new(report);
    cJSON *top = json_new_object(scratch), *data = json_add_object(top, "data"), *facts;
    size_t index;

    json_add_boolean(data, "ok", report_exit_status(report) == 0);
    json_add_number(data, "exitStatus", report_exit_status(report));
    facts = json_add_object(data, "facts");
    for (index = 0; index < report->fact_count; index++)
        json_add_text(facts, report->facts[index].name, report->facts[index].value);
    json_entries(report, REPORT_PROBLEM, json_add_array(data, "problems"));
    json_entries(report, REPORT_WARNING, json_add_array(data, "warnings"));
    (void)fprintf(stream, "%s\n", json_write_indented(scratch, top));
    talloc_free(scratch);
}
