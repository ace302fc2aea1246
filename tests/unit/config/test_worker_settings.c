/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup.h"
#include "lib/config/worker_settings.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define URL "postgresql://occ_app:hunter2@db.example/occ"

static const struct option_table *const tables[] = {WORKER_SETTINGS_TABLES, NULL};

static void *context;
static struct findings *findings;
static char folder[64];

static int begin(void **state)
{
    static const char *const variables[] = {
        "NODE_ENV",         "OCC_DATABASE_URL",         "OCC_DATABASE_URL_FILE",
        "OCC_CONFIG_PATH",  "OCC_METRICS_ENABLED",      "OCC_METRICS_HOST",
        "OCC_METRICS_PORT", "OCC_WORKER_LIVENESS_PATH", "OCC_WORKER_READINESS_PATH",
        "DOCKER_HOST"};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(variables); index++)
        (void)unsetenv(variables[index]);
    context = talloc_new(NULL);
    (void)snprintf(folder, sizeof folder, "/tmp/occ-settings-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    static const char *const names[] = {"url", "yaml", "metrics"};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(names); index++)
        (void)unlink(mem_format(context, "%s/%s", folder, names[index]));
    (void)rmdir(folder);
    return talloc_free(context);
}

static const char *make_file(const char *name, const char *text, mode_t mode)
{
    const char *path = mem_format(context, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

#define READ(...) read_flags((const char *[]){"occ-worker", __VA_ARGS__ __VA_OPT__(, ) NULL})

static struct worker_settings *read_flags(const char **argv)
{
    const struct option_request request = {.program = "occ-worker",
                                           .program_bit = PROGRAM_WORKER,
                                           .tables = tables,
                                           .summary = "Tests.",
                                           .manual = "occ-worker(8)"};
    struct options *options;
    int argc = 0;

    while (argv[argc])
        argc++;
    findings = findings_new(context);
    assert_int_equal(
        options_read(context, &request, argc, (char *const *)(uintptr_t)argv, findings, &options),
        OPTIONS_READ);
    return worker_settings_read(context, options, findings);
}

static void expect_only(const char *where, const char *code, const char *message)
{
    size_t index;

    if (findings_count(findings) != 1)
        for (index = 0; index < findings_count(findings); index++)
            print_message("%s: %s\n", findings_at(findings, index)->where,
                          findings_at(findings, index)->message);
    assert_int_equal(findings_count(findings), 1);
    assert_string_equal(findings_at(findings, 0)->where, where);
    assert_string_equal(findings_at(findings, 0)->code, code);
    if (!strstr(findings_at(findings, 0)->message, message))
        fail_msg("\"%s\" is not in \"%s\"", message, findings_at(findings, 0)->message);
    assert_null(strstr(findings_at(findings, 0)->message, "hunter2"));
    assert_int_equal(findings_exit_status(findings), 78);
}

static void the_defaults_are_those_of_the_manual(void **state)
{
    const struct worker_settings *settings;

    (void)state;
    (void)setenv("OCC_DATABASE_URL", URL, 1);
    (void)setenv("NODE_ENV", "development", 1);
    settings = READ();
    assert_int_equal(findings_count(findings), 0);
    assert_int_equal(settings->mode, MODE_DEVELOPMENT);
    assert_int_equal(settings->reconcilers, 4);
    assert_int_equal(settings->poll_interval_ms, 250);
    assert_int_equal(settings->lease_duration_ms, 5000);
    assert_int_equal(settings->max_attempts, 5);
    assert_int_equal(settings->convergence_timeout_ms, 900000);
    assert_int_equal(settings->database_timeout_ms, 60000);
    assert_int_equal(settings->drain_timeout_ms, 30000);
    assert_int_equal(settings->start_timeout_ms, 60000);
    assert_int_equal(settings->recycle_passes, 10000);
    assert_int_equal(settings->recycle_age_ms, 86400000);
    assert_string_equal(settings->docker_socket, "/var/run/docker.sock");
    assert_false(settings->metrics_enabled);
    assert_null(settings->config_path);
    assert_string_equal(secret_expose(settings->database.url), URL);
    assert_string_equal(READ("--docker-host=unix:///run/x.sock")->docker_socket, "/run/x.sock");
    assert_int_equal(READ("--lease-duration-ms", "604800000")->lease_duration_ms, 604800000);
    assert_int_equal(findings_count(findings), 0);
    (void)READ("--lease-duration-ms", "604800001");
    assert_int_equal(findings_exit_status(findings), 2);
}

#define CODE "DATABASE_CONFIGURATION_INVALID"

static void exactly_one_database_url_is_given(void **state)
{
    (void)state;
    (void)READ("--mode=development");
    expect_only("OCC_DATABASE_URL", CODE, "A valid PostgreSQL connection URL must be explicitly configured.");
    (void)setenv("OCC_DATABASE_URL", "", 1);
    (void)READ("--mode=development");
    expect_only("OCC_DATABASE_URL", CODE, SETTINGS_URL_MISSING);
    (void)setenv("OCC_DATABASE_URL", "mysql://root:hunter2@host/d", 1);
    (void)READ("--mode=development");
    expect_only("OCC_DATABASE_URL", CODE, SETTINGS_URL_MISSING);
    (void)setenv("OCC_DATABASE_URL", URL, 1);
    (void)READ("--mode=development", "--database-url-file=/etc/url");
    expect_only("--database-url-file", CODE, "must not be given together with OCC_DATABASE_URL");
}

static void metrics_settings_agree(void **state)
{
    (void)state;
    (void)setenv("OCC_DATABASE_URL", URL, 1);
    (void)setenv("NODE_ENV", "development", 1);
    (void)setenv("OCC_METRICS_HOST", "127.0.0.1", 1);
    (void)READ();
    expect_only("OCC_METRICS_HOST", "SETTING_CONFLICT", "must not be given while metrics are disabled");
    (void)unsetenv("OCC_METRICS_HOST");
    (void)READ("--metrics-port=9000", "--metrics-enabled=false");
    expect_only("--metrics-port", "SETTING_CONFLICT", "must not be given while metrics are disabled");
    (void)setenv("OCC_METRICS_DATABASE_URL", "mysql://u:hunter2@h/d", 1);
    (void)READ("--metrics-enabled=true", "--metrics-port=9000");
    expect_only("OCC_METRICS_DATABASE_URL", "DATABASE_CONFIGURATION_INVALID", "its scheme");
    (void)setenv("OCC_METRICS_DATABASE_URL", URL, 1);
    assert_string_equal(
        secret_expose(READ("--metrics-enabled=true", "--metrics-port=9000")->metrics_database.url), URL);
    (void)READ("--metrics-database-url-file=/x");
    expect_only("--metrics-database-url-file", "DATABASE_CONFIGURATION_INVALID",
                "must not be given together");
    settings_forget_secrets();
    assert_null(getenv("OCC_METRICS_DATABASE_URL"));
    (void)setenv("OCC_DATABASE_URL", URL, 1);
    (void)READ("--metrics-enabled=true");
    expect_only("OCC_METRICS_PORT", "SETTING_CONFLICT", "must be given when metrics are enabled");
    (void)READ("--metrics-enabled=true", "--metrics-port=9000", "--metrics-host=10.0.0.1");
    expect_only("--metrics-host", "SETTING_CONFLICT", "must be a loopback address in development");
    assert_string_equal(READ("--metrics-enabled=true", "--metrics-port=9000")->metrics_host, "127.0.0.1");
    assert_int_equal(findings_count(findings), 0);
    assert_string_equal(
        READ("--metrics-enabled=true", "--metrics-port=9000", "--metrics-host=::1")->metrics_host, "::1");
    assert_int_equal(findings_count(findings), 0);
    (void)setenv("OCC_CONFIG_PATH", "/etc/occ.yaml", 1);
    (void)READ("--mode=production", "--metrics-enabled=true", "--metrics-port=9000");
    expect_only("OCC_METRICS_HOST", "SETTING_CONFLICT", "must name an address in production");
    (void)READ("--mode=production", "--metrics-enabled=true", "--metrics-port=9000",
               "--metrics-host=0.0.0.0");
    expect_only("--metrics-host", "SETTING_CONFLICT", "not all addresses");
    (void)READ("--mode=production", "--metrics-enabled=true", "--metrics-port=9000", "--metrics-host=::");
    expect_only("--metrics-host", "SETTING_CONFLICT", "not all addresses");
    (void)READ("--mode=production", "--metrics-enabled=true", "--metrics-port=9000",
               "--metrics-host=10.0.0.1");
    assert_int_equal(findings_count(findings), 0);
}

static void production_needs_the_startup_file(void **state)
{
    (void)state;
    (void)setenv("OCC_DATABASE_URL", URL, 1);
    (void)READ("--mode=production");
    expect_only("OCC_CONFIG_PATH", "CONFIG_PATH_REQUIRED", "must name the startup YAML in production");
    (void)setenv("OCC_CONFIG_PATH", "occ.yaml", 1);
    (void)READ("--mode=production");
    expect_only("OCC_CONFIG_PATH", "SETTING_INVALID", "must be an absolute path");
}

static void the_markers_are_two_files(void **state)
{
    (void)state;
    (void)setenv("OCC_DATABASE_URL", URL, 1);
    (void)READ("--mode=development", "--liveness-path=/run/m", "--readiness-path=/run/m");
    expect_only("--liveness-path", "SETTING_CONFLICT", "must be another file");
}

static void everything_wrong_is_told_at_once(void **state)
{
    (void)state;
    (void)setenv("NODE_ENV", "staging", 1);
    (void)setenv("OCC_CONFIG_PATH", "occ.yaml", 1);
    (void)setenv("OCC_METRICS_PORT", "9.5", 1);
    (void)setenv("DOCKER_HOST", "tcp://10.0.0.1:2375", 1);
    (void)READ();
    assert_int_equal(findings_problems(findings), 6);
    assert_int_equal(findings_exit_status(findings), 78);
}

static void named_files_are_read_when_they_are_loaded(void **state)
{
    const struct worker_settings *settings, *loaded, *again;
    const char *url = make_file("url", URL "\n", 0600);
    const char *yaml = make_file("yaml", "logging: {level: warn}\n", 0644);
    const char *metrics = make_file("metrics", "postgres://occ_metrics@db.example/occ", 0600);

    (void)state;
    settings = READ("--mode=development", "--database-url-file", url, "--config-path", yaml,
                    "--metrics-database-url-file", metrics);
    assert_int_equal(findings_count(findings), 0);
    assert_null(settings->database.url);
    loaded = worker_settings_load(context, settings, findings);
    assert_int_equal(findings_count(findings), 0);
    assert_string_equal(secret_expose(loaded->database.url), URL);
    assert_string_equal(secret_expose(loaded->startup_text), "logging: {level: warn}\n");
    assert_string_equal(secret_expose(loaded->metrics_database.url), "postgres://occ_metrics@db.example/occ");
    assert_int_equal(startup_of_worker(context, loaded, NULL, findings)->log_level, LOG_WARN);
    assert_int_equal(
        startup_of_file(context, yaml, "--config-path", MODE_DEVELOPMENT, NULL, findings)->log_level,
        LOG_WARN);
    /* A reload sees what is there now, and leaves what was read before. */
    (void)make_file("yaml", "logging: {level: debug}\n", 0644);
    again = worker_settings_load(context, loaded, findings);
    assert_string_equal(secret_expose(again->startup_text), "logging: {level: debug}\n");
    assert_string_equal(secret_expose(loaded->startup_text), "logging: {level: warn}\n");
    assert_int_equal(findings_count(findings), 0);
}

static void load(const struct worker_settings *settings)
{
    assert_int_equal(findings_count(findings), 0);
    assert_non_null(worker_settings_load(context, settings, findings));
}

static void files_that_cannot_be_trusted_are_refused(void **state)
{
    const char *url = make_file("url", URL, 0644), *yaml = make_file("yaml", "{}\n", 0666);

    (void)state;
    load(READ("--mode=development", "--database-url-file", url));
    expect_only("--database-url-file", CODE, url);
    (void)make_file("url", "https://hunter2@example/", 0600);
    load(READ("--mode=development", "--database-url-file", url));
    expect_only("--database-url-file", CODE, SETTINGS_URL_MISSING);
    (void)make_file("url", " \n", 0600);
    load(READ("--mode=development", "--database-url-file", url));
    expect_only("--database-url-file", CODE, SETTINGS_URL_MISSING);
    (void)make_file("url", URL, 0600);
    load(READ("--mode=development", "--database-url-file", url, "--config-path", yaml));
    expect_only("--config-path", "STARTUP_FILE_REJECTED", yaml);
    load(READ("--mode=development", "--database-url-file", url, "--config-path=/nowhere.yaml"));
    expect_only("--config-path", "STARTUP_FILE_REJECTED", "/nowhere.yaml");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_defaults_are_those_of_the_manual),
        TEST(exactly_one_database_url_is_given),
        TEST(metrics_settings_agree),
        TEST(production_needs_the_startup_file),
        TEST(the_markers_are_two_files),
        TEST(everything_wrong_is_told_at_once),
        TEST(named_files_are_read_when_they_are_loaded),
        TEST(files_that_cannot_be_trusted_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
