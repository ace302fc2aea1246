/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void copies_cut_at_a_character(void **state)
{
    char target[6];

    (void)state;
    assert_true(text_copy(target, sizeof target, "abcde"));
    assert_string_equal(target, "abcde");
    assert_false(text_copy(target, sizeof target, "abcd\xc3\xa9"));
    assert_string_equal(target, "abcd");
    assert_true(text_copy(target, sizeof target, NULL));
    assert_string_equal(target, "");
}

static void lines_lose_what_is_not_text(void **state)
{
    char line[] = "a\nb\tc\xff"
                  "d\xc2\x85"
                  "e \r\n";
    char half[] = "abc\xe2\x82";

    (void)state;
    text_make_line(line);
    assert_string_equal(line, "a b c?d  e");
    text_make_line(half);
    assert_string_equal(half, "abc");
}

/* K122: only plain positive decimal integers, never octal, signed, fractional or with spaces. */
static void numbers_are_plain(void **state)
{
    static const char *const refused[] = {"",
                                          "010",
                                          "00",
                                          "-1",
                                          "+1",
                                          " 1",
                                          "1 ",
                                          "1.5",
                                          "1e3",
                                          "0x10",
                                          "18446744073709551616",
                                          "99999999999999999999999"};
    uint64_t number = 7;
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(refused); index++)
        assert_false(text_to_number(refused[index], UINT64_MAX, &number));
    assert_int_equal(number, 7);
    assert_true(text_to_number("0", 10, &number));
    assert_int_equal(number, 0);
    assert_true(text_to_number("18446744073709551615", UINT64_MAX, &number));
    assert_true(number == UINT64_MAX);
    assert_false(text_to_number("11", 10, &number));
}

static void printable_is_checked_utf8(void **state)
{
    (void)state;
    assert_true(text_is_printable("caf\xc3\xa9 \xf0\x9f\x90\xb3"));
    assert_false(text_is_printable("a\x7f"));
    assert_false(text_is_printable("a\x1b[0m"));
    assert_false(text_is_printable("\xc2\x9b"));     /* C1 control */
    assert_false(text_is_printable("\xc0\xaf"));     /* overlong */
    assert_false(text_is_printable("\xed\xa0\x80")); /* surrogate */
    assert_int_equal(text_characters("caf\xc3\xa9"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_cut_at_a_character),
        cmocka_unit_test(lines_lose_what_is_not_text),
        cmocka_unit_test(numbers_are_plain),
        cmocka_unit_test(printable_is_checked_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
