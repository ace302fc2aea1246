/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/driver/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void check(const char *id, const char *expected)
{
    char name[DRIVER_NAME_SIZE];

    memset(name, 'x', sizeof name);
    driver_name(name, id);
    assert_string_equal(name, expected);
}

/* The hashes are those of sha256sum(1). */
static void an_identifier_gives_slug_and_hash(void **state)
{
    (void)state;
    check("ns_0b9c2f4e-7a31-4d58-9c1e-5f2a6b7c8d90", "oce-ns-0b9c2f4e-7a31-4d58-9c1e-5f2a6-ba329e1a208d");
    check("abc", "oce-abc-ba7816bf8f01");
}

static void the_slug_has_only_safe_characters(void **state)
{
    (void)state;
    check("NS_Ab", "oce-ns-ab-d8f274339e77");
    check("__a..b//c__", "oce-a-b-c-eee7ba0877a9");
    check("\xc3\xa9t\xc3\xa9", "oce-t-bd010c64132b");
    /* Nothing is left for a slug. */
    check("___", "oce-bda251550bf0");
    check("", "oce-e3b0c44298fc");
}

static void the_slug_is_cut_and_has_no_dash_at_its_end(void **state)
{
    (void)state;
    check("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "oce-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-22c1d24bcd03");
    check("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_bbbb", "oce-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-70f19374abd6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_identifier_gives_slug_and_hash),
        cmocka_unit_test(the_slug_has_only_safe_characters),
        cmocka_unit_test(the_slug_is_cut_and_has_no_dash_at_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
