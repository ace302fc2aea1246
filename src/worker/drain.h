/* SPDX-License-Identifier: MIT
 *
 * How a worker stops, step by step. Pure: the caller brings the time and what still lives, and carries out
 * what each phase asks for.
 */
#ifndef OCC_WORKER_DRAIN_H
#define OCC_WORKER_DRAIN_H

#include "lib/base/build.h"

enum drain_phase {
    DRAIN_NONE,
    DRAIN_FINISH, /* nothing new; idle reconcilers leave, busy ones finish their pass */
    DRAIN_ABORT,  /* the drain time is over: passes hand their claims back */
    DRAIN_KILL,   /* who is left has not obeyed: SIGKILL */
    DRAIN_HAND,   /* no reconciler is left: the dispatcher hands back the claims of the dead */
    DRAIN_LEAVE,  /* the dispatcher leaves, too */
    DRAIN_LAST,   /* it has not obeyed: SIGKILL */
    DRAIN_DONE,   /* no child is left */
};

const char *drain_phase_name(enum drain_phase phase);

struct drain {
    enum drain_phase phase;
    int64_t begun_ms;
    int64_t until_ms; /* the end of this phase if nothing ends it before; CLOCK_NEVER: none */
};

/* Grace times beyond the drain time. */
#define DRAIN_ABORT_MS 5000 /* for a hand-back */
#define DRAIN_HAND_MS 2000  /* for the dispatcher to hand back */
#define DRAIN_LEAVE_MS 2000 /* for the dispatcher to leave */

void drain_begin(struct drain *drain, int64_t drain_timeout_ms, int64_t now_ms);

/* A second signal: what is left of the present phase is cut. */
void drain_hurry(struct drain *drain, int64_t now_ms);

/* What still lives. */
struct drain_view {
    unsigned reconcilers;
    unsigned others; /* the dispatcher and a preflight under way */
    bool deaths;     /* claims of dead children to hand back */
    bool connected;  /* the dispatcher has its database */
};

/* Goes on as far as the time and the view allow; true when the phase has changed. */
bool drain_advance(struct drain *drain, const struct drain_view *view, int64_t now_ms);

#endif
