/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/finding.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void kinds_decide_the_exit_status(void **state)
{
    void *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    struct fault fault;

    (void)state;
    assert_int_equal(findings_exit_status(findings), 0);
    assert_true(findings_check(findings, &fault));
    findings_add(findings, FINDING_WARNING, NULL, "NOTED", "look at %s", "this");
    assert_int_equal(findings_exit_status(findings), 0);
    assert_true(findings_check(findings, &fault));
    findings_add(findings, FINDING_PROBLEM, "OCC_X", "BAD", "must be\ngood");
    assert_int_equal(findings_exit_status(findings), 78);
    assert_false(findings_check(findings, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, "BAD");
    assert_string_equal(fault.message, "OCC_X: must be good");
    findings_add(findings, FINDING_USAGE, "--x", "USAGE", "needs a value");
    assert_int_equal(findings_exit_status(findings), 2);
    assert_false(findings_check(findings, &fault));
    assert_int_equal(fault.class, FAULT_INVALID);
    assert_string_equal(fault.message, "--x: needs a value (and 1 more)");
    assert_int_equal(findings_count(findings), 3);
    assert_int_equal(findings_problems(findings), 2);
    assert_string_equal(findings_at(findings, 0)->where, "");
    assert_string_equal(findings_at(findings, 0)->message, "look at this");
    talloc_free(context);
}

static void a_flood_is_counted_not_kept(void **state)
{
    void *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    struct fault fault;
    int index;

    (void)state;
    for (index = 0; index < 5000; index++)
        findings_add(findings, FINDING_WARNING, NULL, "NOTED", "%d", index);
    for (index = 0; index < 5000; index++)
        findings_add(findings, FINDING_PROBLEM, NULL, "BAD", "%d", index);
    assert_int_equal(findings_count(findings), 1000);
    assert_int_equal(findings_problems(findings), 5000);
    assert_int_equal(findings_exit_status(findings), 78);
    assert_false(findings_check(findings, &fault));
    talloc_free(context);
}

static void faults_become_findings(void **state)
{
    void *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    struct fault fault;

    (void)state;
    (void)fault_set(&fault, FAULT_CONFIGURATION, "FILE", "OCC_Y: /x is missing");
    findings_add_fault(findings, "OCC_Y", &fault);
    (void)fault_set(&fault, FAULT_INVALID, "VALUE", "wrong");
    findings_add_fault(findings, "--y", &fault);
    assert_int_equal(findings_at(findings, 0)->kind, FINDING_PROBLEM);
    assert_string_equal(findings_at(findings, 0)->code, "FILE");
    assert_string_equal(findings_at(findings, 0)->message, "/x is missing");
    assert_int_equal(findings_at(findings, 1)->kind, FINDING_USAGE);
    talloc_free(context);
}

static void people_read_one_line_each(void **state)
{
    void *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    (void)state;
    findings_add(findings, FINDING_PROBLEM, "OCC_X", "BAD", "must be good");
    findings_add(findings, FINDING_WARNING, NULL, "NOTED", "ignored");
    findings_print(findings, stream, "occctl");
    (void)fclose(stream);
    assert_string_equal(text, "occctl: OCC_X: must be good [BAD]\noccctl: warning: ignored [NOTED]\n");
    free(text);
    talloc_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_decide_the_exit_status),
        cmocka_unit_test(a_flood_is_counted_not_kept),
        cmocka_unit_test(faults_become_findings),
        cmocka_unit_test(people_read_one_line_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
