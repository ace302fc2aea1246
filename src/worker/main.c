/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/standard.h"
#include "lib/base/text.h"
#include "src/worker/child.h"
#include "src/worker/probe.h"

static const struct option own_options[] = {
    {.flag = "check",
     .type = OPTION_SWITCH,
     .help = "verify configuration, database, Installation and Drivers, print a report and exit"},
    {.flag = "output",
     .letter = 'o',
     .type = OPTION_CHOICE,
     .value = "FORMAT",
     .fallback = "text",
     .choices = "text|json",
     .help = "how --check prints its report"},
    {.flag = "probe",
     .type = OPTION_CHOICE,
     .value = "SIGN",
     .choices = "readiness|liveness",
     .help = "tell whether another occ-worker's marker file is fresh, and exit"},
};
static const struct option_table own_table = {"Actions", own_options, COUNT_OF(own_options)};
static const struct option_table *const tables[] = {&own_table, WORKER_SETTINGS_TABLES, NULL};

static const struct option_request request = {
    .program = "occ-worker",
    .program_bit = PROGRAM_WORKER,
    .tables = tables,
    .summary = "Claims and carries out the durable work of an OpenClaw Control Plane's database.",
    .manual = "occ-worker(8)",
};

/* The hidden command line of a child: --role=NAME --slot=NUMBER. */
static bool is_child(int argc, char *const *argv, enum role *role, unsigned *slot)
{
    static const char role_flag[] = "--role=", slot_flag[] = "--slot=";
    uint64_t number;

    if (argc != 3 || strncmp(argv[1], role_flag, sizeof role_flag - 1) != 0 ||
        strncmp(argv[2], slot_flag, sizeof slot_flag - 1) != 0)
        return false;
    if (!role_from_text(argv[1] + sizeof role_flag - 1, role) ||
        !text_to_number(argv[2] + sizeof slot_flag - 1, 1000, &number))
        return false;
    *slot = (unsigned)number;
    return true;
}

/* What is wrong with flags and environment, before anything was started. */
static int refuse(const void *context, const struct findings *findings, bool check, bool json)
{
    struct report *report = report_new(context);

    report_add_findings(report, findings);
    if (!check)
        event_startup_errors(report);
    else if (json)
        report_print_json(report, stdout);
    else
        report_print(report, stdout);
    return findings_exit_status(findings);
}

static int run(const void *context, int argc, char *const *argv)
{
    struct findings *findings = findings_new(context);
    struct worker_settings *settings;
    struct options *options;
    bool check, json;

    switch (options_read(context, &request, argc, argv, findings, &options)) {
    case OPTIONS_HELP:
        (void)fputs(options_help(context, &request), stdout);
        return 0;
    case OPTIONS_VERSION:
        (void)fputs(options_version(context, &request), stdout);
        return 0;
    case OPTIONS_READ:
        break;
    }
    if (options_text(options, "probe")) {
        findings_print(findings, stderr, "occ-worker");
        return findings_problems(findings) ? findings_exit_status(findings)
                                           : probe_run(options, options_text(options, "probe"));
    }
    settings = worker_settings_read(context, options, findings);
    check = options_true(options, "check");
    json = text_equal(options_text(options, "output"), "json");
    /* They are in `settings` now; /proc shows the environment for as long as the process lives. */
    settings_forget_secrets();
    if (findings_problems(findings))
        return refuse(context, findings, check, json);
    return supervisor_run(settings, check, json);
}

int main(int argc, char **argv)
{
    enum role role;
    unsigned slot;
    void *context;
    int status;

    standard_open();
    secret_forbid_core();
    if (is_child(argc, argv, &role, &slot))
        return child_main(role, slot);
    log_open("occ-worker");
    context = talloc_new(NULL);
    status = run(context, argc, argv);
    talloc_free(context);
    if (fflush(stdout) != 0)
        status = status ? status : 70;
    return status;
}
