/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"

#define EXTEND_MS 20000

static unsigned busy(const struct supervisor *supervisor)
{
    unsigned count = 0;
    size_t index;

    for (index = SLOT_FIRST_RECONCILER; index < supervisor->slot_count; index++)
        count += slot_is_live(&supervisor->slots[index]) && supervisor->slots[index].current.claimed;
    return count;
}

/* Brings the reconcilers, or the others, to where the phase wants them. */
static void order_slot(struct supervisor *supervisor, struct slot *slot, enum message_type order,
                       enum slot_state state, int64_t now_ms)
{
    if (!slot_is_live(slot) || !slot_may_become(slot->state, state))
        return;
    pool_tell_type(supervisor, slot, order);
    if (slot->state != SLOT_KILLED)
        slot_become(slot, state, now_ms);
}

static void order_reconcilers(struct supervisor *supervisor, int64_t now_ms)
{
    size_t index;

    for (index = SLOT_FIRST_RECONCILER; index < supervisor->slot_count; index++) {
        struct slot *slot = &supervisor->slots[index];

        /* Who waits for a database that is down, without a pass to finish, has nothing to stay for. */
        if (supervisor->drain.phase == DRAIN_FINISH && slot->state == SLOT_FINISHING &&
            !supervisor->connected && !slot->current.claimed)
            order_slot(supervisor, slot, MESSAGE_ABORT, SLOT_ABORTING, now_ms);
        else if (supervisor->drain.phase == DRAIN_FINISH)
            order_slot(supervisor, slot, MESSAGE_FINISH, SLOT_FINISHING, now_ms);
        else if (supervisor->drain.phase == DRAIN_ABORT)
            order_slot(supervisor, slot, MESSAGE_ABORT, SLOT_ABORTING, now_ms);
        else
            pool_kill(supervisor, slot, "WORKER_HUNG");
    }
}

static void order_dispatcher(struct supervisor *supervisor, int64_t now_ms)
{
    struct slot *slot = &supervisor->slots[SLOT_DISPATCHER];

    if (supervisor->drain.phase == DRAIN_LEAVE)
        order_slot(supervisor, slot, MESSAGE_ABORT, SLOT_ABORTING, now_ms);
    else if (supervisor->drain.phase == DRAIN_LAST)
        pool_kill(supervisor, slot, "WORKER_HUNG");
    else
        order_slot(supervisor, slot, MESSAGE_FINISH, SLOT_FINISHING, now_ms);
}

void stop_begin(struct supervisor *supervisor, const char *reason, int exit_status)
{
    int64_t now_ms = clock_now_ms();
    size_t index;

    if (supervisor->phase == PHASE_STOPPING)
        return;
    supervisor->phase = PHASE_STOPPING;
    supervisor->stop_reason = reason;
    supervisor->exit_status = exit_status;
    supervisor->reload_wanted = supervisor->rolling = false;
    marker_remove(&supervisor->readiness);
    notify_phase(supervisor->notify, "STOPPING=1");
    notify_extend(supervisor->notify, supervisor->settings->drain_timeout_ms + EXTEND_MS);
    drain_begin(&supervisor->drain, supervisor->settings->drain_timeout_ms, now_ms);
    notify_status(supervisor->notify, "Stopping: %u passes under way", busy(supervisor));
    event_draining(supervisor, busy(supervisor));
    pool_kill(supervisor, &supervisor->verification.slot, "WORKER_DRAINING");
    for (index = 0; index < supervisor->slot_count; index++) {
        if (!slot_is_live(&supervisor->slots[index]) && supervisor->slots[index].state != SLOT_CLOSED)
            slot_become(&supervisor->slots[index], SLOT_CLOSED, now_ms);
    }
}

void stop_hurry(struct supervisor *supervisor)
{
    drain_hurry(&supervisor->drain, clock_now_ms());
}

void stop_settle(struct supervisor *supervisor, int64_t now_ms)
{
    const struct drain_view view = {
        .reconcilers = pool_live_reconcilers(supervisor),
        .others = (unsigned)slot_is_live(&supervisor->slots[SLOT_DISPATCHER]) +
                  (unsigned)slot_is_live(&supervisor->verification.slot),
        .deaths = supervisor->deaths.count > 0,
        .connected = supervisor->connected,
    };

    if (drain_advance(&supervisor->drain, &view, now_ms) && supervisor->drain.phase != DRAIN_DONE) {
        if (supervisor->drain.phase == DRAIN_ABORT || supervisor->drain.phase == DRAIN_KILL) {
            event_draining(supervisor, busy(supervisor));
            notify_status(supervisor->notify, "Stopping: %u passes hand their claims back", busy(supervisor));
        }
    }
    if (supervisor->drain.phase == DRAIN_DONE) {
        supervisor_exit(supervisor, supervisor->exit_status);
        return;
    }
    order_reconcilers(supervisor, now_ms);
    order_dispatcher(supervisor, now_ms);
}
