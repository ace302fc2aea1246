/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/deployments.h"

#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct deployments deployments;
static struct deployment_timing timing;

static int forget(void **state)
{
    (void)state;
    memset(&deployments, 0, sizeof deployments);
    return 0;
}

static struct pass_report pass(const char *key, enum pass_outcome outcome, const char *code)
{
    struct pass_report report = {.kind = WORK_AGENT_REVISION, .outcome = outcome, .deployment = 1};

    (void)text_copy(report.key, sizeof report.key, key);
    (void)text_copy(report.code, sizeof report.code, code);
    return report;
}

static void ready_at_once(void **state)
{
    struct pass_report report = pass("one", PASS_SUCCESS, "REVISION_ACTIVATED");

    (void)state;
    report.prepare_ms = 7;
    report.elapsed_ms = 90;
    report.ready_ms = 1000;
    assert_true(deployments_reported(&deployments, &report, 1020, &timing));
    assert_int_equal(timing.passes, 1);
    assert_int_equal(timing.prepare_ms, 7);
    assert_int_equal(timing.readiness_wait_ms, 0);
    assert_int_equal(timing.activation_ms, 20);
    assert_int_equal(timing.elapsed_ms, 90);
    /* It has ended: whoever comes again begins again. */
    assert_true(deployments_reported(&deployments, &report, 1030, &timing));
    assert_int_equal(timing.passes, 1);
}

static void passes_add_up(void **state)
{
    struct pass_report report = pass("one", PASS_PENDING, "REVISION_INCOMPLETE");

    (void)state;
    report.prepare_ms = 5;
    report.unready_ms = 1000;
    assert_true(deployments_reported(&deployments, &report, 1010, &timing));
    assert_int_equal(timing.readiness_wait_ms, 10);
    assert_int_equal(timing.activation_ms, -1);
    /* The first observation is the one that counts. */
    report.unready_ms = 1500;
    assert_true(deployments_reported(&deployments, &report, 1600, &timing));
    assert_int_equal(timing.readiness_wait_ms, 600);
    /* Ready, but not activated yet: the wait for readiness is over. */
    report.unready_ms = 0;
    report.ready_ms = 2000;
    assert_true(deployments_reported(&deployments, &report, 2100, &timing));
    assert_int_equal(timing.readiness_wait_ms, 1000);
    assert_int_equal(timing.activation_ms, -1);
    report = pass("one", PASS_SUCCESS, "REVISION_ACTIVATED");
    report.prepare_ms = 5;
    report.ready_ms = 2500;
    assert_true(deployments_reported(&deployments, &report, 2600, &timing));
    assert_int_equal(timing.passes, 4);
    assert_int_equal(timing.prepare_ms, 20);
    assert_int_equal(timing.readiness_wait_ms, 1000);
    assert_int_equal(timing.activation_ms, 600);
}

static void neither_a_crash_nor_a_lost_claim_loses_what_was(void **state)
{
    struct pass_report report = pass("one", PASS_PENDING, "REVISION_INCOMPLETE");

    (void)state;
    report.prepare_ms = 5;
    report.unready_ms = 1000;
    assert_true(deployments_reported(&deployments, &report, 1010, &timing));
    report = pass("one", PASS_CLAIM_LOST, "CLAIM_LOST");
    report.prepare_ms = 5;
    assert_true(deployments_reported(&deployments, &report, 1020, &timing));
    /* A pass that a child died in is one of ours; to recover its claim is none. */
    deployments_crashed(&deployments, "one");
    report = pass("one", PASS_ERROR, "WORKER_CRASHED");
    assert_true(deployments_recovered(&deployments, &report, 1040, &timing));
    assert_int_equal(timing.passes, 3);
    assert_int_equal(timing.prepare_ms, 10);
    assert_int_equal(timing.readiness_wait_ms, 40);
}

static void a_claim_that_dies_with_its_last_attempt_ends_it(void **state)
{
    struct pass_report report = pass("one", PASS_PERMANENT, "WORKER_CRASHED");

    (void)state;
    deployments_crashed(&deployments, "one");
    report.elapsed_ms = 80;
    assert_true(deployments_recovered(&deployments, &report, 1000, &timing));
    assert_int_equal(timing.passes, 1);
    assert_int_equal(timing.elapsed_ms, 80);
    assert_false(deployments_recovered(&deployments, &report, 1000, &timing));
}

static void what_does_not_activate_has_no_time_of_it(void **state)
{
    struct pass_report report = pass("one", PASS_SUCCESS, "REVISION_SUPERSEDED");

    (void)state;
    report.ready_ms = 1000;
    assert_true(deployments_reported(&deployments, &report, 1010, &timing));
    assert_int_equal(timing.activation_ms, -1);
    /* Found active by a worker that did not see it become ready. */
    report = pass("one", PASS_SUCCESS, "REVISION_ALREADY_ACTIVE");
    assert_true(deployments_reported(&deployments, &report, 1010, &timing));
    assert_int_equal(timing.activation_ms, -1);
}

static void other_work_and_others_passes_have_none(void **state)
{
    struct pass_report report = pass("one", PASS_SUCCESS, "AGENT_STOPPED");

    (void)state;
    report.deployment = 0;
    assert_false(deployments_reported(&deployments, &report, 1000, &timing));
    report = pass("one", PASS_ERROR, "LEASE_EXPIRED");
    assert_false(deployments_recovered(&deployments, &report, 1000, &timing));
}

static void moments_that_cannot_be_are_no_time(void **state)
{
    struct pass_report report = pass("one", PASS_SUCCESS, "REVISION_ACTIVATED");

    (void)state;
    report.unready_ms = 3000;
    report.ready_ms = 2000;
    assert_true(deployments_reported(&deployments, &report, 1000, &timing));
    assert_int_equal(timing.readiness_wait_ms, 0);
    assert_int_equal(timing.activation_ms, 0);
}

static void beyond_the_most_who_was_silent_longest_is_forgotten(void **state)
{
    struct pass_report report;
    char key[16];
    unsigned index;

    (void)state;
    for (index = 0; index < DEPLOYMENTS_MOST; index++) {
        (void)snprintf(key, sizeof key, "k%u", index);
        report = pass(key, PASS_PENDING, "REVISION_INCOMPLETE");
        assert_true(deployments_reported(&deployments, &report, 1000, &timing));
    }
    report = pass("k0", PASS_PENDING, "REVISION_INCOMPLETE");
    assert_true(deployments_reported(&deployments, &report, 1000, &timing));
    report = pass("new", PASS_PENDING, "REVISION_INCOMPLETE");
    assert_true(deployments_reported(&deployments, &report, 1000, &timing));
    report = pass("k0", PASS_PENDING, "REVISION_INCOMPLETE");
    assert_true(deployments_reported(&deployments, &report, 1000, &timing));
    assert_int_equal(timing.passes, 3);
    report = pass("k1", PASS_PENDING, "REVISION_INCOMPLETE");
    assert_true(deployments_reported(&deployments, &report, 1000, &timing));
    assert_int_equal(timing.passes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ready_at_once, forget),
        cmocka_unit_test_setup(passes_add_up, forget),
        cmocka_unit_test_setup(neither_a_crash_nor_a_lost_claim_loses_what_was, forget),
        cmocka_unit_test_setup(a_claim_that_dies_with_its_last_attempt_ends_it, forget),
        cmocka_unit_test_setup(what_does_not_activate_has_no_time_of_it, forget),
        cmocka_unit_test_setup(other_work_and_others_passes_have_none, forget),
        cmocka_unit_test_setup(moments_that_cannot_be_are_no_time, forget),
        cmocka_unit_test_setup(beyond_the_most_who_was_silent_longest_is_forgotten, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
