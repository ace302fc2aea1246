/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/rhythm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define T0 1000

static const struct survey nothing = {.next_due_ms = -1, .next_expiry_ms = -1};

static void a_new_connection_looks_at_everything(void **state)
{
    struct rhythm rhythm;

    (void)state;
    rhythm_begin(&rhythm, 250, T0);
    assert_int_equal(rhythm.survey_due_ms, T0);
    assert_int_equal(rhythm.health_due_ms, T0);
    assert_true(rhythm.recovery_due);
}

static void the_poll_is_the_base(void **state)
{
    struct rhythm rhythm;
    struct survey survey = nothing;

    (void)state;
    rhythm_begin(&rhythm, 250, T0);
    rhythm.recovery_due = false;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm.survey_due_ms, T0 + 250);
    assert_false(rhythm.recovery_due);
    survey.next_due_ms = 3000;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm.survey_due_ms, T0 + 250);
    survey.next_due_ms = 40;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm.survey_due_ms, T0 + 41);
    survey.next_expiry_ms = 20;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm.survey_due_ms, T0 + 21);
}

/* K25: what is due and stays there is no reason to spin. */
static void what_is_due_now_waits_for_the_poll(void **state)
{
    struct rhythm rhythm;
    struct survey survey = nothing;

    (void)state;
    rhythm_begin(&rhythm, 250, T0);
    rhythm.recovery_due = false;
    survey.next_due_ms = 0;
    survey.next_expiry_ms = 0;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm.survey_due_ms, T0 + 250);
    assert_true(rhythm.recovery_due);
}

static void recovery_is_due_only_when_the_survey_says_so(void **state)
{
    struct rhythm rhythm;
    struct survey survey = nothing;

    (void)state;
    rhythm_begin(&rhythm, 250, T0);
    rhythm.recovery_due = false;
    survey.next_expiry_ms = 4000;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_false(rhythm.recovery_due);
    survey.exhausted = true;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_true(rhythm.recovery_due);
}

static void health_joins_every_five_seconds(void **state)
{
    struct rhythm rhythm;
    struct survey survey = nothing;

    (void)state;
    rhythm_begin(&rhythm, 250, T0);
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm.health_due_ms, T0);
    survey.counted = true;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm.health_due_ms, T0 + RHYTHM_HEALTH_MS);
}

static void a_second_look_comes_soon_but_never_late(void **state)
{
    struct rhythm rhythm;
    struct survey survey = nothing;

    (void)state;
    rhythm_begin(&rhythm, 250, T0);
    rhythm_surveyed(&rhythm, &survey, T0);
    rhythm_follow(&rhythm, T0);
    assert_int_equal(rhythm.survey_due_ms, T0 + RHYTHM_FOLLOW_MS);
    rhythm_follow(&rhythm, T0 + 3);
    assert_int_equal(rhythm.survey_due_ms, T0 + RHYTHM_FOLLOW_MS);
}

/* K22: who polls each minute still hears within seconds that the session was replaced. */
static void a_long_poll_delays_neither_health_nor_the_session(void **state)
{
    struct rhythm rhythm;
    struct survey survey = nothing;

    (void)state;
    rhythm_begin(&rhythm, 60000, T0);
    rhythm.listening = true;
    survey.counted = true;
    rhythm_surveyed(&rhythm, &survey, T0);
    assert_int_equal(rhythm_due_ms(&rhythm), T0 + RHYTHM_HEALTH_MS);
    assert_false(rhythm_surveys(&rhythm, T0 + RHYTHM_HEALTH_MS - 1));
    assert_true(rhythm_surveys(&rhythm, T0 + RHYTHM_HEALTH_MS));
    assert_false(rhythm_checks(&rhythm, T0 + RHYTHM_HEALTH_MS));
    rhythm_surveyed(&rhythm, &survey, T0 + RHYTHM_HEALTH_MS);
    /* The check does not put the poll off, as it does not stand in for it. */
    assert_true(rhythm_checks(&rhythm, T0 + RHYTHM_SESSION_MS));
    rhythm_checked(&rhythm, T0 + RHYTHM_SESSION_MS);
    assert_false(rhythm_checks(&rhythm, T0 + RHYTHM_SESSION_MS));
    assert_int_equal(rhythm.survey_due_ms, T0 + RHYTHM_HEALTH_MS + 60000);
    rhythm.listening = false;
    assert_false(rhythm_checks(&rhythm, T0 + 60000));
}

/* One statement a poll interval, whatever it is for. */
static void with_short_polls_all_of_it_has_the_polls_turns(void **state)
{
    struct rhythm rhythm;
    struct survey survey = nothing;
    int64_t now_ms = T0;
    int statements = 0, checks = 0, counts = 0;

    (void)state;
    rhythm_begin(&rhythm, 250, T0);
    rhythm.listening = true;
    for (; now_ms < T0 + 60000; now_ms = rhythm_due_ms(&rhythm)) {
        bool check = rhythm_checks(&rhythm, now_ms);

        assert_true(check || rhythm_surveys(&rhythm, now_ms));
        statements++;
        checks += check;
        survey.counted = !check && rhythm.health_due_ms <= now_ms;
        counts += survey.counted;
        if (check)
            rhythm_checked(&rhythm, now_ms);
        else
            rhythm_surveyed(&rhythm, &survey, now_ms);
    }
    assert_int_equal(statements, 60000 / 250);
    assert_int_equal(counts, 60000 / RHYTHM_HEALTH_MS);
    assert_true(checks == 5 || checks == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_connection_looks_at_everything),
        cmocka_unit_test(the_poll_is_the_base),
        cmocka_unit_test(what_is_due_now_waits_for_the_poll),
        cmocka_unit_test(recovery_is_due_only_when_the_survey_says_so),
        cmocka_unit_test(health_joins_every_five_seconds),
        cmocka_unit_test(a_long_poll_delays_neither_health_nor_the_session),
        cmocka_unit_test(with_short_polls_all_of_it_has_the_polls_turns),
        cmocka_unit_test(a_second_look_comes_soon_but_never_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
