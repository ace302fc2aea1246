/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void moments_are_shown_in_utc(void **state)
{
    static const struct {
        int64_t moment_ms;
        const char *text;
    } shown[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {1769903999123, "2026-01-31T23:59:59.123Z"},
        {951782400001, "2000-02-29T00:00:00.001Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    char text[CLOCK_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        clock_text_of(shown[i].moment_ms, text);
        assert_string_equal(text, shown[i].text);
    }
}

/* What a Driver tells may be anything. */
static void moments_that_do_not_fit_become_the_nearest(void **state)
{
    char text[CLOCK_TEXT_SIZE];

    (void)state;
    clock_text_of(-1, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_text_of(INT64_MIN, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000Z");
    clock_text_of(253402300800000, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
    clock_text_of(INT64_MAX, text);
    assert_string_equal(text, "9999-12-31T23:59:59.999Z");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_shown_in_utc),
        cmocka_unit_test(moments_that_do_not_fit_become_the_nearest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
