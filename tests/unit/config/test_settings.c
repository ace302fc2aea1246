/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/settings.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/option_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct option_table *const tables[] = {&settings_general, &settings_database,  &settings_worker,
                                                    &settings_metrics, &settings_bootstrap, NULL};
static const struct option_table *const ctl_tables[] = {&settings_general, &settings_database, &settings_ctl,
                                                        &settings_ctl_namespace, NULL};

static void each_default_fits_its_own_rule(void **state)
{
    const struct option_table *const *table;
    void *context = talloc_new(NULL);

    (void)state;
    for (table = tables; *table; table++) {
        size_t index;

        for (index = 0; index < (*table)->count; index++) {
            const struct option *option = &(*table)->options[index];

            if (option->fallback)
                assert_null(option_expects(context, option, option->fallback));
            assert_non_null(option->help);
            assert_true(option->value || option->type == OPTION_SECRET);
        }
    }
    talloc_free(context);
}

/* K68: the URLs are the only secrets, and none of them is a flag. */
static void no_secret_is_a_flag(void **state)
{
    const struct option_table *const *table;

    (void)state;
    for (table = tables; *table; table++) {
        size_t index;

        for (index = 0; index < (*table)->count; index++) {
            const struct option *option = &(*table)->options[index];

            if (option->type == OPTION_SECRET)
                assert_null(option->flag);
            else
                assert_non_null(option->flag);
        }
    }
}

static struct options *read_as(void *context, unsigned program, const struct option_table *const *used,
                               const char **argv, struct findings *findings)
{
    const struct option_request request = {
        .program = "test", .program_bit = program, .tables = used, .summary = "Tests.", .manual = "test(1)"};
    struct options *options;
    int argc = 0;

    while (argv[argc])
        argc++;
    assert_int_equal(
        options_read(context, &request, argc, (char *const *)(uintptr_t)argv, findings, &options),
        OPTIONS_READ);
    return options;
}

static void the_mode_is_exactly_one_of_two(void **state)
{
    static const char *const refused[] = {"", "Production", "prod", "test", "production "};
    void *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    struct options *options;
    enum settings_mode mode;
    size_t index;

    (void)state;
    (void)unsetenv("NODE_ENV");
    options = read_as(context, PROGRAM_WORKER, tables, (const char *[]){"test", NULL}, findings);
    assert_false(settings_mode_read(options, findings, &mode));
    assert_int_equal(findings_count(findings), 1);
    assert_non_null(strstr(findings_at(findings, 0)->message, "Worker mode is rejected"));
    for (index = 0; index < COUNT_OF(refused); index++) {
        findings = findings_new(context);
        (void)setenv("NODE_ENV", refused[index], 1);
        options = read_as(context, PROGRAM_WORKER, tables, (const char *[]){"test", NULL}, findings);
        assert_false(settings_mode_read(options, findings, &mode));
        assert_int_equal(findings_count(findings), 1);
        assert_non_null(strstr(findings_at(findings, 0)->message, "Worker mode is rejected"));
        assert_int_equal(findings_exit_status(findings), 78);
    }
    findings = findings_new(context);
    options = read_as(context, PROGRAM_WORKER, tables, (const char *[]){"test", "--mode", "production", NULL},
                      findings);
    assert_true(settings_mode_read(options, findings, &mode));
    assert_int_equal(mode, MODE_PRODUCTION);
    assert_int_equal(findings_count(findings), 0);
    (void)settings_config_path(options, findings, MODE_DEVELOPMENT);
    assert_int_equal(findings_count(findings), 0);
    (void)settings_config_path(options, findings, mode);
    assert_string_equal(findings_at(findings, 0)->code, "CONFIG_PATH_REQUIRED");
    (void)unsetenv("NODE_ENV");
    talloc_free(context);
}

static void docker_is_reached_over_a_unix_socket_only(void **state)
{
    static const char *const refused[] = {"tcp://127.0.0.1:2375", "unix://run/docker.sock", "unix:///",
                                          "/var/run/docker.sock", "ssh://host"};
    void *context = talloc_new(NULL);
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(refused); index++) {
        struct findings *findings = findings_new(context);

        (void)setenv("DOCKER_HOST", refused[index], 1);
        (void)read_as(context, PROGRAM_WORKER, tables, (const char *[]){"test", NULL}, findings);
        assert_int_equal(findings_count(findings), 1);
        assert_string_equal(findings_at(findings, 0)->where, "DOCKER_HOST");
    }
    (void)unsetenv("DOCKER_HOST");
    talloc_free(context);
}

/* What other programs use is not looked at, be it as wrong as it likes. */
static void a_program_has_its_own_settings_only(void **state)
{
    void *context = talloc_new(NULL);
    struct findings *findings = findings_new(context);
    struct options *options;

    (void)state;
    (void)setenv("OCC_NAMESPACE", "acme", 1);
    (void)setenv("OCC_MIGRATION_DATABASE_URL", "", 1);
    options = read_as(context, PROGRAM_CTL, ctl_tables, (const char *[]){"test", NULL}, findings);
    assert_string_equal(options_text(options, "namespace"), "acme");
    assert_int_equal(findings_count(findings), 0);
    (void)read_as(context, PROGRAM_CTL, ctl_tables, (const char *[]){"test", "--database-timeout-ms=1", NULL},
                  findings);
    assert_int_equal(findings_exit_status(findings), 2);
    (void)unsetenv("OCC_NAMESPACE");
    (void)unsetenv("OCC_MIGRATION_DATABASE_URL");
    talloc_free(context);
}

/* K67, K68: neither the environment nor what the kernel shows of it keeps a URL. */
static void secrets_are_wiped_from_the_environment(void **state)
{
    char *value;

    (void)state;
    (void)setenv("OCC_DATABASE_URL", "postgresql://u:hunter2@h/d", 1);
    value = getenv("OCC_DATABASE_URL");
    settings_forget_secrets();
    assert_null(getenv("OCC_DATABASE_URL"));
    assert_int_equal(value[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_default_fits_its_own_rule),
        cmocka_unit_test(no_secret_is_a_flag),
        cmocka_unit_test(the_mode_is_exactly_one_of_two),
        cmocka_unit_test(docker_is_reached_over_a_unix_socket_only),
        cmocka_unit_test(a_program_has_its_own_settings_only),
        cmocka_unit_test(secrets_are_wiped_from_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
