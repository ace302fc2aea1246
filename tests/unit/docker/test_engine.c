/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/engine.h"
#include "lib/docker/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void versions_are_read_strictly(void **state)
{
    static const char *const bad[] = {"",     "1",     "1.",    ".41", "1.41.0", "v1.41",
                                      "1.-1", "01.41", "1.041", "0.9", "x.y"};
    int minor = 7;
    size_t index;

    (void)state;
    assert_true(docker_api_from_text("1.41", &minor));
    assert_int_equal(minor, 41);
    assert_true(docker_api_from_text("1.9", &minor));
    assert_int_equal(minor, 9);
    assert_true(docker_api_from_text("2.0", &minor));
    assert_true(minor > DOCKER_API_NEWEST);
    minor = 7;
    for (index = 0; index < COUNT_OF(bad); index++) {
        if (docker_api_from_text(bad[index], &minor))
            fail_msg("\"%s\" was taken as a version", bad[index]);
        assert_int_equal(minor, 7);
    }
}

static void check_order(const char *one, const char *other, int order)
{
    const struct docker_network first = {.id = "a", .created = one};
    const struct docker_network second = {.id = "b", .created = other};
    const int found = docker_network_compare(&first, &second);
    const int mirrored = docker_network_compare(&second, &first);

    assert_int_equal((found > 0) - (found < 0), order);
    assert_int_equal((mirrored > 0) - (mirrored < 0), -order);
}

/* K71: everybody who converges must choose the same network. */
static void networks_are_ordered_by_age_then_by_id(void **state)
{
    (void)state;
    check_order("2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z", -1);
    check_order("2024-01-01T00:00:00.9Z", "2024-01-01T00:00:00.13Z", 1);
    check_order("2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.13Z", -1);
    check_order("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000001Z", -1);
    check_order("2024-01-01T00:00:00+02:00", "2024-01-01T00:00:00.5+02:00", -1);
    /* The same moment: the ID decides. */
    check_order("2024-01-01T00:00:00.10Z", "2024-01-01T00:00:00.1Z", -1);
    check_order("", "", -1);
    check_order("", "2024-01-01T00:00:00Z", -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_read_strictly),
        cmocka_unit_test(networks_are_ordered_by_age_then_by_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
