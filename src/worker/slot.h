/* SPDX-License-Identifier: MIT
 *
 * The slot table: one slot for each child that the worker wants, and what is known of the child in it. Pure:
 * no process is started or signalled here, and the caller brings the time.
 */
#ifndef OCC_WORKER_SLOT_H
#define OCC_WORKER_SLOT_H

#include "src/worker/backoff.h"
#include "src/worker/message.h"

#include <sys/types.h>

struct sd_event_source;

enum slot_state {
    SLOT_EMPTY,     /* wants a child now */
    SLOT_WAITING,   /* wants one at `retry_ms` */
    SLOT_STARTING,  /* has one that is not ready yet */
    SLOT_IDLE,      /* a reconciler that waits for "go" */
    SLOT_WORKING,   /* a reconciler on its way, or the dispatcher or preflight */
    SLOT_FINISHING, /* was told to finish and leave */
    SLOT_ABORTING,  /* was told to hand back and leave */
    SLOT_KILLED,    /* was sent SIGKILL, is not reaped yet */
    SLOT_CLOSED,    /* wants none any more */
};

const char *slot_state_name(enum slot_state state);

/* A claim that a reconciler announced. */
struct slot_claim {
    struct message_claimed item; /* the token alone until `claimed` */
    bool claimed;
    int64_t since_ms;
};

struct slot {
    enum role role;
    unsigned number;
    enum slot_state state;
    int64_t since_ms; /* in this state */
    int64_t retry_ms; /* SLOT_WAITING: when to try again */
    struct backoff backoff;

    /* The child; meaningful from SLOT_STARTING to SLOT_KILLED. */
    pid_t pid;
    int channel; /* -1: closed or none */
    struct sd_event_source *channel_source, *child_source;
    int64_t started_ms;
    bool greeted;
    bool was_idle;              /* at least once: it is not new any more */
    unsigned generation;        /* of the configuration that it was started with */
    const char *kill_reason;    /* why we sent SIGKILL, or NULL; static */
    struct message_fault fault; /* what it said went wrong; code "" when nothing */

    /* What a reconciler is doing. While one outcome and the next claim travel in one transaction, both tokens
     * are at stake. */
    struct slot_claim current, next;
    int64_t heard_ms;     /* the last message of any kind */
    int64_t confirmed_ms; /* the claim's last confirmed lease */
};

void slot_init(struct slot *slot, enum role role, unsigned number, int64_t now_ms);

/* The one function that changes a state. It logs the change (debug). A change that there is not in the table
 * is a bug: it is logged as an error, and made all the same. */
void slot_become(struct slot *slot, enum slot_state state, int64_t now_ms);
bool slot_may_become(enum slot_state from, enum slot_state to);

/* Whether there is a process in it. */
bool slot_is_live(const struct slot *slot);

/* A child was started in it. */
void slot_started(struct slot *slot, pid_t pid, int channel, unsigned generation, int64_t now_ms);

/* A message of its child changes what is known of it. */
void slot_heard(struct slot *slot, const struct message *message, int64_t now_ms);

/* What its child is doing, for people: "idle", "claiming", "namespace.ensure" … */
const char *slot_doing(const struct slot *slot);

/* ---- Hanging. */

struct slot_limits {
    int64_t start_ms;      /* from start to the first message, and to idle */
    int64_t pass_ms;       /* a pass without any sign */
    int64_t claim_ms;      /* a pass whose lease is not confirmed */
    int64_t rest_ms;       /* a reconciler outside of a pass, or preflight, without any sign */
    int64_t dispatcher_ms; /* the dispatcher without any sign; it gives one every three seconds */
};

/* For a lease and a client-side database limit of so many milliseconds. A pass renews every third of its
 * lease and looks at its channel at least as often; it counts as hung early enough that its claim can be
 * taken back before the lease runs out. A pass that lives but cannot reach its database gives up by itself;
 * two limits of the database and two leases later it has not. */
struct slot_limits slot_limits_for(int64_t lease_ms, int64_t database_timeout_ms);

/* When the child will count as hung if nothing is heard of it; CLOCK_NEVER: never. */
int64_t slot_hung_at_ms(const struct slot *slot, const struct slot_limits *limits);

/* ---- The end of a child. */

enum slot_next {
    SLOT_REPLACE, /* done or recycled: another one at once */
    SLOT_RETRY,   /* failed: another one after a delay */
    SLOT_GIVE_UP, /* configuration: the worker ends */
};

struct slot_end {
    enum slot_next next;
    bool by_signal;
    int number; /* the exit status or the signal */
    /* Claims to hand back, with the code; code NULL: none. */
    const char *release_code;
    const char *tokens[2];
    size_t token_count;
};

/* Judges the end of the slot's child (`by_signal` and `number` as waitid(2) tells them), after its channel
 * was read to the end. Exit statuses: 0 done or recycled, 75 try again, 78 configuration, 69 dependency; a
 * signal is a crash, and so is any end within a pass that nobody had asked for: no status that a Driver ends
 * the process with means anything. A child that ends well within a second of its start is no recycled one: it
 * is retried with a delay. */
struct slot_end slot_judge(const struct slot *slot, bool by_signal, int number, int64_t now_ms);

/* Its delays have come to their longest, and no child of it has been well since. */
bool slot_is_hopeless(const struct slot *slot, int64_t now_ms);

/* Forgets the child after its end. The state is the caller's to change. */
void slot_vacate(struct slot *slot);

#endif
