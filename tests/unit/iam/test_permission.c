/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/iam/permission.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_every_permission_is_read_back(void **state)
{
    const struct iam_permission *found;
    struct fault fault;
    char text[64];
    size_t index;

    (void)state;
    assert_int_equal(iam_permissions_count, 26);
    for (index = 0; index < iam_permissions_count; index++) {
        (void)snprintf(text, sizeof text, "%s:%s", iam_permissions[index].resource_kind,
                       iam_permissions[index].action);
        assert_true(iam_permission_parse(text, &found, &fault));
        assert_ptr_equal(found, &iam_permissions[index]);
        assert_true(iam_is_resource_kind(found->resource_kind));
    }
}

static void test_what_is_no_permission(void **state)
{
    static const char *const wrong[] = {"",
                                        ":",
                                        "namespace",
                                        "namespace:",
                                        "namespace:fly",
                                        ":read",
                                        "pod:read",
                                        "namespace:read:",
                                        "namespace:read ",
                                        "Namespace:read",
                                        "agent:secret",
                                        "a_kind_whose_name_is_much_longer_than_any_that_there_is:read"};
    const struct iam_permission *found;
    struct fault fault;
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(wrong); index++) {
        assert_false(iam_permission_parse(wrong[index], &found, &fault));
        assert_int_equal(fault.class, FAULT_INVALID);
        assert_string_equal(fault.code, "PERMISSION_UNKNOWN");
    }
    assert_false(iam_permission_parse("namespace:fly", &found, &fault));
    assert_non_null(strstr(fault.message, "create, read, delete"));
    assert_false(iam_permission_parse("pod:read", &found, &fault));
    assert_non_null(strstr(fault.message, "agent_revision"));
}

static void test_resources(void **state)
{
    static const char good[] = "agent_revision:rev_11111111-1111-4111-8111-111111111111";
    static const char *const wrong[] = {"",
                                        "namespace",
                                        "namespace:",
                                        "namespace:acme",
                                        "agent:ns_11111111-1111-4111-8111-111111111111",
                                        "namespace:ns_11111111-1111-4111-8111-11111111111",
                                        "namespace:ns_11111111-1111-4111-8111-111111111111x",
                                        "namespac:ns_11111111-1111-4111-8111-111111111111",
                                        "pod:ns_11111111-1111-4111-8111-111111111111"};
    const char *kind, *id;
    struct fault fault;
    size_t index;

    (void)state;
    assert_true(iam_resource_parse(good, &kind, &id, &fault));
    assert_string_equal(kind, "agent_revision");
    assert_ptr_equal(id, good + 15);
    for (index = 0; index < COUNT_OF(wrong); index++) {
        assert_false(iam_resource_parse(wrong[index], &kind, &id, &fault));
        assert_string_equal(fault.code, "RESOURCE_INVALID");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_permission_is_read_back),
        cmocka_unit_test(test_what_is_no_permission),
        cmocka_unit_test(test_resources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
