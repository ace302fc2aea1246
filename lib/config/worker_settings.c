/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/worker_settings.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/files.h"

#include <arpa/inet.h>

#define CONFLICT "SETTING_CONFLICT"

static bool is_loopback(const char *address)
{
    struct in6_addr six;
    struct in_addr four;

    if (inet_pton(AF_INET, address, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_unspecified(const char *address)
{
    struct in6_addr six;
    struct in_addr four;

    if (inet_pton(AF_INET, address, &four) == 1)
        return four.s_addr == 0;
    if (inet_pton(AF_INET6, address, &six) != 1)
        return false;
    /* ::ffff:0.0.0.0 listens on every IPv4 address too. */
    return IN6_IS_ADDR_UNSPECIFIED(&six) ||
           (IN6_IS_ADDR_V4MAPPED(&six) && memcmp(six.s6_addr + 12, "\0\0\0\0", 4) == 0);
}

static void refuse_while_disabled(const struct options *options, const char *name, struct findings *findings)
{
    if (options_given(options, name))
        findings_add(findings, FINDING_PROBLEM, options_source(options, name), CONFLICT,
                     "must not be given while metrics are disabled (OCC_METRICS_ENABLED is not true)");
}

static void read_metrics(struct worker_settings *settings, bool mode_known, const struct options *options,
                         struct findings *findings)
{
    const char *host_source = options_source(options, "metrics-host");

    settings->metrics_enabled = options_true(options, "metrics-enabled");
    if (!settings->metrics_enabled) {
        /* A wrong word for "true" has its finding already, and would make these mislead. */
        if (options_given(options, "metrics-enabled") && !options_text(options, "metrics-enabled"))
            return;
        refuse_while_disabled(options, "metrics-host", findings);
        refuse_while_disabled(options, "metrics-port", findings);
        return;
    }
    settings->metrics_port = (int)options_number(options, "metrics-port");
    if (!options_given(options, "metrics-port"))
        findings_add(findings, FINDING_PROBLEM, "OCC_METRICS_PORT", CONFLICT,
                     "must be given when metrics are enabled");
    settings->metrics_host = options_text(options, "metrics-host");
    if (!mode_known)
        return;
    if (!options_given(options, "metrics-host")) {
        if (settings->mode == MODE_DEVELOPMENT)
            settings->metrics_host = "127.0.0.1";
        else
            findings_add(findings, FINDING_PROBLEM, host_source, CONFLICT,
                         "must name an address in production when metrics are enabled");
    } else if (settings->metrics_host && settings->mode == MODE_DEVELOPMENT &&
               !is_loopback(settings->metrics_host)) {
        findings_add(findings, FINDING_PROBLEM, host_source, CONFLICT,
                     "must be a loopback address in development");
    } else if (settings->metrics_host && is_unspecified(settings->metrics_host)) {
        findings_add(findings, FINDING_PROBLEM, host_source, CONFLICT,
                     "must be one explicit address in production, not all addresses");
    }
}

static void read_markers(struct worker_settings *settings, const struct options *options,
                         struct findings *findings)
{
    settings->readiness_path = options_text(options, "readiness-path");
    settings->liveness_path = options_text(options, "liveness-path");
    if (text_equal(settings->readiness_path, settings->liveness_path))
        findings_add(findings, FINDING_PROBLEM, options_source(options, "liveness-path"), CONFLICT,
                     "must be another file than the readiness marker");
}

static void read_numbers(struct worker_settings *settings, const struct options *options)
{
    const struct {
        int *target;
        const char *name;
    } numbers[] = {
        {&settings->database_timeout_ms, "database-timeout-ms"},
        {&settings->reconcilers, "reconcilers"},
        {&settings->poll_interval_ms, "poll-interval-ms"},
        {&settings->lease_duration_ms, "lease-duration-ms"},
        {&settings->max_attempts, "max-attempts"},
        {&settings->convergence_timeout_ms, "convergence-timeout-ms"},
        {&settings->drain_timeout_ms, "drain-timeout-ms"},
        {&settings->start_timeout_ms, "start-timeout-ms"},
        {&settings->recycle_passes, "recycle-passes"},
        {&settings->recycle_age_ms, "recycle-age-ms"},
    };
    size_t index;

    for (index = 0; index < COUNT_OF(numbers); index++)
        *numbers[index].target = (int)options_number(options, numbers[index].name);
}

struct worker_settings *worker_settings_read(const void *context, const struct options *options,
                                             struct findings *findings)
{
    struct worker_settings *settings = mem_new(context, struct worker_settings);
    bool mode_known = settings_mode_read(options, findings, &settings->mode);

    settings->config_path =
        settings_config_path(options, findings, mode_known ? settings->mode : MODE_DEVELOPMENT);
    settings->config_source = options_source(options, "config-path");
    /* A URL that is not usable has its finding. */
    (void)!settings_url_read(options, "OCC_DATABASE_URL", "database-url-file", findings, &settings->database);
    if (options_given(options, "OCC_METRICS_DATABASE_URL") ||
        options_given(options, "metrics-database-url-file"))
        (void)!settings_url_read(options, "OCC_METRICS_DATABASE_URL", "metrics-database-url-file", findings,
                                 &settings->metrics_database);
    read_numbers(settings, options);
    read_markers(settings, options, findings);
    read_metrics(settings, mode_known, options, findings);
    settings->docker_socket = options_text(options, "docker-host") + strlen("unix://");
    return settings;
}

static const char *copy_text(const void *context, const char *text)
{
    return text ? mem_text(context, text) : NULL;
}

static void copy_url(const void *context, struct settings_url *url)
{
    if (url->url)
        url->url = secret_new(context, secret_expose(url->url), secret_length(url->url));
    url->file = copy_text(context, url->file);
    url->source = copy_text(context, url->source);
}

static void load_url(struct worker_settings *settings, struct settings_url *url, struct findings *findings)
{
    struct fault fault;

    copy_url(settings, url);
    if (!settings_url_load(settings, url, &fault))
        findings_add_fault(findings, url->source, &fault);
}

struct worker_settings *worker_settings_load(const void *context, const struct worker_settings *settings,
                                             struct findings *findings)
{
    struct worker_settings *loaded = mem_new(context, struct worker_settings);
    struct secret *text;
    struct fault fault;

    *loaded = *settings;
    loaded->config_path = copy_text(loaded, settings->config_path);
    loaded->config_source = copy_text(loaded, settings->config_source);
    loaded->readiness_path = copy_text(loaded, settings->readiness_path);
    loaded->liveness_path = copy_text(loaded, settings->liveness_path);
    loaded->docker_socket = copy_text(loaded, settings->docker_socket);
    loaded->metrics_host = copy_text(loaded, settings->metrics_host);
    load_url(loaded, &loaded->database, findings);
    load_url(loaded, &loaded->metrics_database, findings);
    loaded->startup_text = NULL;
    if (!loaded->config_path)
        return loaded;
    if (file_read(loaded, loaded->config_source, "STARTUP_FILE_REJECTED", loaded->config_path, FILE_TRUSTED,
                  WORKER_STARTUP_MOST, &text, &fault))
        loaded->startup_text = text;
    else
        findings_add_fault(findings, loaded->config_source, &fault);
    return loaded;
}
