/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <limits.h>

/* The idle reconciler with the lowest number; one of the present configuration before one that a reload has
 * yet to replace. */
static struct slot *idle_slot(struct supervisor *supervisor)
{
    struct slot *older = NULL;
    size_t index;

    for (index = SLOT_FIRST_RECONCILER; index < supervisor->slot_count; index++) {
        struct slot *slot = &supervisor->slots[index];

        if (slot->state != SLOT_IDLE)
            continue;
        if (slot->generation == supervisor->generation)
            return slot;
        if (!older)
            older = slot;
    }
    return older;
}

void hear_wake(struct supervisor *supervisor)
{
    struct slot *slot;

    if (supervisor->phase == PHASE_STOPPING)
        supervisor->wakes = 0;
    while (supervisor->wakes > 0 && (slot = idle_slot(supervisor))) {
        supervisor->wakes--;
        slot_become(slot, SLOT_WORKING, clock_now_ms());
        slot->heard_ms = slot->since_ms;
        pool_tell_type(supervisor, slot, MESSAGE_GO);
    }
}

/* Whom nobody could be woken for is remembered: a reconciler that is just about to say "idle" may have looked
 * at the queue before the row was there. */
static void hear_wanted(struct supervisor *supervisor, unsigned count)
{
    unsigned most = (unsigned)supervisor->settings->reconcilers;

    if (count > supervisor->wakes)
        supervisor->wakes = count < most ? count : most;
    hear_wake(supervisor);
}

static void hear_recovered(struct supervisor *supervisor, const struct pass_report *report)
{
    const struct death *death = report->token[0] ? deaths_find(&supervisor->deaths, report->token) : NULL;
    struct deployment_timing timing;
    bool timed = deployments_recovered(&supervisor->deployments, report, clock_now_ms(), &timing);

    event_completed(report, report->outcome != PASS_PERMANENT && report->outcome != PASS_HANDED_BACK,
                    death ? death->duration_ms : -1, timed ? &timing : NULL);
}

static void hear_report(struct supervisor *supervisor, const struct pass_report *report)
{
    struct deployment_timing timing;
    bool timed = deployments_reported(&supervisor->deployments, report, clock_now_ms(), &timing);

    supervisor->passes++;
    event_completed(report, false, report->duration_ms, timed ? &timing : NULL);
}

static void hear_fault(struct supervisor *supervisor, const struct slot *slot,
                       const struct message_fault *told)
{
    struct fault fault = {.class = (enum fault_class)told->class};

    (void)text_copy(fault.code, sizeof fault.code, told->code);
    (void)text_copy(fault.message, sizeof fault.message, told->message);
    (void)text_copy(fault.dependency, sizeof fault.dependency, told->dependency);
    (void)text_copy(fault.cause, sizeof fault.cause, told->cause);
    event_error(supervisor, role_name(slot->role), &fault);
}

void hear(struct supervisor *supervisor, struct slot *slot, const struct message *message)
{
    switch ((enum message_type)message->type) {
    case MESSAGE_STEP:
        if (slot == &supervisor->verification.slot)
            verification_step(supervisor, &message->body.step);
        break;
    case MESSAGE_FACT:
    case MESSAGE_FINDING:
    case MESSAGE_VERDICT:
        if (supervisor->verification.report)
            report_take(supervisor->verification.report, message);
        break;
    case MESSAGE_FAULT:
        hear_fault(supervisor, slot, &message->body.fault);
        break;
    case MESSAGE_IDLE:
        supervisor->look = supervisor->look || !slot->was_idle;
        slot->was_idle = true;
        if (slot->state == SLOT_IDLE)
            hear_wake(supervisor);
        startup_check_ready(supervisor);
        break;
    case MESSAGE_REPORT:
        hear_report(supervisor, &message->body.report);
        break;
    case MESSAGE_WAKE:
        hear_wanted(supervisor, message->body.count.count);
        break;
    case MESSAGE_HEALTH:
        health_report(supervisor, &message->body.health);
        startup_check_ready(supervisor);
        break;
    case MESSAGE_OUTAGE:
        health_outage(supervisor, &message->body.fault);
        break;
    case MESSAGE_RECOVERED:
        hear_recovered(supervisor, &message->body.report);
        break;
    case MESSAGE_RELEASED:
        deaths_remove(&supervisor->deaths, message->body.token.token);
        break;
    default:
        break;
    }
}

void hear_tell_dispatcher(struct supervisor *supervisor)
{
    struct slot *slot = &supervisor->slots[SLOT_DISPATCHER];
    unsigned resting = pool_count(supervisor, SLOT_IDLE);
    struct message message;
    struct death *death;

    if (!slot->greeted || slot->state == SLOT_KILLED || slot->channel < 0) {
        supervisor->told_resting = UINT_MAX;
        return;
    }
    while (slot->state != SLOT_KILLED && (death = deaths_unsent(&supervisor->deaths))) {
        message = message_new(MESSAGE_RELEASE);
        message.body.release = death->release;
        death->sent = true;
        pool_tell(supervisor, slot, &message);
    }
    if (resting != supervisor->told_resting && slot->state != SLOT_KILLED) {
        message = message_new(MESSAGE_RESTING);
        message.body.count.count = resting;
        supervisor->told_resting = resting;
        pool_tell(supervisor, slot, &message);
    }
    if (supervisor->look && slot->state != SLOT_KILLED) {
        supervisor->look = false;
        pool_tell_type(supervisor, slot, MESSAGE_LOOK);
    }
}
