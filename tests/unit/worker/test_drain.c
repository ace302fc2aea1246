/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/drain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define T0 50000

static void nothing_under_way_ends_at_once(void **state)
{
    struct drain drain = {.phase = DRAIN_NONE};
    struct drain_view view = {.reconcilers = 4, .others = 1, .connected = true};

    (void)state;
    assert_false(drain_advance(&drain, &view, T0));
    drain_begin(&drain, 30000, T0);
    assert_false(drain_advance(&drain, &view, T0));
    assert_int_equal(drain.phase, DRAIN_FINISH);
    view.reconcilers = 0;
    assert_true(drain_advance(&drain, &view, T0 + 5));
    assert_int_equal(drain.phase, DRAIN_LEAVE);
    view.others = 0;
    assert_true(drain_advance(&drain, &view, T0 + 6));
    assert_int_equal(drain.phase, DRAIN_DONE);
}

/* K58: each step has an end, whatever the children do. */
static void a_pass_that_never_ends_is_cut(void **state)
{
    struct drain drain = {.phase = DRAIN_NONE};
    struct drain_view view = {.reconcilers = 1, .others = 1, .connected = true};

    (void)state;
    drain_begin(&drain, 30000, T0);
    assert_false(drain_advance(&drain, &view, T0 + 29999));
    assert_true(drain_advance(&drain, &view, T0 + 30000));
    assert_int_equal(drain.phase, DRAIN_ABORT);
    assert_false(drain_advance(&drain, &view, T0 + 30000 + DRAIN_ABORT_MS - 1));
    assert_true(drain_advance(&drain, &view, T0 + 30000 + DRAIN_ABORT_MS));
    assert_int_equal(drain.phase, DRAIN_KILL);
    view.reconcilers = 0;
    view.deaths = true;
    assert_true(drain_advance(&drain, &view, T0 + 36000));
    assert_int_equal(drain.phase, DRAIN_HAND);
    assert_false(drain_advance(&drain, &view, T0 + 36000 + DRAIN_HAND_MS - 1));
    assert_true(drain_advance(&drain, &view, T0 + 36000 + DRAIN_HAND_MS));
    assert_int_equal(drain.phase, DRAIN_LEAVE);
    assert_true(drain_advance(&drain, &view, T0 + 40000));
    assert_int_equal(drain.phase, DRAIN_LAST);
    view.others = 0;
    assert_true(drain_advance(&drain, &view, T0 + 40001));
    assert_int_equal(drain.phase, DRAIN_DONE);
}

/* K59: with the database down there is nothing to wait for. */
static void claims_are_not_waited_for_without_a_database(void **state)
{
    struct drain drain = {.phase = DRAIN_NONE};
    const struct drain_view view = {.reconcilers = 0, .others = 1, .deaths = true, .connected = false};

    (void)state;
    drain_begin(&drain, 30000, T0);
    assert_true(drain_advance(&drain, &view, T0));
    assert_int_equal(drain.phase, DRAIN_LEAVE);
}

static void the_dead_are_handed_back_first(void **state)
{
    struct drain drain = {.phase = DRAIN_NONE};
    struct drain_view view = {.reconcilers = 0, .others = 1, .deaths = true, .connected = true};

    (void)state;
    drain_begin(&drain, 30000, T0);
    assert_true(drain_advance(&drain, &view, T0));
    assert_int_equal(drain.phase, DRAIN_HAND);
    view.deaths = false;
    assert_true(drain_advance(&drain, &view, T0 + 1));
    assert_int_equal(drain.phase, DRAIN_LEAVE);
}

static void a_second_signal_hurries(void **state)
{
    struct drain drain = {.phase = DRAIN_NONE};
    const struct drain_view view = {.reconcilers = 1, .others = 1, .connected = true};

    (void)state;
    drain_hurry(&drain, T0);
    assert_int_equal(drain.phase, DRAIN_NONE);
    drain_begin(&drain, 30000, T0);
    drain_hurry(&drain, T0 + 100);
    assert_true(drain_advance(&drain, &view, T0 + 100));
    assert_int_equal(drain.phase, DRAIN_ABORT);
    drain_hurry(&drain, T0 + 200);
    assert_true(drain_advance(&drain, &view, T0 + 200));
    assert_int_equal(drain.phase, DRAIN_KILL);
    drain_hurry(&drain, T0 + 300);
    assert_false(drain_advance(&drain, &view, T0 + 300));
}

static void without_children_it_is_done(void **state)
{
    struct drain drain = {.phase = DRAIN_NONE};
    const struct drain_view view = {.reconcilers = 0};

    (void)state;
    drain_begin(&drain, 30000, T0);
    assert_true(drain_advance(&drain, &view, T0));
    assert_int_equal(drain.phase, DRAIN_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_under_way_ends_at_once),
        cmocka_unit_test(a_pass_that_never_ends_is_cut),
        cmocka_unit_test(claims_are_not_waited_for_without_a_database),
        cmocka_unit_test(the_dead_are_handed_back_first),
        cmocka_unit_test(a_second_signal_hurries),
        cmocka_unit_test(without_children_it_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
