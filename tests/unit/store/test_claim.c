/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "lib/base/text.h"
#include "lib/store/claim.h"

static struct claim found_at(int64_t due_us, int64_t search_us)
{
    struct claim claim = {.position = {.due_us = due_us}, .search_us = search_us};

    text_copy(claim.position.key, sizeof claim.position.key, "key");
    return claim;
}

/* While looking from the beginning is cheap it is always done, and its word is final. */
static void test_cheap_queue_is_searched_from_the_beginning(void **state)
{
    struct claim_search search = {0};
    struct claim claim = found_at(100, 300);

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_null(claim_search_start(&search, i * 1000));
        assert_true(claim_search_end(&search, &claim, i * 1000 + 400));
    }
    assert_null(claim_search_start(&search, 9000));
    assert_true(claim_search_end(&search, NULL, 9100));
}

/* K33: once it is expensive, the search starts at the last row for twenty times as long as it took. */
static void test_expensive_queue_is_searched_from_the_last_row(void **state)
{
    struct claim_search search = {0};
    struct claim first = found_at(100, 50000);
    struct claim second = found_at(200, 80);
    const struct claim_position *from;

    (void)state;
    assert_null(claim_search_start(&search, 0));
    assert_true(claim_search_end(&search, &first, 50000));
    from = claim_search_start(&search, 60000);
    assert_non_null(from);
    assert_int_equal(from->due_us, 100);
    assert_true(claim_search_end(&search, &second, 60100));
    from = claim_search_start(&search, 60200);
    assert_non_null(from);
    assert_int_equal(from->due_us, 200);
    assert_true(claim_search_end(&search, &second, 60300));
    assert_null(claim_search_start(&search, 50000 + 20 * 50000));
}

/* "Nothing" from the last row on says nothing about what comes before it. */
static void test_nothing_is_final_only_from_the_beginning(void **state)
{
    struct claim_search search = {0};
    struct claim claim = found_at(100, 50000);

    (void)state;
    assert_null(claim_search_start(&search, 0));
    assert_true(claim_search_end(&search, &claim, 50000));
    assert_non_null(claim_search_start(&search, 50001));
    assert_false(claim_search_end(&search, NULL, 50100));
    assert_null(claim_search_start(&search, 50200));
    assert_true(claim_search_end(&search, NULL, 90000));
    assert_int_equal(search.whole_cost_us, 90000 - 50200);
}

static void test_kinds_have_their_names(void **state)
{
    (void)state;
    assert_string_equal(work_kind_name(WORK_NAMESPACE_ENSURE), "namespace_ensure");
    assert_string_equal(work_kind_name(WORK_AGENT_REVISION), "agent_revision");
    assert_string_equal(work_kind_operation(WORK_NAMESPACE_DELETE), "namespace.delete");
    assert_string_equal(work_kind_operation(WORK_AGENT_STOP), "agent.stop");
    assert_string_equal(work_kind_operation(WORK_AGENT_DELETE), "agent.delete");
    assert_string_equal(work_kind_operation(WORK_AGENT_REVISION), "agent_revision.reconcile");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cheap_queue_is_searched_from_the_beginning),
        cmocka_unit_test(test_expensive_queue_is_searched_from_the_last_row),
        cmocka_unit_test(test_nothing_is_final_only_from_the_beginning),
        cmocka_unit_test(test_kinds_have_their_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
