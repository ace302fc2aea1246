/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/drain.h"

#include "lib/base/clock.h"

static const char *const phase_names[] = {"none", "finish", "abort", "kill", "hand", "leave", "last", "done"};

const char *drain_phase_name(enum drain_phase phase)
{
    return phase < COUNT_OF(phase_names) ? phase_names[phase] : "unknown";
}

static void enter(struct drain *drain, enum drain_phase phase, int64_t until_ms)
{
    drain->phase = phase;
    drain->until_ms = until_ms;
}

void drain_begin(struct drain *drain, int64_t drain_timeout_ms, int64_t now_ms)
{
    drain->begun_ms = now_ms;
    enter(drain, DRAIN_FINISH, now_ms + drain_timeout_ms);
}

void drain_hurry(struct drain *drain, int64_t now_ms)
{
    if (drain->phase != DRAIN_NONE && drain->phase != DRAIN_KILL && drain->phase != DRAIN_LAST &&
        drain->until_ms > now_ms)
        drain->until_ms = now_ms;
}

/* The phase that follows at `now_ms`, or the present one. */
static enum drain_phase next_phase(const struct drain *drain, const struct drain_view *view, int64_t now_ms)
{
    bool over = now_ms >= drain->until_ms;

    switch (drain->phase) {
    case DRAIN_FINISH:
        return !view->reconcilers ? DRAIN_HAND : over ? DRAIN_ABORT : DRAIN_FINISH;
    case DRAIN_ABORT:
        return !view->reconcilers ? DRAIN_HAND : over ? DRAIN_KILL : DRAIN_ABORT;
    case DRAIN_KILL:
        return !view->reconcilers ? DRAIN_HAND : DRAIN_KILL;
    case DRAIN_HAND:
        /* Without its database the dispatcher has nothing to wait for: the leases run out by themselves. */
        return !view->others                               ? DRAIN_DONE
               : !view->deaths || !view->connected || over ? DRAIN_LEAVE
                                                           : DRAIN_HAND;
    case DRAIN_LEAVE:
        return !view->others ? DRAIN_DONE : over ? DRAIN_LAST : DRAIN_LEAVE;
    case DRAIN_LAST:
        return !view->others ? DRAIN_DONE : DRAIN_LAST;
    case DRAIN_NONE:
    case DRAIN_DONE:
        break;
    }
    return drain->phase;
}

bool drain_advance(struct drain *drain, const struct drain_view *view, int64_t now_ms)
{
    static const int64_t graces[] = {
        [DRAIN_ABORT] = DRAIN_ABORT_MS,
        [DRAIN_HAND] = DRAIN_HAND_MS,
        [DRAIN_LEAVE] = DRAIN_LEAVE_MS,
        [DRAIN_DONE] = 0,
    };
    enum drain_phase before = drain->phase, next;

    while ((next = next_phase(drain, view, now_ms)) != drain->phase)
        enter(drain, next, graces[next] ? now_ms + graces[next] : CLOCK_NEVER);
    return drain->phase != before;
}
