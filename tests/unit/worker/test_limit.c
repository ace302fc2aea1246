/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* K66 */
static void repeated_events_are_counted(void **state)
{
    struct limit limit = {0};
    unsigned suppressed = 99, index;

    (void)state;
    for (index = 0; index < LIMIT_BURST; index++) {
        assert_true(limit_allows(&limit, "a", 1000, &suppressed));
        assert_int_equal(suppressed, 0);
    }
    for (index = 0; index < 7; index++)
        assert_false(limit_allows(&limit, "a", 1000 + LIMIT_WINDOW_MS - 1, &suppressed));
    assert_true(limit_allows(&limit, "b", 1000, &suppressed));
    assert_true(limit_allows(&limit, "a", 1000 + LIMIT_WINDOW_MS, &suppressed));
    assert_int_equal(suppressed, 7);
    assert_true(limit_allows(&limit, "a", 1001 + LIMIT_WINDOW_MS, &suppressed));
    assert_int_equal(suppressed, 0);
}

static void more_kinds_than_room_forget_the_oldest(void **state)
{
    struct limit limit = {0};
    unsigned suppressed, index;
    char name[16];

    (void)state;
    for (index = 0; index < 3 * LIMIT_KINDS; index++) {
        (void)snprintf(name, sizeof name, "kind %u", index);
        assert_true(limit_allows(&limit, name, 1000 + index, &suppressed));
    }
    for (index = 1; index < LIMIT_BURST; index++)
        assert_true(limit_allows(&limit, name, 2000, &suppressed));
    assert_false(limit_allows(&limit, name, 2000, &suppressed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_events_are_counted),
        cmocka_unit_test(more_kinds_than_room_forget_the_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
