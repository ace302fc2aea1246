/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/answer.h"

#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SAY(array, text) (void)text_copy((array), sizeof(array), (text))

static void codes(void **state)
{
    static const char *const bad[] = {"", "a", "Example", "EXAMPLE-1", "1A", "_A", "A B", "A\n"};
    char longest[FAULT_CODE_SIZE + 1];
    size_t index;

    (void)state;
    assert_true(answer_code_is_good("A"));
    assert_true(answer_code_is_good("EXAMPLE_API_404"));
    assert_false(answer_code_is_good(NULL));
    for (index = 0; index < COUNT_OF(bad); index++)
        assert_false(answer_code_is_good(bad[index]));
    memset(longest, 'A', sizeof longest);
    longest[FAULT_CODE_SIZE] = '\0';
    assert_false(answer_code_is_good(longest));
    longest[FAULT_CODE_SIZE - 1] = '\0';
    assert_true(answer_code_is_good(longest));
}

static void texts_are_ended_and_made_one_line(void **state)
{
    struct occ_answer answer = {.size = sizeof answer};
    struct compute_observation seen;
    char problem[ANSWER_PROBLEM_SIZE];
    struct fault fault;

    (void)state;
    memset(answer.namespace_id, 'n', sizeof answer.namespace_id);
    memset(answer.message, 'm', sizeof answer.message);
    memcpy(answer.message, "a\nb\x01\xff", 5);
    memset(answer.dependency, 'd', sizeof answer.dependency);
    memset(answer.cause, 'c', sizeof answer.cause);
    SAY(answer.code, "EXAMPLE");
    answer.retry_after_ms = UINT32_MAX;
    assert_true(answer_check(OCC_PENDING, &answer, problem));
    answer_observe(&answer, &seen);
    assert_int_equal(strlen(seen.namespace_id), IDENTIFIER_SIZE - 1);
    assert_false(answer_fault(OCC_PENDING, &answer, &fault));
    assert_int_equal(fault.class, FAULT_PENDING);
    assert_int_equal(fault.retry_after_ms, 30000);
    assert_memory_equal(fault.message, "a b ?mm", 7);
    assert_int_equal(strlen(fault.message), FAULT_MESSAGE_SIZE - 1);
    assert_int_equal(strlen(fault.dependency), sizeof fault.dependency - 1);
    assert_int_equal(strlen(fault.cause), sizeof fault.cause - 1);
}

static void results_become_classes(void **state)
{
    static const struct {
        enum occ_result result;
        enum fault_class class;
    } classes[] = {
        {OCC_PENDING, FAULT_PENDING}, {OCC_RETRYABLE, FAULT_RETRYABLE}, {OCC_PERMANENT, FAULT_PERMANENT}};
    struct occ_answer answer = {.size = sizeof answer};
    char problem[ANSWER_PROBLEM_SIZE];
    struct fault fault;
    size_t index;

    (void)state;
    SAY(answer.code, "EXAMPLE");
    for (index = 0; index < COUNT_OF(classes); index++) {
        assert_true(answer_check(classes[index].result, &answer, problem));
        assert_false(answer_fault(classes[index].result, &answer, &fault));
        assert_int_equal(fault.class, classes[index].class);
        /* One without words has its code. */
        assert_string_equal(fault.message, "EXAMPLE");
    }
}

static void expect_problem(enum occ_result result, struct occ_answer *answer, const char *expected)
{
    char problem[ANSWER_PROBLEM_SIZE] = "";

    assert_false(answer_check(result, answer, problem));
    assert_string_equal(problem, expected);
}

static void what_breaks_the_interface(void **state)
{
    struct occ_answer answer = {.size = sizeof answer};

    (void)state;
    expect_problem((enum occ_result)77, &answer, "a result that there is not");
    expect_problem((enum occ_result) - 1, &answer, "a result that there is not");
    expect_problem(OCC_CANCELLED, &answer, "\"cancelled\", which nobody had said");
    expect_problem(OCC_PENDING, &answer, "no code");
    SAY(answer.code, "so\nso");
    expect_problem(OCC_RETRYABLE, &answer, "a code that is none (\"so so\")");
    answer = (struct occ_answer){.warning_count = OCC_WARNINGS + 1};
    expect_problem(OCC_READY, &answer, "more warnings than there is room for");
    answer = (struct occ_answer){.warning_count = 1};
    expect_problem(OCC_READY, &answer, "a warning whose code is none");
    answer = (struct occ_answer){.warning_count = 0};
    SAY(answer.failure.component, "gateway");
    expect_problem(OCC_READY, &answer, "a failure whose code is none");
    SAY(answer.failure.code, "CRASH_LOOP");
    answer.failure.checked_at_ms = -1;
    expect_problem(OCC_READY, &answer, "a failure whose time is none");
}

static void what_was_seen(void **state)
{
    struct occ_answer answer = {.warning_count = OCC_WARNINGS};
    struct compute_observation seen;
    char problem[ANSWER_PROBLEM_SIZE];
    size_t index;

    (void)state;
    SAY(answer.namespace_id, "ns_1");
    SAY(answer.agent_id, "agt_1");
    SAY(answer.revision_id, "rev_1");
    for (index = 0; index < OCC_WARNINGS; index++) {
        SAY(answer.warnings[index].code, "OLD");
        SAY(answer.warnings[index].message, "old\n");
    }
    SAY(answer.failure.component, "gateway");
    SAY(answer.failure.check, "probe");
    SAY(answer.failure.code, "CRASH_LOOP");
    answer.failure.checked_at_ms = 5;
    assert_true(answer_check(OCC_READY, &answer, problem));
    answer_observe(&answer, &seen);
    assert_string_equal(seen.namespace_id, "ns_1");
    assert_string_equal(seen.agent_id, "agt_1");
    assert_string_equal(seen.revision_id, "rev_1");
    assert_int_equal(seen.warnings, COMPUTE_WARNINGS);
    assert_string_equal(seen.warning[3].code, "OLD");
    assert_string_equal(seen.warning[3].message, "old");
    assert_string_equal(seen.failure.component, "gateway");
    assert_string_equal(seen.failure.check, "probe");
    assert_string_equal(seen.failure.code, "CRASH_LOOP");
    assert_int_equal(seen.failure.checked_at_ms, 5);
}

/* An answer of a Driver that knows fewer members is not written beyond its end. */
static void faults_become_answers(void **state)
{
    struct {
        struct occ_answer answer;
        char behind;
    } room;
    const size_t known = offsetof(struct occ_answer, message);
    struct fault fault;

    (void)state;
    memset(&room, 0x55, sizeof room);
    room.answer.size = (uint32_t)known;
    (void)fault_set(&fault, FAULT_RETRYABLE, "EXAMPLE", "it is away");
    (void)fault_depends(&fault, "example", "timeout");
    assert_int_equal(answer_of_fault(&fault, &room.answer), OCC_RETRYABLE);
    assert_int_equal(room.answer.size, known);
    assert_string_equal(room.answer.code, "EXAMPLE");
    assert_int_equal(room.answer.message[0], 0x55);
    room.answer.size = sizeof room.answer;
    assert_int_equal(answer_of_fault(&fault, &room.answer), OCC_RETRYABLE);
    assert_string_equal(room.answer.message, "it is away");
    assert_string_equal(room.answer.dependency, "example");
    assert_string_equal(room.answer.cause, "timeout");
    assert_int_equal(room.behind, 0x55);
    fault.class = FAULT_PENDING;
    assert_int_equal(answer_of_fault(&fault, NULL), OCC_PENDING);
    fault.class = FAULT_CONFIGURATION;
    assert_int_equal(answer_of_fault(&fault, NULL), OCC_PERMANENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes),
        cmocka_unit_test(texts_are_ended_and_made_one_line),
        cmocka_unit_test(results_become_classes),
        cmocka_unit_test(what_breaks_the_interface),
        cmocka_unit_test(what_was_seen),
        cmocka_unit_test(faults_become_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
