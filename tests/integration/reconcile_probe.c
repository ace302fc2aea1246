/* SPDX-License-Identifier: MIT
 *
 * A reconciler with a scripted Compute Driver, hosted by a test: orders come as lines on stdin, and what the
 * reconciler announces and the Driver does goes as JSON lines to stdout. The database is OCC_DATABASE_URL's.
 * tests/integration/test_reconcile.py drives it.
 *
 *     reconcile_probe [--lease MS] [--attempts N] [--timeout MS] [--database-timeout MS] [--passes N]
 *                     [--existing] [--quiet] [--authority DECISION,...] STEP...
 *
 * Each operation of the Driver takes the next STEP, and the last one for ever:
 *     ready   pending=CODE[/RETRY_AFTER_MS]   retry=CODE   permanent=CODE   lost    what it returns
 *     slow=MS     waits (in one wait), then ready        short=N   N waits of 20 ms, then ready
 *     gate        waits for the order "open", then ready      hang   waits until it is ended
 *     gated+STEP  waits for the order "open", then STEP
 *     foreign     ready, but speaks of another Namespace      mute   ready, and names none
 *     blind=MS    does not wait where it is heard: sleeps, then ready     late+MS   the same, then pending
 *     warn+STEP   warns, then STEP             broken+STEP   tells what is wrong with the runtime, then STEP
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

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

struct probe {
    char **steps;
    size_t step_count;
    size_t step;
    bool quiet;
    enum host_order order;
    bool go;
    bool open;
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
        probe.open = true;
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
    return true;
}

static bool say_claimed(void *subject, const char token[UUID_SIZE], const struct work_item *item)
{
    (void)subject;
    if (!probe.quiet)
        printf("{\"say\":\"claimed\",\"token\":\"%s\",\"key\":\"%s\",\"kind\":\"%s\",\"attempt\":%u}\n",
               token, item->key, work_kind_name(item->kind), item->attempt);
    return true;
}

static void say_renewed(void *subject)
{
    (void)subject;
    if (!probe.quiet)
        printf("{\"say\":\"renewed\"}\n");
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
    return true;
}

/* ---- The Driver */

static bool until(const struct driver_call *call, int64_t deadline_ms, struct fault *fault)
{
    bool ready;

    return watch_wait(call->watch, NULL, 0, deadline_ms, &ready, fault);
}

static bool wait_short(const struct driver_call *call, long count, struct fault *fault)
{
    for (long i = 0; i < count; i++) {
        if (!until(call, clock_now_ms() + 20, fault))
            return false;
    }
    return true;
}

static bool wait_open(const struct driver_call *call, struct fault *fault)
{
    while (!probe.open) {
        if (!until(call, clock_now_ms() + 20, fault))
            return false;
    }
    probe.open = false;
    return true;
}

static void sleep_blindly(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};

    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        continue;
}

static bool play_fault(const char *step, const char *value, struct fault *fault)
{
    char code[FAULT_CODE_SIZE];
    const char *slash = strchr(value, '/');

    (void)snprintf(code, sizeof code, "%.*s", (int)(slash ? slash - value : (long)strlen(value)), value);
    (void)fault_set(fault,
                    step[0] == 'r'                ? FAULT_RETRYABLE
                    : strncmp(step, "pe", 2) != 0 ? FAULT_CLAIM_LOST
                    : step[2] == 'n'              ? FAULT_PENDING
                                                  : FAULT_PERMANENT,
                    code, "as the test said");
    if (slash)
        fault->retry_after_ms = (uint32_t)strtoul(slash + 1, NULL, 10);
    return false;
}

static bool play(const char *step, const struct driver_call *call, struct fault *fault)
{
    const char *value = strchr(step, '=') ? strchr(step, '=') + 1 : "";
    long number = strtol(value, NULL, 10);

    if (strncmp(step, "gated+", 6) == 0)
        return wait_open(call, fault) && play(step + 6, call, fault);
    if (strncmp(step, "warn+", 5) == 0 || strncmp(step, "broken+", 7) == 0)
        return play(strchr(step, '+') + 1, call, fault);
    if (strncmp(step, "slow=", 5) == 0)
        return until(call, clock_now_ms() + number, fault);
    if (strncmp(step, "short=", 6) == 0)
        return wait_short(call, number, fault);
    if (text_equal(step, "gate"))
        return wait_open(call, fault);
    if (text_equal(step, "hang"))
        return until(call, CLOCK_NEVER, fault);
    if (strncmp(step, "late+", 5) == 0) {
        sleep_blindly(strtol(step + 5, NULL, 10));
        return play_fault("pending", "X_THERE", fault);
    }
    if (strncmp(step, "blind=", 6) == 0)
        sleep_blindly(number);
    else if (strchr(step, '=') || text_equal(step, "lost"))
        return play_fault(step, value, fault);
    return true;
}

/* 2026-01-31T23:59:59.123Z */
#define CHECKED_AT_MS 1769903999123

static void remark(const char *step, struct compute_observation *seen)
{
    if (strncmp(step, "warn+", 5) == 0)
        compute_warn(seen, "X_OLD", "%s", "it is old");
    else if (strncmp(step, "broken+", 7) == 0)
        seen->failure = (struct compute_failure){"gateway", "readiness-probe", "CRASH_LOOP", CHECKED_AT_MS};
}

static bool operate(const char *what, const struct driver_call *call, const struct subject_namespace *subject,
                    struct compute_observation *seen, struct fault *fault)
{
    const char *step = probe.steps[probe.step];

    if (probe.step + 1 < probe.step_count)
        probe.step++;
    if (!probe.quiet)
        printf("{\"say\":\"effect\",\"what\":\"%s\",\"namespace\":\"%s\",\"existing\":\"%s\",\"observe\":%s,"
               "\"step\":\"%s\",\"limit_ms\":%lld}\n",
               what, subject->id, subject->existing_namespace ? subject->existing_namespace : "",
               call->observe_only ? "true" : "false", step, (long long)(call->deadline_ms - clock_now_ms()));
    if (text_equal(step, "foreign"))
        (void)text_copy(seen->namespace_id, sizeof seen->namespace_id,
                        "ns_00000000-0000-4000-8000-000000000000");
    else if (!text_equal(step, "mute"))
        (void)text_copy(seen->namespace_id, sizeof seen->namespace_id, subject->id);
    remark(step, seen);
    return play(step, call, fault);
}

static bool ensure(void *self, const struct driver_call *call, const struct subject_namespace *wanted,
                   struct compute_observation *seen, struct fault *fault)
{
    (void)self;
    return operate("ensure", call, wanted, seen, fault);
}

static bool delete (void *self, const struct driver_call *call, const struct subject_namespace *unwanted,
                    struct compute_observation *seen, struct fault *fault)
{
    (void)self;
    return operate("delete", call, unwanted, seen, fault);
}

static const struct compute_operations operations = {.ensure_namespace = ensure, .delete_namespace = delete};

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
    return play(decision, call, fault);
}

static const struct authority_operations authority_operations = {.decide = decide};
static const struct authority authority = {.id = "iam-probe", .operations = &authority_operations};

/* ---- The program */

static const char *const rests[] = {"idle", "stopped", "limit"};

static int number_of(char **argument)
{
    if (!argument[1])
        exit(2);
    return (int)strtol(argument[1], NULL, 10);
}

static char **read_options(char **argument, struct reconciler_options *options, struct compute_driver *driver,
                           uint64_t *passes)
{
    for (; *argument && strncmp(*argument, "--", 2) == 0; argument++) {
        if (text_equal(*argument, "--existing")) {
            driver->supports_existing_namespaces = true;
        } else if (text_equal(*argument, "--quiet")) {
            probe.quiet = true;
        } else if (text_equal(*argument, "--authority") && argument[1]) {
            probe.decisions = *++argument;
            options->authority = &authority;
        } else {
            int number = number_of(argument);

            if (text_equal(*argument, "--lease"))
                options->lease_duration_ms = number;
            else if (text_equal(*argument, "--attempts"))
                options->max_attempts = (unsigned)number;
            else if (text_equal(*argument, "--timeout"))
                options->convergence_timeout_ms = number;
            else if (text_equal(*argument, "--database-timeout"))
                options->database_timeout_ms = number;
            else if (text_equal(*argument, "--passes"))
                *passes = (uint64_t)number;
            argument++;
        }
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
    struct compute_driver driver = {
        .id = "compute-docker-development", .implementation = "docker-local", .operations = &operations};
    struct reconciler_options options = {.installation_id = "ins_00000000-0000-4000-8000-000000000000",
                                         .compute = &driver,
                                         .max_attempts = 5,
                                         .lease_duration_ms = 5000,
                                         .convergence_timeout_ms = 900000,
                                         .database_timeout_ms = 60000};
    const struct reconcile_host host = {NULL,        STDIN_FILENO, hear,      say_token,
                                        say_claimed, say_renewed,  say_report};
    uint64_t passes = UINT64_MAX;
    int status;

    probe.steps = read_options(argument + 1, &options, &driver, &passes);
    probe.step_count = (size_t)(argument + count - probe.steps);
    if (probe.step_count == 0 || !url)
        return 2;
    log_open("reconcile-probe");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    options.database_url = secret_new(memory, url, strlen(url));
    status = work(reconciler_new(memory, &options, &host), passes);
    talloc_free(memory);
    return status;
}
