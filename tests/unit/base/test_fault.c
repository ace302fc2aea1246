/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void a_fault_is_told_once_and_whole(void **state)
{
    struct fault fault;

    (void)state;
    memset(&fault, 0x55, sizeof fault);
    assert_false(
        fault_set(&fault, FAULT_RETRYABLE, "DOCKER_ENGINE_UNAVAILABLE", "no answer from %s", "/run/x\n"));
    assert_int_equal(fault.class, FAULT_RETRYABLE);
    assert_string_equal(fault.code, "DOCKER_ENGINE_UNAVAILABLE");
    assert_string_equal(fault.message, "no answer from /run/x");
    assert_string_equal(fault.origin, "");
    assert_string_equal(fault.dependency, "");
    assert_int_equal(fault.retry_after_ms, 0);
    assert_false(fault_depends(&fault, "docker", "timeout"));
    assert_string_equal(fault.dependency, "docker");
    assert_string_equal(fault.cause, "timeout");
    assert_true(fault_is(&fault, "DOCKER_ENGINE_UNAVAILABLE"));
    assert_false(fault_is(&fault, "DOCKER_ENGINE"));
}

static void a_long_message_is_cut_at_a_character(void **state)
{
    char text[2 * FAULT_MESSAGE_SIZE];
    struct fault fault;
    size_t length;

    (void)state;
    memset(text, 'a', sizeof text);
    /* Two bytes across the border: the half of it must not stay. */
    memcpy(text + FAULT_MESSAGE_SIZE - 2, "\xc3\xa9", 2);
    text[sizeof text - 1] = '\0';
    assert_false(fault_set(&fault, FAULT_BUG, "X", "%s", text));
    length = strlen(fault.message);
    assert_int_equal(length, FAULT_MESSAGE_SIZE - 2);
    assert_int_equal(fault.message[length - 1], 'a');
}

static void each_class_has_its_exit_status(void **state)
{
    static const struct {
        enum fault_class class;
        int status;
    } table[] = {
        {FAULT_NONE, 0},       {FAULT_PENDING, 75},    {FAULT_RETRYABLE, 75},     {FAULT_PERMANENT, 1},
        {FAULT_CANCELLED, 75}, {FAULT_CLAIM_LOST, 75}, {FAULT_CONFIGURATION, 78}, {FAULT_UNAVAILABLE, 69},
        {FAULT_INVALID, 2},    {FAULT_DENIED, 1},      {FAULT_NOT_FOUND, 3},      {FAULT_CONFLICT, 4},
        {FAULT_BUG, 70},
    };
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(table); index++) {
        const struct fault fault = {.class = table[index].class};

        assert_int_equal(fault_exit_status(&fault), table[index].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_is_told_once_and_whole),
        cmocka_unit_test(a_long_message_is_cut_at_a_character),
        cmocka_unit_test(each_class_has_its_exit_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
