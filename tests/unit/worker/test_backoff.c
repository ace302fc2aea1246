/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* K51 */
static void the_delay_doubles_up_to_its_most(void **state)
{
    static const int64_t delays[] = {100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000};
    struct backoff backoff = backoff_for_children();
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(delays); index++) {
        assert_false(index < 9 && backoff_is_exhausted(&backoff));
        assert_int_equal(backoff_failed(&backoff, 5), delays[index]);
    }
    assert_true(backoff_is_exhausted(&backoff));
}

/* K51: a child that lives a little longer than the check does not start the delays again. */
static void only_a_healthy_minute_starts_again(void **state)
{
    struct backoff backoff = backoff_for_children();

    (void)state;
    assert_int_equal(backoff_failed(&backoff, 0), 100);
    assert_int_equal(backoff_failed(&backoff, 1100), 200);
    assert_int_equal(backoff_failed(&backoff, 59999), 400);
    assert_int_equal(backoff_failed(&backoff, 60000), 100);
    assert_int_equal(backoff_failed(&backoff, 0), 200);
    backoff_reset(&backoff);
    assert_int_equal(backoff_failed(&backoff, 0), 100);
}

/* A path that comes and goes must not be given up for seconds as a dead one is. */
static void what_worked_briefly_is_tried_again_soon(void **state)
{
    struct backoff backoff = backoff_for_database();
    int index;

    (void)state;
    for (index = 0; index < 10; index++)
        (void)backoff_failed(&backoff, 0);
    assert_int_equal(backoff_failed(&backoff, 0), 5000);
    backoff_worked(&backoff);
    assert_int_equal(backoff_failed(&backoff, 300), 400);
    /* And doubles as before when that was the last time. */
    assert_int_equal(backoff_failed(&backoff, 0), 800);
    /* Nothing is forgiven that is shorter already. */
    backoff_reset(&backoff);
    backoff_worked(&backoff);
    assert_int_equal(backoff_failed(&backoff, 300), 100);
}

static void the_rate_gives_a_burst_and_then_one_an_interval(void **state)
{
    struct rate rate = {.burst = 3, .interval_ms = 250};
    int64_t now_ms = 1000;
    int index;

    (void)state;
    for (index = 0; index < 3; index++)
        assert_true(rate_take(&rate, now_ms));
    assert_false(rate_take(&rate, now_ms));
    assert_int_equal(rate_next_ms(&rate, now_ms), 1250);
    assert_false(rate_take(&rate, 1249));
    assert_true(rate_take(&rate, 1250));
    assert_false(rate_take(&rate, 1499));
    assert_int_equal(rate_next_ms(&rate, 1499), 1500);
    assert_int_equal(rate_next_ms(&rate, 1700), 1700);
    /* Never more than the burst, however long nothing was taken. */
    for (index = 0; index < 3; index++)
        assert_true(rate_take(&rate, 1000000));
    assert_false(rate_take(&rate, 1000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_delay_doubles_up_to_its_most),
        cmocka_unit_test(only_a_healthy_minute_starts_again),
        cmocka_unit_test(what_worked_briefly_is_tried_again_soon),
        cmocka_unit_test(the_rate_gives_a_burst_and_then_one_an_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
