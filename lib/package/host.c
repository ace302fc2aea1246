/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/host.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/text.h"
#include "lib/package/answer.h"

/* A Driver's records do not crowd out the worker's. */
#define RECORDS_A_CALL 10

struct host_call *host_of(const struct occ_call *call)
{
    return call->hidden;
}

void host_take(void *ours, size_t size, const void *theirs)
{
    uint32_t given;

    memset(ours, 0, size);
    memcpy(&given, theirs, sizeof given);
    memcpy(ours, theirs, given < size ? given : size);
}

void host_give(void *theirs, const void *ours, size_t size)
{
    const size_t head = sizeof(uint32_t);
    uint32_t room;

    memcpy(&room, theirs, sizeof room);
    if (room < size)
        size = room;
    if (size > head)
        memcpy((char *)theirs + head, (const char *)ours + head, size - head);
}

/* ---- The watch: the outer call's, and what ended the operation is kept. */

static size_t prepare(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    const struct host_call *host = subject;

    return watch_prepare(host->outer->watch, room, wake_ms);
}

static bool turn(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    struct host_call *host = subject;

    if (host->stopped.class == FAULT_NONE && watch_turn(host->outer->watch, ready, count, &host->stopped))
        return true;
    *fault = host->stopped;
    return false;
}

static enum occ_result wait_until(struct host_call *host, int descriptor, short events, int64_t until_ms)
{
    const int64_t deadline_ms = host->outer->deadline_ms;
    const int64_t end_ms = until_ms < deadline_ms ? until_ms : deadline_ms;
    struct pollfd own = {.fd = descriptor, .events = events};
    struct fault fault = {.class = FAULT_NONE};
    bool ready;

    if (host->stopped.class != FAULT_NONE || host->late)
        return OCC_CANCELLED;
    if (!watch_wait(&host->watch, &own, descriptor >= 0 ? 1 : 0, end_ms, &ready, &fault)) {
        host->stopped = fault;
        return OCC_CANCELLED;
    }
    if (ready)
        return OCC_READY;
    /* One that is asked to wait longer than it may would ask again, without end and without waiting. */
    host->late = until_ms > deadline_ms;
    return host->late ? OCC_CANCELLED : OCC_PENDING;
}

/* ---- The services. */

static int wipe(char *bytes)
{
    secret_wipe(bytes, talloc_get_size(bytes));
    return 0;
}

char *host_wiped(char *bytes)
{
    talloc_set_destructor(bytes, wipe);
    return bytes;
}

static void *host_allocate(const struct occ_call *call, size_t size)
{
    return host_wiped(mem_array(host_of(call)->memory, char, size ? size : 1));
}

PRINTF_LIKE(2, 3)
static char *host_format(const struct occ_call *call, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = mem_format_list(host_of(call)->memory, format, arguments);
    va_end(arguments);
    return host_wiped(text);
}

static void record(struct host_call *host, enum log_severity severity, const char *code, const char *message)
{
    if (host->logged == RECORDS_A_CALL)
        return;
    host->logged++;
    log_event(severity, "driver.message", log_text("driver", host->driver->id),
              log_text("code", answer_code_is_good(code) ? code : NULL), log_text("message", message));
}

PRINTF_LIKE(4, 5)
static void host_log(const struct occ_call *call, enum occ_log_level level, const char *code,
                     const char *format, ...)
{
    static const enum log_severity severities[] = {
        [OCC_LOG_DEBUG] = LOG_DEBUG,
        [OCC_LOG_INFO] = LOG_INFO,
        [OCC_LOG_WARN] = LOG_WARN,
        [OCC_LOG_ERROR] = LOG_ERROR,
    };
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = mem_format_list(host_of(call)->memory, format, arguments);
    va_end(arguments);
    record(host_of(call), (size_t)level < COUNT_OF(severities) ? severities[level] : LOG_ERROR, code, text);
    talloc_free(text);
}

static enum occ_result host_wait(const struct occ_call *call, int descriptor, short events, int64_t until_ms)
{
    return wait_until(host_of(call), descriptor, events, until_ms);
}

static enum occ_result host_check(const struct occ_call *call)
{
    struct host_call *host = host_of(call);
    const int64_t now_ms = clock_now_ms();

    if (now_ms >= host->outer->deadline_ms)
        host->late = true;
    return wait_until(host, -1, 0, now_ms) == OCC_CANCELLED ? OCC_CANCELLED : OCC_READY;
}

static const struct occ_host *services(void)
{
    static struct occ_host table;

    if (!table.size) {
        table = (struct occ_host){
            .size = sizeof table,
            .allocate = host_allocate,
            .format = host_format,
            .log = host_log,
            .wait = host_wait,
            .now_ms = clock_now_ms,
            .check = host_check,
        };
        host_add_http(&table);
        host_add_json(&table);
        host_add_secret(&table);
    }
    return &table;
}

/* ---- An operation. */

void host_begin(struct host_call *host, struct package_driver *driver, const struct driver_call *outer,
                const char *operation)
{
    *host = (struct host_call){
        .call = {.size = sizeof host->call,
                 .host = services(),
                 .installation_id = outer->installation_id ? outer->installation_id : "",
                 .deadline_ms = outer->deadline_ms,
                 .observe_only = outer->observe_only,
                 .hidden = host},
        .answer = {.size = sizeof host->answer},
        .driver = driver,
        .operation = operation,
        .outer = outer,
        .memory = talloc_new(outer->memory),
        .watch = {host, prepare, turn},
    };
}

void host_end(struct host_call *host)
{
    host_forget_json();
    talloc_free(host->memory);
    secret_wipe(host, sizeof *host);
}

static void log_warnings(struct host_call *host, const struct compute_observation *seen)
{
    size_t index;

    for (index = 0; index < seen->warnings; index++)
        record(host, LOG_WARN, seen->warning[index].code, seen->warning[index].message);
}

static bool end(struct host_call *host, enum occ_result result, struct compute_observation *seen,
                struct fault *fault)
{
    char problem[ANSWER_PROBLEM_SIZE];

    *seen = (struct compute_observation){.warnings = 0};
    if (host->stopped.class != FAULT_NONE) {
        *fault = host->stopped;
        return false;
    }
    if (result == OCC_CANCELLED && host->late) {
        return fault_set(fault, FAULT_RETRYABLE, "DRIVER_DEADLINE_EXCEEDED",
                         "The Driver %s did not finish %s within the time it had", host->driver->id,
                         host->operation);
    }
    if (!answer_check(result, &host->answer, problem))
        return host_refuse(host, problem, fault);
    answer_observe(&host->answer, seen);
    return result == OCC_READY || answer_fault(result, &host->answer, fault);
}

bool host_judge(struct host_call *host, enum occ_result result, struct compute_observation *seen,
                struct fault *fault)
{
    struct compute_observation unseen;
    bool done = end(host, result, seen ? seen : &unseen, fault);

    if (!seen)
        log_warnings(host, &unseen);
    if (!done && host->at_start && fault->class == FAULT_PERMANENT)
        fault->class = FAULT_CONFIGURATION;
    else if (!done && host->at_start && (fault->class == FAULT_RETRYABLE || fault->class == FAULT_PENDING))
        fault->class = FAULT_UNAVAILABLE;
    return done;
}

bool host_preflight(struct package_driver *driver, host_preflight_function function,
                    const struct driver_call *call, struct compute_observation *seen, struct fault *fault)
{
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, driver, call, "preflight");
    host.at_start = true;
    result = function(driver->self, &host.call, &host.answer);
    done = host_judge(&host, result, seen, fault);
    host_end(&host);
    return done;
}

bool host_refuse(const struct host_call *host, const char *what, struct fault *fault)
{
    return fault_set(fault, host->at_start ? FAULT_CONFIGURATION : FAULT_PERMANENT,
                     "INVALID_DRIVER_OBSERVATION", "The Driver %s (package %s) answered %s with %s",
                     host->driver->id, host->driver->package->name, host->operation, what);
}

enum occ_result host_answer(struct host_call *host, const struct fault *fault, struct occ_answer *answer)
{
    if (host->stopped.class != FAULT_NONE)
        return OCC_CANCELLED;
    return answer_of_fault(fault, answer);
}

enum occ_result host_call_invalid(struct host_call *host, const char *what, struct occ_answer *answer)
{
    struct fault fault;

    (void)fault_set(&fault, FAULT_PERMANENT, "DRIVER_CALL_INVALID",
                    "The Driver %s (package %s) called the host wrongly in %s: %s", host->driver->id,
                    host->driver->package->name, host->operation, what);
    return host_answer(host, &fault, answer);
}
