/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/catalog/catalog.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct catalog_settings development = {.docker_socket_path = "/run/docker.sock",
                                                    .configuration_root = "/nowhere"};
static const struct catalog_settings production = {.docker_socket_path = "/run/docker.sock",
                                                   .production = true};

static void refused(bool opened, const struct fault *fault, const char *code, const char *message)
{
    assert_false(opened);
    assert_int_equal(fault->class, FAULT_CONFIGURATION);
    assert_string_equal(fault->code, code);
    assert_string_equal(fault->message, message);
}

static void what_is_selected_is_opened(void **state)
{
    void *context = talloc_new(NULL);
    const struct startup startup = {.compute = {.id = "compute-docker-development"},
                                    .iam = {.id = CATALOG_NATIVE_IAM},
                                    .configuration = {.id = "config-filesystem"}};
    const struct catalog_settings worker = {.docker_socket_path = "/run/docker.sock"};
    const struct driver_call call = {.memory = context};
    const struct configuration_driver *configuration;
    const struct compute_driver *compute;
    const struct authority *authority;
    struct fault fault;

    (void)state;
    assert_true(catalog_open_compute(context, &development, &startup, NULL, &call, &compute, &fault));
    assert_string_equal(compute->id, "compute-docker-development");
    assert_true(catalog_open_configuration(context, &development, &startup, &call, &configuration, &fault));
    assert_string_equal(configuration->id, "config-filesystem");
    /* Its root is no setting of a worker. */
    assert_true(catalog_open_configuration(context, &worker, &startup, &call, &configuration, &fault));
    assert_null(configuration);
    assert_true(catalog_open_authority(context, &development, &startup, &call, &authority, &fault));
    assert_null(authority);
    talloc_free(context);
}

static void what_is_not_selected_is_nothing(void **state)
{
    void *context = talloc_new(NULL);
    const struct startup startup = {.iam = {.id = CATALOG_NATIVE_IAM}};
    const struct driver_call call = {.memory = context};
    const struct configuration_driver *configuration;
    const struct sandbox_driver *sandbox;
    const struct secret_driver *secret;
    struct fault fault;

    (void)state;
    assert_true(catalog_open_secret(context, &development, &startup, &call, &secret, &fault));
    assert_null(secret);
    assert_true(catalog_open_configuration(context, &development, &startup, &call, &configuration, &fault));
    assert_null(configuration);
    assert_true(catalog_open_sandbox(context, &development, &startup, &call, &sandbox, &fault));
    assert_null(sandbox);
    talloc_free(context);
}

static void what_is_not_there_is_named_with_what_is(void **state)
{
    void *context = talloc_new(NULL);
    const struct startup startup = {.compute = {.id = "compute-other"},
                                    .secret = {.id = "secret-other"},
                                    .iam = {.id = "iam-other"},
                                    .sandbox = {.id = "sandbox-other"}};
    const struct driver_call call = {.memory = context};
    const struct compute_driver *compute;
    const struct sandbox_driver *sandbox;
    const struct secret_driver *secret;
    const struct authority *authority;
    struct fault fault;

    (void)state;
    assert_false(catalog_open_compute(context, &development, &startup, NULL, &call, &compute, &fault));
    assert_string_equal(fault.code, "COMPUTE_DRIVER_UNAVAILABLE");
    assert_non_null(strstr(fault.message,
                           "drivers.compute.id: the Compute Driver compute-other is not part of "
                           "this build; available: "));
    assert_non_null(strstr(fault.message, "compute-docker-development"));
    assert_false(catalog_open_secret(context, &development, &startup, &call, &secret, &fault));
    assert_string_equal(fault.code, "SECRET_DRIVER_UNAVAILABLE");
    refused(catalog_open_authority(context, &development, &startup, &call, &authority, &fault), &fault,
            "IAM_DRIVER_UNAVAILABLE",
            "drivers.iam.id: the IAM Driver iam-other is not part of this build; available: native-iam");
    refused(
        catalog_open_sandbox(context, &development, &startup, &call, &sandbox, &fault), &fault,
        "SANDBOX_DRIVER_UNAVAILABLE",
        "drivers.sandbox.id: the Sandbox Driver sandbox-other is not part of this build; available: none");
    talloc_free(context);
}

static void production_has_no_development_driver(void **state)
{
    void *context = talloc_new(NULL);
    const struct startup startup = {.compute = {.id = "compute-docker-development"}};
    const struct driver_call call = {.memory = context};
    const struct compute_driver *compute;
    struct fault fault;

    (void)state;
    refused(catalog_open_compute(context, &production, &startup, NULL, &call, &compute, &fault), &fault,
            "COMPUTE_DRIVER_REFUSED",
            "drivers.compute.id: the Compute Driver compute-docker-development is for development only and "
            "cannot be selected in production");
    talloc_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_selected_is_opened),
        cmocka_unit_test(what_is_not_selected_is_nothing),
        cmocka_unit_test(what_is_not_there_is_named_with_what_is),
        cmocka_unit_test(production_has_no_development_driver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
