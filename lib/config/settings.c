/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/settings.h"

#include "lib/base/text.h"

#include <arpa/inet.h>

#define INTEGER_MOST 2147483647 /* PostgreSQL's integer */
#define MILLISECONDS .type = OPTION_NUMBER, .least = 1, .largest = OPTION_MILLISECONDS_MOST, .value = "MS"

static const char *check_docker_host(const char *value)
{
    /* 107 bytes and the zero are what a unix socket's address holds. */
    if (strncmp(value, "unix:///", 8) != 0 || !value[8])
        return "must be unix:// and an absolute path; the Engine is reached over a unix socket only";
    if (strlen(value + 7) > 107)
        return "must name a path of at most 107 bytes";
    return NULL;
}

static const char *check_address(const char *value)
{
    unsigned char address[sizeof(struct in6_addr)];

    if (inet_pton(AF_INET, value, address) == 1 || inet_pton(AF_INET6, value, address) == 1)
        return NULL;
    return "must be an IPv4 or IPv6 address";
}

static const char *check_email(const char *value)
{
    const char *at = strchr(value, '@');

    if (!at || at == value || !at[1] || strchr(at + 1, '@') || strchr(value, ' ') || strlen(value) > 254)
        return "must be an e-mail address";
    return NULL;
}

static const char *check_name(const char *value)
{
    size_t length = strlen(value);

    if (value[0] == ' ' || value[length - 1] == ' ' || text_characters(value) > 200)
        return "must be a name of 1 to 200 characters without spaces at its ends";
    return NULL;
}

static const struct option general[] = {
    {.flag = "mode",
     .variable = "NODE_ENV",
     .type = OPTION_CHOICE,
     .choices = "development|production",
     .value = "MODE",
     .code = "WORKER_MODE_REJECTED",
     .refusal = "Worker mode is rejected",
     .help = "What the Installation is for; production demands the startup YAML and its stricter rules."},
    {.flag = "config-path",
     .variable = "OCC_CONFIG_PATH",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "The startup YAML, occ-installation.yaml(5). Required in production; development without it "
             "uses the "
             "Docker Compute Driver."},
};
const struct option_table settings_general = {"General", general, COUNT_OF(general)};

#define URL_OPTION                                                                                           \
    .type = OPTION_SECRET, .code = "DATABASE_CONFIGURATION_INVALID", .refusal = SETTINGS_URL_MISSING

static const struct option database[] = {
    {.variable = "OCC_DATABASE_URL",
     URL_OPTION,
     .programs = PROGRAM_WORKER | PROGRAM_BOOTSTRAP | PROGRAM_CTL,
     .help = "The database as the application's role: a postgresql:// URL."},
    {.flag = "database-url-file",
     .variable = "OCC_DATABASE_URL_FILE",
     .type = OPTION_PATH,
     .value = "PATH",
     .programs = PROGRAM_WORKER | PROGRAM_BOOTSTRAP | PROGRAM_CTL,
     .help = "A file that holds the URL, readable by its owner only, instead of OCC_DATABASE_URL."},
    {.variable = "OCC_MIGRATION_DATABASE_URL",
     URL_OPTION,
     .programs = PROGRAM_MIGRATE,
     .help = "The database as the migrator's role, connected directly: a postgresql:// URL."},
    {.flag = "migration-database-url-file",
     .variable = "OCC_MIGRATION_DATABASE_URL_FILE",
     .type = OPTION_PATH,
     .value = "PATH",
     .programs = PROGRAM_MIGRATE,
     .help = "A file that holds the URL, readable by its owner only, instead of OCC_MIGRATION_DATABASE_URL."},
    {.flag = "database-timeout-ms",
     .variable = "OCC_WORKER_DATABASE_TIMEOUT_MS",
     MILLISECONDS,
     .fallback = "60000",
     .programs = PROGRAM_WORKER | PROGRAM_MIGRATE,
     .help = "Bounds each connection and each statement from the client's side."},
};
const struct option_table settings_database = {"Database", database, COUNT_OF(database)};

static const struct option worker[] = {
    {.flag = "reconcilers",
     .variable = "OCC_WORKER_RECONCILERS",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = 64,
     .value = "NUMBER",
     .fallback = "4",
     .help = "How many items are worked on at once, each by a process of its own."},
    {.flag = "poll-interval-ms",
     .variable = "OCC_WORKER_POLL_INTERVAL_MS",
     MILLISECONDS,
     .fallback = "250",
     .help = "How often the queue is looked at; notifications make it faster."},
    {.flag = "lease-duration-ms",
     .variable = "OCC_WORKER_LEASE_DURATION_MS",
     MILLISECONDS,
     .fallback = "5000",
     .help = "How long a claim lasts without being renewed."},
    {.flag = "max-attempts",
     .variable = "OCC_WORKER_MAX_ATTEMPTS",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = INTEGER_MOST,
     .value = "NUMBER",
     .fallback = "5",
     .help = "How many failed attempts end an item."},
    {.flag = "convergence-timeout-ms",
     .variable = "OCC_WORKER_CONVERGENCE_TIMEOUT_MS",
     MILLISECONDS,
     .fallback = "900000",
     .help = "How long after its admission an item may keep converging."},
    {.flag = "drain-timeout-ms",
     .variable = "OCC_WORKER_DRAIN_TIMEOUT_MS",
     MILLISECONDS,
     .fallback = "30000",
     .help = "How long a stop waits for running passes before it hands them back."},
    {.flag = "start-timeout-ms",
     .variable = "OCC_WORKER_START_TIMEOUT_MS",
     MILLISECONDS,
     .fallback = "60000",
     .help = "How long a start waits for the database to answer."},
    {.flag = "recycle-passes",
     .variable = "OCC_WORKER_RECYCLE_PASSES",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = INTEGER_MOST,
     .value = "NUMBER",
     .fallback = "10000",
     .help = "After how many passes a reconciler is replaced."},
    {.flag = "recycle-age-ms",
     .variable = "OCC_WORKER_RECYCLE_AGE_MS",
     MILLISECONDS,
     .fallback = "86400000",
     .help = "At what age a reconciler is replaced."},
    {.flag = "readiness-path",
     .variable = "OCC_WORKER_READINESS_PATH",
     .type = OPTION_PATH,
     .value = "PATH",
     .help =
         "A marker file, renewed with each successful look at the queue and removed at start and at stop."},
    {.flag = "liveness-path",
     .variable = "OCC_WORKER_LIVENESS_PATH",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "A marker file, renewed as the worker moves, be the database up or not."},
    {.flag = "docker-host",
     .variable = "DOCKER_HOST",
     .type = OPTION_TEXT,
     .value = "URL",
     .fallback = "unix:///var/run/docker.sock",
     .check = check_docker_host,
     .help = "The Engine's unix socket, for the Docker Compute Driver."},
};
const struct option_table settings_worker = {"Worker", worker, COUNT_OF(worker)};

static const struct option metrics[] = {
    {.flag = "metrics-enabled",
     .variable = "OCC_METRICS_ENABLED",
     .type = OPTION_BOOLEAN,
     .value = "BOOLEAN",
     .fallback = "false",
     .help = "Whether GET /metrics is served."},
    {.flag = "metrics-host",
     .variable = "OCC_METRICS_HOST",
     .type = OPTION_TEXT,
     .value = "ADDRESS",
     .check = check_address,
     .help = "The address to serve it on. In development a loopback address, 127.0.0.1 unless given; in "
             "production "
             "an explicit address."},
    {.flag = "metrics-port",
     .variable = "OCC_METRICS_PORT",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = 65535,
     .value = "PORT",
     .help = "The port to serve it on; required when metrics are enabled."},
    {.variable = "OCC_METRICS_DATABASE_URL",
     URL_OPTION,
     .help = "The database as the metrics' role: a postgresql:// URL."},
    {.flag = "metrics-database-url-file",
     .variable = "OCC_METRICS_DATABASE_URL_FILE",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "A file that holds the URL, instead of OCC_METRICS_DATABASE_URL; without either the "
             "application's role is used in READ ONLY transactions."},
};
const struct option_table settings_metrics = {"Metrics", metrics, COUNT_OF(metrics)};

static const struct option bootstrap[] = {
    {.flag = "admin-email",
     .variable = "OCC_BOOTSTRAP_ADMIN_EMAIL",
     .type = OPTION_TEXT,
     .value = "EMAIL",
     .check = check_email,
     .help = "The administrator's e-mail address; development has the default admin@example.com."},
    {.flag = "installation-name",
     .variable = "OCC_BOOTSTRAP_INSTALLATION_NAME",
     .type = OPTION_TEXT,
     .value = "NAME",
     .check = check_name,
     .help = "The Installation's name; development has the default \"OpenClaw Development\"."},
    {.flag = "password-file",
     .variable = "OCC_BOOTSTRAP_PASSWORD_FILE",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "Where the administrator's new password is written; the file must not exist."},
    {.flag = "service-key-file",
     .variable = "OCC_BOOTSTRAP_SERVICE_KEY_FILE",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "Where the new service key is written; the file must not exist."},
};
const struct option_table settings_bootstrap = {"Bootstrap", bootstrap, COUNT_OF(bootstrap)};

static const struct option ctl[] = {
    {.flag = "service-key-file",
     .variable = "OCC_SERVICE_KEY_FILE",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "The service key of who is asking, readable by its owner only."},
    {.flag = "development-configuration-root",
     .variable = "OCC_DEVELOPMENT_CONFIGURATION_ROOT",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "Where the filesystem Configuration Driver keeps documents; development only."},
};
const struct option_table settings_ctl = {"Client", ctl, COUNT_OF(ctl)};

static const struct option ctl_namespace[] = {
    {.flag = "namespace",
     .letter = 'n',
     .variable = "OCC_NAMESPACE",
     .type = OPTION_TEXT,
     .value = "NAMESPACE",
     .check = check_name,
     .help = "The Namespace to work in, by ID or exact name."},
};
const struct option_table settings_ctl_namespace = {"Place", ctl_namespace, COUNT_OF(ctl_namespace)};

const char *settings_mode_text(enum settings_mode mode)
{
    return mode == MODE_PRODUCTION ? "production" : "development";
}

bool settings_mode_read(const struct options *options, struct findings *findings, enum settings_mode *mode)
{
    const char *text = options_text(options, "mode");

    if (!text) {
        if (!options_given(options, "mode"))
            findings_add(findings, FINDING_PROBLEM, "NODE_ENV", "WORKER_MODE_REJECTED",
                         "Worker mode is rejected (set NODE_ENV or --mode to development or production)");
        return false;
    }
    *mode = text_equal(text, "production") ? MODE_PRODUCTION : MODE_DEVELOPMENT;
    return true;
}

const char *settings_config_path(const struct options *options, struct findings *findings,
                                 enum settings_mode mode)
{
    if (mode == MODE_PRODUCTION && !options_given(options, "config-path"))
        findings_add(findings, FINDING_PROBLEM, "OCC_CONFIG_PATH", "CONFIG_PATH_REQUIRED",
                     "must name the startup YAML in production (or give --config-path)");
    return options_text(options, "config-path");
}

static void forget_secrets_of(const struct option *options, size_t count)
{
    size_t index;

    for (index = 0; index < count; index++) {
        char *value = options[index].type == OPTION_SECRET ? getenv(options[index].variable) : NULL;

        if (value) {
            secret_wipe(value, strlen(value));
            (void)unsetenv(options[index].variable);
        }
    }
}

void settings_forget_secrets(void)
{
    forget_secrets_of(database, COUNT_OF(database));
    forget_secrets_of(metrics, COUNT_OF(metrics));
}
