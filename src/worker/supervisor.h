/* SPDX-License-Identifier: MIT
 *
 * The supervisor: what its files share. It has no database, no TLS, no curl and no threads; it starts
 * children, hears what they do, says who may go on, and tells outsiders. Everything happens in one event loop
 * that never blocks:
 *
 *     supervisor.c  the loop, its signals and its clock      pool.c     children: start, tell, kill, reap
 *     startup.c     preflight before and the way to ready    hear.c     what a message of a child causes
 *     reload.c      SIGHUP                                   stop.c     the one way to stop
 *     health.c      markers, watchdog, STATUS                events.c   the records that operators see
 */
#ifndef OCC_WORKER_SUPERVISOR_H
#define OCC_WORKER_SUPERVISOR_H

#include "lib/config/worker_settings.h"
#include "src/worker/deaths.h"
#include "src/worker/deployments.h"
#include "src/worker/drain.h"
#include "src/worker/limit.h"
#include "src/worker/marker.h"
#include "src/worker/notify.h"
#include "src/worker/report.h"
#include "src/worker/slot.h"

#include <systemd/sd-event.h>

enum phase {
    PHASE_VERIFYING, /* preflight, perhaps again and again */
    PHASE_STARTING,  /* verified; the children come up */
    PHASE_READY,
    PHASE_STOPPING,
};

/* A verification under way: at the start, or for a reload. */
struct verification {
    struct slot slot; /* of the preflight child */
    struct report *report;
    struct worker_settings *loaded;
    int snapshot;             /* sealed; -1: none */
    int64_t deadline_ms;      /* the start timeout's end; CLOCK_NEVER for a reload */
    int64_t retry_ms;         /* when to try again; CLOCK_NEVER: not */
    struct message_step step; /* what its child looks at; `what` "": nothing of its own */
    int64_t step_end_ms;      /* when that must have ended; CLOCK_NEVER: with the rest */
    struct backoff backoff;
};

struct supervisor {
    const struct worker_settings *settings; /* as flags and environment say; files not read */
    struct sd_event *loop;
    struct sd_event_source *clock;
    int64_t clock_ms;  /* when the clock's source fires; CLOCK_NEVER: not */
    int64_t looked_ms; /* when the clock last fired */
    struct notify *notify;
    struct marker readiness, liveness;
    enum phase phase;
    int64_t born_ms;
    int exit_status;

    bool check; /* --check: verify, print, exit */
    bool check_json;

    /* slots[0] is the dispatcher's, the others are the reconcilers'. */
    struct slot *slots;
    size_t slot_count;
    struct rate restarts;
    struct slot_limits limits;
    unsigned wakes;        /* "wake one" that found nobody idle */
    unsigned told_resting; /* the number that the dispatcher knows; UINT_MAX: none */
    bool look;             /* the dispatcher is to look at the queue for a new reconciler */
    struct deaths deaths;
    struct deployments deployments;

    struct verification verification;
    struct report *verified; /* what the present configuration's preflight found */
    int snapshot;            /* the present configuration */
    unsigned generation;
    bool reload_wanted; /* a SIGHUP came while it could not be served */
    int64_t reload_begun_ms;
    bool rolling; /* children of an older generation are being replaced */

    struct drain drain;
    const char *stop_reason;

    bool healthy_once;
    bool connected; /* the dispatcher has its database */
    int64_t health_ms, pending, oldest_pending_age_ms;
    int64_t outage_since_ms;
    struct fault outage; /* code "": none */
    int64_t progress_ms; /* the last sign of any child */
    int64_t liveness_due_ms, watchdog_due_ms;
    uint64_t passes;
    struct limit limit;
};

#define SLOT_DISPATCHER 0
#define SLOT_FIRST_RECONCILER 1

/* ---- supervisor.c */

/* Runs a worker to its end; returns the exit status. With
 * `check` it only verifies and prints the report on stdout. */
int supervisor_run(const struct worker_settings *settings, bool check, bool check_json);

/* After anything has happened: brings children, orders and the clock to where they should be. */
void supervisor_settle(struct supervisor *supervisor);
void supervisor_exit(struct supervisor *supervisor, int status);

/* ---- pool.c */

/* Starts a child in the slot. False with why in the fault: then the slot waits (`retry_ms`). */
bool pool_start(struct supervisor *supervisor, struct slot *slot, int snapshot, struct fault *fault);
/* Sends an order. A child that has no room for it is stuck and is killed. */
void pool_tell(struct supervisor *supervisor, struct slot *slot, const struct message *message);
void pool_tell_type(struct supervisor *supervisor, struct slot *slot, enum message_type type);
/* SIGKILL; `reason` (static) goes into the record and, as WORKER_HUNG, into the work's evidence. */
void pool_kill(struct supervisor *supervisor, struct slot *slot, const char *reason);
/* After a SIGCHLD: finds exits that their sources did not tell. */
void pool_look_again(struct supervisor *supervisor);
unsigned pool_count(const struct supervisor *supervisor, enum slot_state state);
unsigned pool_live_reconcilers(const struct supervisor *supervisor);

/* ---- startup.c */

void startup_begin(struct supervisor *supervisor);
/* Reads the files, seals a snapshot and starts a preflight. False with what is wrong in the report. */
bool verification_begin(struct supervisor *supervisor);
/* The preflight child has ended. */
void startup_preflight_ended(struct supervisor *supervisor, const struct slot_end *end);
void startup_tick(struct supervisor *supervisor, int64_t now_ms);
/* Makes the verified configuration the present one. */
void verification_adopt(struct supervisor *supervisor);
/* Its child begins something that may crash or hang. */
void verification_step(struct supervisor *supervisor, const struct message_step *step);
/* When its child must have ended; CLOCK_NEVER without one. */
int64_t verification_end_ms(const struct supervisor *supervisor);
/* Adds to the report why its child ended without a verdict, where that is so. */
void verification_explain(struct supervisor *supervisor, const struct slot_end *end);
/* Forgets the verification under way: its report, settings and snapshot. */
void verification_drop(struct supervisor *supervisor);
void startup_check_ready(struct supervisor *supervisor);

/* ---- hear.c */

void hear(struct supervisor *supervisor, struct slot *slot, const struct message *message);
/* Gives "go" to as many idle reconcilers as are wanted. */
void hear_wake(struct supervisor *supervisor);
/* Tells the dispatcher what it must know: deaths, and how many reconcilers are idle. */
void hear_tell_dispatcher(struct supervisor *supervisor);

/* ---- reload.c */

void reload_begin(struct supervisor *supervisor);
void reload_preflight_ended(struct supervisor *supervisor, const struct slot_end *end);
/* Replaces the next child of an older generation. */
void reload_roll(struct supervisor *supervisor);

/* ---- stop.c */

/* The one way to stop, for signals and for errors. */
void stop_begin(struct supervisor *supervisor, const char *reason, int exit_status);
void stop_hurry(struct supervisor *supervisor);
void stop_settle(struct supervisor *supervisor, int64_t now_ms);

/* ---- health.c */

void health_open(struct supervisor *supervisor);
void health_report(struct supervisor *supervisor, const struct message_health *health);
void health_outage(struct supervisor *supervisor, const struct message_fault *outage);
/* The dispatcher is gone: nothing is known of the database. */
void health_unknown(struct supervisor *supervisor);
/* Kills children that hang, writes liveness, pings the watchdog. */
void health_tick(struct supervisor *supervisor, int64_t now_ms);
void health_status(struct supervisor *supervisor);
/* When health_tick() is due. */
int64_t health_due_ms(const struct supervisor *supervisor);

/* ---- events.c */

void event_started(const struct supervisor *supervisor);
void event_warnings(const struct supervisor *supervisor);
void event_startup_errors(const struct report *report);
/* `timing`: of a deployment; NULL: there is none to tell. */
void event_completed(const struct pass_report *report, bool crashed, int64_t duration_ms,
                     const struct deployment_timing *timing);
void event_child_exited(struct supervisor *supervisor, const struct slot *slot, const struct slot_end *end,
                        int64_t retry_in_ms);
void event_error(struct supervisor *supervisor, const char *role, const struct fault *fault);
void event_health(const struct supervisor *supervisor);
void event_recovered_health(struct supervisor *supervisor, int64_t outage_ms);
void event_draining(const struct supervisor *supervisor, unsigned busy);
void event_stopped(const struct supervisor *supervisor);
void event_reloaded(const struct supervisor *supervisor, int64_t duration_ms);

#endif
