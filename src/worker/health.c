/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#define LIVENESS_MS 5000
/* Without any sign of any child for so long, the worker as a whole makes no progress. The dispatcher gives
 * one at least every few seconds, database up or not. */
#define PROGRESS_MS 30000

void health_open(struct supervisor *supervisor)
{
    int64_t watchdog_ms = notify_watchdog_ms(supervisor->notify);

    supervisor->readiness.path = supervisor->settings->readiness_path;
    supervisor->liveness.path = supervisor->settings->liveness_path;
    supervisor->progress_ms = supervisor->liveness_due_ms = clock_now_ms();
    supervisor->watchdog_due_ms = watchdog_ms ? supervisor->progress_ms : CLOCK_NEVER;
    marker_remove(&supervisor->readiness);
}

static void write_marker(struct supervisor *supervisor, struct marker *marker)
{
    struct fault fault;
    bool told;

    if (!marker_write(marker, &told, &fault) && told)
        event_error(supervisor, "supervisor", &fault);
}

void health_status(struct supervisor *supervisor)
{
    unsigned live = pool_live_reconcilers(supervisor);

    if (supervisor->phase != PHASE_READY || supervisor->rolling || supervisor->verification.report)
        return;
    if (supervisor->outage.code[0])
        notify_status(supervisor->notify, "Without its database: %s", supervisor->outage.message);
    else
        notify_status(supervisor->notify, "%u of %d reconcilers live, %u idle, %lld items pending", live,
                      supervisor->settings->reconcilers, pool_count(supervisor, SLOT_IDLE),
                      (long long)supervisor->pending);
}

void health_report(struct supervisor *supervisor, const struct message_health *health)
{
    int64_t now_ms = clock_now_ms();

    supervisor->pending = health->pending;
    supervisor->oldest_pending_age_ms = health->oldest_pending_age_ms;
    supervisor->health_ms = now_ms;
    supervisor->healthy_once = supervisor->connected = true;
    if (supervisor->outage.code[0]) {
        supervisor->outage = (struct fault){.class = FAULT_NONE};
        event_recovered_health(supervisor, now_ms - supervisor->outage_since_ms);
    } else {
        event_health(supervisor);
    }
    /* Ready means that work would be done: never without a live reconciler (K52). */
    if (supervisor->phase == PHASE_READY && pool_live_reconcilers(supervisor) > 0)
        write_marker(supervisor, &supervisor->readiness);
    health_status(supervisor);
}

void health_outage(struct supervisor *supervisor, const struct message_fault *outage)
{
    struct fault *known = &supervisor->outage;

    supervisor->connected = false;
    if (!known->code[0])
        supervisor->outage_since_ms = clock_now_ms();
    if (text_equal(known->code, outage->code))
        return;
    known->class = (enum fault_class)outage->class;
    (void)text_copy(known->code, sizeof known->code, outage->code);
    (void)text_copy(known->message, sizeof known->message, outage->message);
    (void)text_copy(known->dependency, sizeof known->dependency, outage->dependency);
    (void)text_copy(known->cause, sizeof known->cause, outage->cause);
    event_error(supervisor, "dispatcher", known);
    health_status(supervisor);
}

void health_unknown(struct supervisor *supervisor)
{
    supervisor->connected = false;
}

/* The loop turns, since it is here; and some child makes progress, once there are children. */
static bool healthy(const struct supervisor *supervisor, int64_t now_ms)
{
    return supervisor->phase == PHASE_VERIFYING || supervisor->phase == PHASE_STOPPING ||
           now_ms - supervisor->progress_ms < PROGRESS_MS;
}

static void kill_hung(struct supervisor *supervisor, int64_t now_ms)
{
    size_t index;

    for (index = 0; index < supervisor->slot_count; index++) {
        if (slot_hung_at_ms(&supervisor->slots[index], &supervisor->limits) <= now_ms)
            pool_kill(supervisor, &supervisor->slots[index], "WORKER_HUNG");
    }
}

void health_tick(struct supervisor *supervisor, int64_t now_ms)
{
    kill_hung(supervisor, now_ms);
    if (supervisor->check)
        return;
    notify_owed(supervisor->notify);
    if (supervisor->liveness_due_ms <= now_ms) {
        supervisor->liveness_due_ms = now_ms + LIVENESS_MS;
        if (healthy(supervisor, now_ms))
            write_marker(supervisor, &supervisor->liveness);
    }
    if (supervisor->watchdog_due_ms <= now_ms) {
        supervisor->watchdog_due_ms = now_ms + notify_watchdog_ms(supervisor->notify) / 3;
        if (healthy(supervisor, now_ms))
            notify_send(supervisor->notify, "WATCHDOG=1");
    }
}

int64_t health_due_ms(const struct supervisor *supervisor)
{
    int64_t due_ms = supervisor->check ? CLOCK_NEVER : supervisor->liveness_due_ms, at_ms;
    size_t index;

    if (supervisor->watchdog_due_ms < due_ms)
        due_ms = supervisor->watchdog_due_ms;
    for (index = 0; index < supervisor->slot_count; index++) {
        at_ms = slot_hung_at_ms(&supervisor->slots[index], &supervisor->limits);
        if (at_ms < due_ms)
            due_ms = at_ms;
    }
    return due_ms;
}
