/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "tests/integration/probe_answer.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"

#define TURN_MS 20

static const char *const class_names[] = {
    [FAULT_NONE] = "none",
    [FAULT_PENDING] = "pending",
    [FAULT_RETRYABLE] = "retryable",
    [FAULT_PERMANENT] = "permanent",
    [FAULT_CLAIM_LOST] = "claim_lost",
    [FAULT_CANCELLED] = "cancelled",
    [FAULT_CONFIGURATION] = "configuration",
    [FAULT_UNAVAILABLE] = "unavailable",
    [FAULT_INVALID] = "invalid",
    [FAULT_DENIED] = "denied",
    [FAULT_NOT_FOUND] = "not_found",
    [FAULT_CONFLICT] = "conflict",
    [FAULT_BUG] = "bug",
};

static struct {
    int64_t end_ms; /* 0: never */
    int64_t next_ms;
    int64_t turns;
} watching;

static size_t prepare_watch(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    (void)subject;
    (void)room;
    if (watching.next_ms < *wake_ms)
        *wake_ms = watching.next_ms;
    return 0;
}

static bool turn_watch(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    const int64_t now_ms = clock_now_ms();

    (void)subject;
    (void)ready;
    (void)count;
    watching.turns++;
    watching.next_ms = now_ms + TURN_MS;
    if (watching.end_ms > 0 && now_ms >= watching.end_ms)
        return fault_set(fault, FAULT_CANCELLED, "PROBE_CANCELLED", "the watch ended it");
    return true;
}

const struct watch probe_watch = {.prepare = prepare_watch, .turn = turn_watch};

void probe_watch_begin(int64_t begun_ms, int64_t watch_ms)
{
    watching.turns = 0;
    watching.next_ms = begun_ms + TURN_MS;
    watching.end_ms = watch_ms > 0 ? begun_ms + watch_ms : 0;
}

void probe_tell(cJSON *told, bool ok, const struct fault *fault, int64_t elapsed_ms)
{
    json_add_boolean(told, "ok", ok);
    json_add_text(told, "class", class_names[ok ? FAULT_NONE : fault->class]);
    json_add_text(told, "code", ok ? "" : fault->code);
    json_add_text(told, "message", ok ? "" : fault->message);
    json_add_text(told, "dependency", ok ? "" : fault->dependency);
    json_add_text(told, "cause", ok ? "" : fault->cause);
    json_add_number(told, "retryAfterMs", ok ? 0 : fault->retry_after_ms);
    json_add_number(told, "exit", ok ? 0 : fault_exit_status(fault));
    json_add_number(told, "turns", watching.turns);
    json_add_number(told, "elapsedMs", elapsed_ms);
}

void probe_answer(const cJSON *told)
{
    TALLOC_CTX *context = talloc_new(NULL);

    (void)printf("%s\n", json_write(context, told));
    (void)fflush(stdout);
    talloc_free(context);
}
