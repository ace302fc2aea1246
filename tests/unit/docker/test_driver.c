/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/driver.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* K112: refused at admission, whatever the method, and with no Engine anywhere. */
static void test_no_harness_authenticates(void **state)
{
    static const char *const ways[] = {
        "{\"method\":\"api_key\",\"source\":{\"kind\":\"secret\",\"namespaceId\":\"ns\",\"id\":\"sec\"}}",
        "{\"method\":\"codex_pat\",\"source\":{\"kind\":\"secret\",\"namespaceId\":\"ns\",\"id\":\"sec\"}}",
        "{\"method\":\"chatgpt_service_account\",\"serviceAccountId\":\"sa\"}",
    };
    void *memory = talloc_new(NULL);
    const struct driver_call call = {.memory = memory, .installation_id = "ins"};
    const struct compute_driver *driver;
    struct fault fault;
    size_t index;

    (void)state;
    assert_true(docker_open_compute(memory, "/nonexistent/docker.sock", &driver, &fault));
    assert_false(compute_runs_agents(driver));
    for (index = 0; index < COUNT_OF(ways); index++) {
        const struct subject_harness harness = {.id = "openclaw", .mode = "embedded", .auth = ways[index]};

        fault = (struct fault){0};
        assert_false(driver->operations->validate_harness_auth(driver->self, &call, &harness, &fault));
        assert_int_equal(fault.class, FAULT_PERMANENT);
        assert_string_equal(fault.code, "HARNESS_AUTH_UNSUPPORTED");
        assert_non_null(strstr(fault.message, "select compute-kubernetes"));
    }
    talloc_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_harness_authenticates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
