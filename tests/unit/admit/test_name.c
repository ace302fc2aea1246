/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static bool good(const char *name)
{
    struct fault fault = {0};
    bool fine = name_check("The name", name, &fault);

    if (!fine) {
        assert_int_equal(fault.class, FAULT_INVALID);
        assert_string_equal(fault.code, "NAME_INVALID");
        assert_int_equal(strncmp(fault.message, "The name must ", 14), 0);
    }
    return fine;
}

static void test_lengths(void **state)
{
    char text[4 * 201 + 1];
    size_t index;

    (void)state;
    assert_false(good(NULL));
    assert_false(good(""));
    assert_true(good("a"));
    memset(text, 'x', sizeof text);
    text[200] = '\0';
    assert_true(good(text));
    memset(text, 'x', sizeof text);
    text[201] = '\0';
    assert_false(good(text));
    /* Characters count, not bytes. */
    for (index = 0; index < 201; index++)
        memcpy(text + 4 * index, "\xf0\x9f\xa6\x8a", 4);
    text[4 * 200] = '\0';
    assert_true(good(text));
    text[4 * 200] = '\xf0';
    text[4 * 201] = '\0';
    assert_false(good(text));
}

static void test_characters(void **state)
{
    (void)state;
    assert_true(good("a b"));
    assert_true(good("\xc3\xa9"));
    assert_false(good("a\nb"));
    assert_false(good("a\x7f"));
    assert_false(good("a\xc2\x85"));
    assert_false(good("\xff"));
    assert_false(good("a\xc3"));
}

static void test_white_space_at_the_ends(void **state)
{
    static const char *const spaces[] = {" ",
                                         "\xc2\xa0",
                                         "\xe1\x9a\x80",
                                         "\xe2\x80\x80",
                                         "\xe2\x80\x8a",
                                         "\xe2\x80\xa8",
                                         "\xe2\x80\xaf",
                                         "\xe2\x81\x9f",
                                         "\xe3\x80\x80",
                                         "\xef\xbb\xbf"};
    char text[16];
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(spaces); index++) {
        (void)snprintf(text, sizeof text, "%sa", spaces[index]);
        assert_false(good(text));
        (void)snprintf(text, sizeof text, "a%s", spaces[index]);
        assert_false(good(text));
        (void)snprintf(text, sizeof text, "a%sa", spaces[index]);
        assert_true(good(text));
        assert_false(good(spaces[index]));
    }
    /* A zero-width space is none. */
    assert_true(good("\xe2\x80\x8b"));
}

static void test_labels(void **state)
{
    static const char longest[] = "a23456789012345678901234567890123456789012345678901234567890123";
    struct fault fault;

    (void)state;
    assert_int_equal(strlen(longest), 63);
    assert_true(name_check_label("It", longest, &fault));
    assert_true(name_check_label("It", "0", &fault));
    assert_true(name_check_label("It", "a-b", &fault));
    assert_false(name_check_label("It", "", &fault));
    assert_false(name_check_label("It", "-a", &fault));
    assert_false(name_check_label("It", "a-", &fault));
    assert_false(name_check_label("It", "A", &fault));
    assert_false(name_check_label("It", "a.b", &fault));
    assert_false(
        name_check_label("It", "a234567890123456789012345678901234567890123456789012345678901234", &fault));
    assert_int_equal(fault.class, FAULT_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_white_space_at_the_ends),
        cmocka_unit_test(test_labels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
