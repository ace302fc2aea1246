/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/driver/registry.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int opened;

static bool validate(const struct compute_settings *settings, struct fault *fault)
{
    if (settings->docker_socket_path != NULL)
        return true;
    return fault_set(fault, FAULT_CONFIGURATION, "SETTING_MISSING", "a path is missing");
}

static bool open_one(const void *context, const struct compute_settings *settings,
                     const struct compute_driver **driver, struct fault *fault)
{
    struct compute_driver *made = mem_new(context, struct compute_driver);

    (void)settings;
    (void)fault;
    opened++;
    made->id = "compute-one";
    *driver = made;
    return true;
}

static const struct compute_entry entries[] = {
    {.id = "compute-one",
     .implementation = "one",
     .development_only = true,
     .validate = validate,
     .open = open_one},
    {.id = "compute-two", .implementation = "two", .validate = validate, .open = open_one},
};
static const struct compute_registry registry = {entries, COUNT_OF(entries)};
static const struct compute_registry empty = {NULL, 0};
static const struct compute_settings development = {.docker_socket_path = "/x"};
static const struct compute_settings production = {.docker_socket_path = "/x", .production = true};

static void the_selected_driver_is_opened(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const struct compute_selection selection = {.id = "compute-one"};
    const struct compute_driver *driver = NULL;
    struct fault fault;

    (void)state;
    opened = 0;
    assert_true(registry_open_compute(context, &registry, &selection, &development, &driver, &fault));
    assert_int_equal(opened, 1);
    assert_string_equal(driver->id, "compute-one");
    talloc_free(context);
}

static void refused(const struct compute_registry *with, const struct compute_selection *selection,
                    const struct compute_settings *settings, const char *code, const char *part)
{
    const struct compute_driver *driver = NULL;
    struct fault fault;

    opened = 0;
    assert_false(registry_open_compute(NULL, with, selection, settings, &driver, &fault));
    assert_null(driver);
    assert_int_equal(opened, 0);
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, code);
    if (strstr(fault.message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.message, part);
}

static void what_is_not_there_is_named_with_what_is(void **state)
{
    const struct compute_selection kubernetes = {.id = "compute-kubernetes"};
    const struct compute_selection none = {0};
    const struct compute_selection package = {.id = "compute-one", .package = "acme-compute"};

    (void)state;
    refused(&registry, &kubernetes, &development, "COMPUTE_DRIVER_UNAVAILABLE",
            "compute-kubernetes is not part of this build; available: compute-one, compute-two");
    refused(&registry, &none, &development, "COMPUTE_DRIVER_UNAVAILABLE", "(none selected)");
    refused(&registry, &package, &development, "COMPUTE_DRIVER_UNAVAILABLE", "acme-compute");
    refused(&empty, &kubernetes, &development, "COMPUTE_DRIVER_UNAVAILABLE", "available: none");
}

static void modes_and_settings_are_checked_before_it_is_opened(void **state)
{
    const struct compute_selection one = {.id = "compute-one"};
    const struct compute_selection two = {.id = "compute-two"};
    const struct compute_settings nothing = {0};
    const struct compute_entry *entry = NULL;
    struct fault fault;

    (void)state;
    refused(&registry, &one, &production, "COMPUTE_DRIVER_REFUSED", "development only");
    refused(&registry, &two, &nothing, "SETTING_MISSING", "a path is missing");
    assert_true(registry_select_compute(&registry, &two, &production, &entry, &fault));
    assert_string_equal(entry->implementation, "two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_selected_driver_is_opened),
        cmocka_unit_test(what_is_not_there_is_named_with_what_is),
        cmocka_unit_test(modes_and_settings_are_checked_before_it_is_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
