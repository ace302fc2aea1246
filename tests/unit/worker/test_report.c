/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/report.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void take_part(struct report *report, enum fault_class class, const char *code, const char *part,
                      bool more)
{
    struct message message = message_new(MESSAGE_FINDING);

    message.body.finding.level = REPORT_PROBLEM;
    message.body.finding.class = class;
    message.body.finding.more = more;
    (void)text_copy(message.body.finding.code, FAULT_CODE_SIZE, code);
    (void)text_copy(message.body.finding.part, FINDING_PART_SIZE, part);
    report_take(report, &message);
}

static void take_verdict(struct report *report, uint32_t problems)
{
    struct message message = message_new(MESSAGE_VERDICT);

    message.body.verdict.problems = problems;
    report_take(report, &message);
}

static void parts_become_one_finding(void **state)
{
    struct report *report = report_new(NULL);

    (void)state;
    take_part(report, FAULT_CONFIGURATION, "A", "first ", true);
    take_part(report, FAULT_CONFIGURATION, "A", "second", false);
    take_part(report, FAULT_CONFIGURATION, "B", "other", false);
    assert_int_equal(report_problems(report), 2);
    assert_string_equal(report->entries[0].fault.message, "first second");
    assert_string_equal(report->entries[1].fault.message, "other");
    talloc_free(report);
}

static void the_exit_status_is_the_gravest_problem(void **state)
{
    struct report *report = report_new(NULL);

    (void)state;
    assert_int_equal(report_exit_status(report), 70);
    take_verdict(report, 0);
    assert_int_equal(report_exit_status(report), 0);
    take_part(report, FAULT_UNAVAILABLE, "PERSISTENCE_UNAVAILABLE", "no answer", false);
    assert_int_equal(report_exit_status(report), 69);
    take_part(report, FAULT_CONFIGURATION, "SCHEMA_EMPTY", "empty", false);
    assert_int_equal(report_exit_status(report), 78);
    assert_string_equal(report_problem(report)->code, "SCHEMA_EMPTY");
    talloc_free(report);
    report = report_new(NULL);
    take_part(report, FAULT_RETRYABLE, "DOCKER_ENGINE_UNAVAILABLE", "refused", false);
    assert_int_equal(report_exit_status(report), 69);
    talloc_free(report);
}

/* A verdict that counts other than what arrived is none. */
static void a_verdict_counts(void **state)
{
    struct report *report = report_new(NULL);

    (void)state;
    take_verdict(report, 1);
    assert_false(report->complete);
    assert_int_equal(report_exit_status(report), 70);
    talloc_free(report);
}

static void a_child_cannot_fill_the_memory(void **state)
{
    struct report *report = report_new(NULL);
    struct message message = message_new(MESSAGE_FACT);
    size_t index;

    (void)state;
    for (index = 0; index < 5000; index++) {
        report_take(report, &message);
        take_part(report, FAULT_BUG, "X", "y", index % 2 == 0);
    }
    assert_int_equal(report->fact_count, REPORT_FACTS);
    assert_in_range(report->entry_count, 1, REPORT_ENTRIES);
    talloc_free(report);
}

static void the_report_is_json(void **state)
{
    struct report *report = report_new(NULL);
    struct message fact = message_new(MESSAGE_FACT);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    const cJSON *top;

    (void)state;
    (void)text_copy(fact.body.fact.name, FACT_NAME_SIZE, "mode");
    (void)text_copy(fact.body.fact.value, FACT_VALUE_SIZE, "development");
    report_take(report, &fact);
    take_part(report, FAULT_CONFIGURATION, "SCHEMA_EMPTY", "say \"this\"", false);
    take_verdict(report, 1);
    report_print_json(report, stream);
    (void)fclose(stream);
    top = json_read(report, text, size - 1);
    assert_non_null(top);
    assert_string_equal(json_text(json_object(json_object(top, "data"), "facts"), "mode"), "development");
    assert_int_equal(cJSON_GetArraySize(json_array(json_object(top, "data"), "problems")), 1);
    free(text);
    talloc_free(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_one_finding), cmocka_unit_test(the_exit_status_is_the_gravest_problem),
        cmocka_unit_test(a_verdict_counts),         cmocka_unit_test(a_child_cannot_fill_the_memory),
        cmocka_unit_test(the_report_is_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
