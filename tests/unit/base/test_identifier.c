/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/identifier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void new_identifiers_are_valid_and_differ(void **state)
{
    char one[IDENTIFIER_SIZE], other[IDENTIFIER_SIZE], uuid[UUID_SIZE];
    int round;

    (void)state;
    for (round = 0; round < 1000; round++) {
        identifier_new(one, "ns_");
        identifier_new(other, "ns_");
        assert_true(identifier_is(one, "ns_"));
        assert_string_not_equal(one, other);
        uuid_new(uuid);
        assert_true(identifier_is(uuid, ""));
    }
}

static void wrong_identifiers_are_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "ns_",
        "ns_0f8fad5b-d9cb-469f-a165-70867728950",   /* short */
        "ns_0f8fad5b-d9cb-469f-a165-70867728950ee", /* long */
        "ns_0F8FAD5B-d9cb-469f-a165-70867728950e",  /* upper case */
        "ns_0f8fad5b-d9cb-169f-a165-70867728950e",  /* version 1 */
        "ns_0f8fad5b-d9cb-469f-c165-70867728950e",  /* variant */
        "ns_0f8fad5bxd9cb-469f-a165-70867728950e",  /* no dash */
        "ns_0f8fad5b-d9cb-469f-a165-7086772895-e",  /* a dash too many */
        "agt_0f8fad5b-d9cb-469f-a165-70867728950e", /* another prefix */
    };
    size_t index;

    (void)state;
    assert_false(identifier_is(NULL, "ns_"));
    for (index = 0; index < COUNT_OF(wrong); index++)
        assert_false(identifier_is(wrong[index], "ns_"));
    assert_true(identifier_is("ns_0f8fad5b-d9cb-469f-a165-70867728950e", "ns_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_identifiers_are_valid_and_differ),
        cmocka_unit_test(wrong_identifiers_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
