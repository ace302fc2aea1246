/* SPDX-License-Identifier: MIT
 *
 * A reconciler with a scripted Compute Driver (probe_compute.h), hosted by a test: orders come as lines on
 * stdin, and what the reconciler announces and the Driver does goes as JSON lines to stdout. The database is
 * OCC_DATABASE_URL's. tests/integration/reconcile drives it.
 *
 *     reconcile_probe [--lease MS] [--attempts N] [--timeout MS] [--database-timeout MS] [--passes N]
 *                     [--existing] [--quiet] [--production] [--authority DECISION,...] [--secrets ID]
 *                     [--sandbox ID] [--agents] [--before-commit] [--alone] [--binds] [--keeps]
 *                     [--maintenance MS] [--die-at BOUNDARY] STEP...
 *
 * --agents: the Driver runs Agents; --alone: a revision needs stopped predecessors; --binds: Agents are
 * bound, and have credentials; --keeps: which it cannot delete. --secrets and --sandbox: such Drivers are
 * selected (the latter provisions Harnesses).
 *
 * --die-at: it kills itself at that boundary of its steps (script_die_at).
 *
 * With --authority an IAM Driver is installed too, which takes the next DECISION, and the last one for ever:
 * allow, deny, or a STEP that is no success, which is how it fails.
 *
 * Orders: go (run again after a rest), finish, abort, open, and the end of stdin, which is the host's end.
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/reconcile/reconciler.h"
#include "tests/integration/probe_compute.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

struct probe {
    bool quiet;
    enum host_order order;
    bool go;
    char line[256];
    size_t length;
    char *decisions; /* what is left of them; NULL: no IAM Driver is installed */
};

static struct probe probe;

/* ---- The host */

static void take_line(const char *line)
{
    if (text_equal(line, "go"))
        probe.go = true;
    else if (text_equal(line, "open"))
        script_open();
    else if (text_equal(line, "finish") && probe.order == HOST_CONTINUE)
        probe.order = HOST_FINISH;
    else if (text_equal(line, "abort"))
        probe.order = HOST_ABORT;
}

static enum host_order hear(void *subject)
{
    char byte;
    ssize_t got;

    (void)subject;
    while ((got = read(STDIN_FILENO, &byte, 1)) == 1) {
        if (byte != '\n' && probe.length < sizeof probe.line - 1) {
            probe.line[probe.length++] = byte;
            continue;
        }
        probe.line[probe.length] = '\0';
        probe.length = 0;
        take_line(probe.line);
    }
    if (got == 0)
        probe.order = HOST_ABORT;
    return probe.order;
}

static bool say_token(void *subject, const char token[UUID_SIZE])
{
    (void)subject;
    if (!probe.quiet)
        printf("{\"say\":\"token\",\"token\":\"%s\"}\n", token);
    script_boundary();
    return true;
}

static bool say_claimed(void *subject, const char token[UUID_SIZE], const struct work_item *item)
{
    (void)subject;
    if (!probe.quiet)
        printf("{\"say\":\"claimed\",\"token\":\"%s\",\"key\":\"%s\",\"kind\":\"%s\",\"attempt\":%u}\n",
               token, item->key, work_kind_name(item->kind), item->attempt);
    script_boundary();
    return true;
}

static void say_renewed(void *subject)
{
    (void)subject;
    if (!probe.quiet)
        printf("{\"say\":\"renewed\"}\n");
    script_boundary();
}

static bool say_report(void *subject, const struct pass_report *report)
{
    (void)subject;
    if (!probe.quiet)
        printf("{\"say\":\"report\",\"token\":\"%s\",\"key\":\"%s\",\"outcome\":\"%s\",\"handed_back\":%s,"
               "\"code\":\"%s\",\"attempt\":%u,\"dependency\":\"%s\",\"cause\":\"%s\",\"duration_ms\":%u,"
               "\"deployment\":%s,\"elapsed_ms\":%u,\"prepare_ms\":%u,\"unready_ms\":%lld,"
               "\"ready_ms\":%lld}\n",
               report->token, report->key, pass_outcome_name(report->outcome),
               report->outcome == PASS_HANDED_BACK ? "true" : "false", report->code, report->attempt,
               report->dependency, report->cause, report->duration_ms, report->deployment ? "true" : "false",
               report->elapsed_ms, report->prepare_ms, (long long)report->unready_ms,
               (long long)report->ready_ms);
    script_boundary();
    return true;
}

/* ---- The IAM Driver */

static bool decide(void *self, const struct driver_call *call, const struct authority_question *question,
                   bool *allowed, char evidence[AUTHORITY_EVIDENCE_SIZE], struct fault *fault)
{
    char decision[64];
    size_t length = strcspn(probe.decisions, ",");

    (void)self;
    (void)snprintf(decision, sizeof decision, "%.*s", (int)length, probe.decisions);
    if (probe.decisions[length])
        probe.decisions += length + 1;
    printf("{\"say\":\"decide\",\"actor\":\"%s\",\"permission\":\"%s:%s\",\"resource\":\"%s\","
           "\"namespace\":\"%s\",\"decision\":\"%s\"}\n",
           question->actor_id, question->resource_kind, question->action,
           question->resource_id ? question->resource_id : "",
           question->namespace_id ? question->namespace_id : "", decision);
    *allowed = !text_equal(decision, "deny");
    if (!*allowed || text_equal(decision, "allow")) {
        (void)snprintf(evidence, AUTHORITY_EVIDENCE_SIZE, "decision of %s", question->action);
        return true;
    }
    return script_play(decision, call, fault);
}

static const struct authority_operations authority_operations = {.decide = decide};
static const struct authority authority = {.id = "iam-probe", .operations = &authority_operations};

/* Selected by its name; nothing of it is called. */
static const struct secret_operations secret_operations;
static struct secret_driver secrets = {.operations = &secret_operations};

/* ---- The program */

static const char *const rests[] = {"idle", "stopped", "limit"};

static int number_of(char **argument)
{
    if (!argument[1])
        exit(2);
    return (int)strtol(argument[1], NULL, 10);
}

static bool read_flag(const char *argument, struct reconciler_options *options, struct compute_driver *driver)
{
    if (text_equal(argument, "--existing"))
        driver->supports_existing_namespaces = true;
    else if (text_equal(argument, "--quiet"))
        probe.quiet = true;
    else if (text_equal(argument, "--production"))
        options->production = true;
    else if (text_equal(argument, "--before-commit"))
        driver->order = COMPUTE_ACTIVATES_BEFORE_COMMIT;
    else if (text_equal(argument, "--agents"))
        script_run_agents();
    else if (text_equal(argument, "--alone"))
        script_need_stopped_predecessors();
    else if (text_equal(argument, "--binds"))
        script_bind(true);
    else if (text_equal(argument, "--keeps"))
        script_bind(false);
    else
        return false;
    return true;
}

static bool read_text(char **argument, struct reconciler_options *options)
{
    if (text_equal(*argument, "--authority") && argument[1]) {
        probe.decisions = argument[1];
        options->authority = &authority;
    } else if (text_equal(*argument, "--secrets") && argument[1]) {
        secrets.id = argument[1];
        options->secrets = &secrets;
    } else if (text_equal(*argument, "--sandbox") && argument[1]) {
        options->sandbox_driver_id = argument[1];
        options->sandbox_provisions = true;
    } else {
        return false;
    }
    return true;
}

static void read_number(char **argument, struct reconciler_options *options, struct compute_driver *driver,
                        uint64_t *passes)
{
    int number = number_of(argument);

    if (text_equal(*argument, "--lease"))
        options->lease_duration_ms = number;
    else if (text_equal(*argument, "--attempts"))
        options->max_attempts = (unsigned)number;
    else if (text_equal(*argument, "--timeout"))
        options->convergence_timeout_ms = number;
    else if (text_equal(*argument, "--database-timeout"))
        options->database_timeout_ms = number;
    else if (text_equal(*argument, "--maintenance"))
        driver->maintenance_interval_ms = number;
    else if (text_equal(*argument, "--die-at"))
        script_die_at(number);
    else if (text_equal(*argument, "--passes"))
        *passes = (uint64_t)number;
    else
        exit(2);
}

static char **read_options(char **argument, struct reconciler_options *options, struct compute_driver *driver,
                           uint64_t *passes)
{
    for (; *argument && strncmp(*argument, "--", 2) == 0; argument++) {
        if (read_flag(*argument, options, driver))
            continue;
        if (!read_text(argument, options))
            read_number(argument, options, driver, passes);
        argument++;
    }
    return argument;
}

static void wait_for_go(void)
{
    while (hear(NULL) == HOST_CONTINUE && !probe.go) {
        struct pollfd own = {.fd = STDIN_FILENO, .events = POLLIN};

        (void)poll(&own, 1, -1);
    }
    probe.go = false;
}

static int work(struct reconciler *reconciler, uint64_t limit)
{
    enum reconciler_rest rest = RECONCILER_IDLE;
    uint64_t passes = 0;
    struct fault fault;

    while (rest == RECONCILER_IDLE) {
        if (!reconciler_run(reconciler, limit, &passes, &rest, &fault)) {
            printf("{\"say\":\"failed\",\"code\":\"%s\"}\n", fault.code);
            return fault_exit_status(&fault);
        }
        printf("{\"say\":\"rest\",\"rest\":\"%s\",\"passes\":%llu}\n", rests[rest],
               (unsigned long long)passes);
        if (rest == RECONCILER_IDLE) {
            wait_for_go();
            if (probe.order != HOST_CONTINUE)
                break;
        }
    }
    return 0;
}

int main(int count, char **argument)
{
    const char *url = getenv("OCC_DATABASE_URL");
    void *memory = talloc_new(NULL);
    struct compute_driver driver = {.id = "compute-docker-development",
                                    .implementation = "docker-local",
                                    .operations = &script_operations};
    struct reconciler_options options = {.installation_id = "ins_00000000-0000-4000-8000-000000000000",
                                         .compute = &driver,
                                         .max_attempts = 5,
                                         .lease_duration_ms = 5000,
                                         .convergence_timeout_ms = 900000,
                                         .database_timeout_ms = 60000};
    const struct reconcile_host host = {NULL,        STDIN_FILENO, hear,      say_token,
                                        say_claimed, say_renewed,  say_report};
    uint64_t passes = UINT64_MAX;
    char **steps;
    int status;

    steps = read_options(argument + 1, &options, &driver, &passes);
    if (steps == argument + count || !url)
        return 2;
    script_open_with(steps, (size_t)(argument + count - steps), probe.quiet);
    log_open("reconcile-probe");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    options.database_url = secret_new(memory, url, strlen(url));
    status = work(reconciler_new(memory, &options, &host), passes);
    talloc_free(memory);
    return status;
}
