/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/deaths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct deaths deaths;

static void deaths_are_kept_until_they_are_dealt_with(void **state)
{
    (void)state;
    deaths.count = 0;
    deaths_add(&deaths, &(struct message_release){"one", "WORKER_CRASHED", ""}, 10, 5);
    deaths_add(&deaths, &(struct message_release){"two", "WORKER_HUNG", ""}, 11, -1);
    assert_string_equal(deaths_unsent(&deaths)->release.token, "one");
    deaths_unsent(&deaths)->sent = true;
    deaths_unsent(&deaths)->sent = true;
    assert_null(deaths_unsent(&deaths));
    /* A new dispatcher hears of all of them. */
    deaths_rewind(&deaths);
    assert_string_equal(deaths_unsent(&deaths)->release.token, "one");
    assert_int_equal(deaths_find(&deaths, "one")->duration_ms, 5);
    deaths_remove(&deaths, "one");
    deaths_remove(&deaths, "never seen");
    assert_null(deaths_find(&deaths, "one"));
    assert_string_equal(deaths_unsent(&deaths)->release.token, "two");
    deaths_remove(&deaths, "two");
    assert_int_equal(deaths.count, 0);
}

static void beyond_the_most_the_oldest_is_forgotten(void **state)
{
    struct message_release release = {.code = "WORKER_CRASHED"};
    unsigned index;

    (void)state;
    deaths.count = 0;
    for (index = 0; index < DEATHS_MOST + 3; index++) {
        (void)snprintf(release.token, sizeof release.token, "t%u", index);
        deaths_add(&deaths, &release, 0, 0);
    }
    assert_int_equal(deaths.count, DEATHS_MOST);
    assert_null(deaths_find(&deaths, "t2"));
    assert_non_null(deaths_find(&deaths, "t3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deaths_are_kept_until_they_are_dealt_with),
        cmocka_unit_test(beyond_the_most_the_oldest_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
