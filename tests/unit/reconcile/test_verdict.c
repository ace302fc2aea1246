/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/reconcile/pass.h"

static void *memory;

static int begin(void **state)
{
    (void)state;
    memory = talloc_new(NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    talloc_free(memory);
    return 0;
}

static struct verdict of(enum fault_class class, const char *code)
{
    struct fault fault = {0};

    (void)fault_set(&fault, class, code, "a test");
    return verdict_of_fault(&(struct pass){.memory = memory}, &fault);
}

static void test_faults_become_outcomes(void **state)
{
    (void)state;
    assert_int_equal(of(FAULT_PENDING, "X_WAIT").kind, OUTCOME_DEFER);
    assert_int_equal(of(FAULT_RETRYABLE, "X_FAILED").kind, OUTCOME_RETRY);
    assert_int_equal(of(FAULT_PERMANENT, "X_FAILED").kind, OUTCOME_FAIL);
    assert_int_equal(of(FAULT_CANCELLED, "WORKER_DRAINING").kind, OUTCOME_HAND_BACK);
    assert_true(of(FAULT_CLAIM_LOST, "CLAIM_LOST").lost);
    assert_false(of(FAULT_PERMANENT, "X_FAILED").lost);
    assert_string_equal(of(FAULT_PENDING, "X_WAIT").code, "X_WAIT");
}

/* Without it nobody learns which container keeps a network. */
static void test_the_message_is_evidence(void **state)
{
    struct fault fault = {0};

    (void)state;
    (void)fault_set(&fault, FAULT_PENDING, "X_IN_USE", "%s", "\"somebodys\" is attached");
    assert_string_equal(verdict_of_fault(&(struct pass){.memory = memory}, &fault).evidence,
                        "{\"message\":\"\\\"somebodys\\\" is attached\"}");
}

/* What a Driver should not say ends with the attempts, and not at once. */
static void test_other_faults_are_tried_again(void **state)
{
    (void)state;
    assert_int_equal(of(FAULT_BUG, "X_BUG").kind, OUTCOME_RETRY);
    assert_int_equal(of(FAULT_UNAVAILABLE, "X_AWAY").kind, OUTCOME_RETRY);
    assert_int_equal(of(FAULT_CONFIGURATION, "X_SETTING").kind, OUTCOME_RETRY);
}

static void test_only_codes_are_stored(void **state)
{
    static const char *const bad[] = {"", "lower", "1X", "_X", "WITH SPACE", "X-Y", "X;DROP"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_string_equal(of(FAULT_PERMANENT, bad[i]).code, "INVALID_DRIVER_OBSERVATION");
    assert_string_equal(of(FAULT_PERMANENT, "X_2").code, "X_2");
}

/* IAM that cannot be read is a failure of the dependency, with the database's part in it told. */
static void test_database_faults_are_the_dependency_s(void **state)
{
    struct fault fault = {0};
    struct verdict verdict;

    (void)state;
    (void)fault_set(&fault, FAULT_CONFIGURATION, "DATABASE_PERMISSION_DENIED", "a test");
    (void)fault_depends(&fault, "postgresql", "unavailable");
    verdict = verdict_of_fault(&(struct pass){.memory = memory}, &fault);
    assert_int_equal(verdict.kind, OUTCOME_RETRY);
    assert_string_equal(verdict.code, "DEPENDENCY_UNAVAILABLE");
    assert_string_equal(verdict.dependency, "postgresql");
    assert_string_equal(verdict.cause, "unavailable");
}

static void test_denials_tell_what_was_asked(void **state)
{
    struct pass pass = {.memory = talloc_new(NULL)};
    struct iam_question question = {"somebody", "delete", "namespace", NULL, NULL};
    struct iam_decision decision = {.verdict = IAM_RESTRICTED, .driver_id = IAM_NATIVE};
    struct verdict verdict;

    (void)state;
    (void)text_copy(decision.restriction_id, sizeof decision.restriction_id, "a \"restriction\"");
    verdict = verdict_of_denial(&pass, &question, &decision);
    assert_int_equal(verdict.kind, OUTCOME_FAIL);
    assert_true(verdict.denied);
    assert_string_equal(verdict.code, "AUTHORIZATION_DENIED");
    assert_string_equal(verdict.evidence,
                        "{\"decision\":{\"driver\":\"native-iam\",\"permission\":\"namespace:delete\","
                        "\"verdict\":\"restricted\",\"restrictionId\":\"a \\\"restriction\\\"\"}}");
    decision.verdict = IAM_ACTOR_GONE;
    assert_string_equal(verdict_of_denial(&pass, &question, &decision).code, "ACTOR_REVOKED");
    talloc_free((void *)pass.memory);
}

static void test_outcomes_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(pass_outcome_name(PASS_SUCCESS), "success");
    assert_string_equal(pass_outcome_name(PASS_HANDED_BACK), "pending");
    assert_string_equal(pass_outcome_name(PASS_CLAIM_LOST), "claim_lost");
    assert_string_equal(pass_outcome_name(PASS_ERROR), "error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_become_outcomes),
        cmocka_unit_test(test_the_message_is_evidence),
        cmocka_unit_test(test_other_faults_are_tried_again),
        cmocka_unit_test(test_only_codes_are_stored),
        cmocka_unit_test(test_database_faults_are_the_dependency_s),
        cmocka_unit_test(test_denials_tell_what_was_asked),
        cmocka_unit_test(test_outcomes_have_their_names),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
