/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "src/worker/child.h"

#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* Signals before everything, then channels and exits (pool.c); what follows from all that; the clock last, so
 * that nobody counts as hung whose message lies there unread. */
#define PRIORITY_SIGNAL SD_EVENT_PRIORITY_IMPORTANT
#define PRIORITY_LOOK (SD_EVENT_PRIORITY_NORMAL + 10)
#define PRIORITY_SETTLE (SD_EVENT_PRIORITY_NORMAL + 20)
#define PRIORITY_CLOCK (SD_EVENT_PRIORITY_NORMAL + 40)

/* The clock came so much later than it was set: we, or the machine, did not run. */
#define ASLEEP_MS 1000

void supervisor_exit(struct supervisor *supervisor, int status)
{
    supervisor->exit_status = status;
    (void)sd_event_exit(supervisor->loop, status);
}

static int on_stop(struct sd_event_source *source, const struct signalfd_siginfo *info, void *subject)
{
    struct supervisor *supervisor = subject;

    (void)source;
    if (supervisor->check)
        supervisor_exit(supervisor, 128 + (int)info->ssi_signo);
    else if (supervisor->phase == PHASE_STOPPING)
        stop_hurry(supervisor);
    else
        stop_begin(supervisor, info->ssi_signo == SIGINT ? "SIGINT" : "SIGTERM", 0);
    return 0;
}

static int on_reload(struct sd_event_source *source, const struct signalfd_siginfo *info, void *subject)
{
    (void)source;
    (void)info;
    reload_begin(subject);
    return 0;
}

static int on_child_signal(struct sd_event_source *source, const struct signalfd_siginfo *info, void *subject)
{
    (void)source;
    (void)info;
    pool_look_again(subject);
    return 0;
}

static int on_settle(struct sd_event_source *source, void *subject)
{
    (void)source;
    supervisor_settle(subject);
    return 0;
}

/* While this process was stopped, or the machine asleep, no child could be heard: they all get their time
 * again. */
static void forgive(struct supervisor *supervisor, int64_t now_ms)
{
    size_t index;

    for (index = 0; index < supervisor->slot_count; index++) {
        struct slot *slot = &supervisor->slots[index];

        slot->heard_ms = slot->confirmed_ms = now_ms;
        if (slot->state == SLOT_STARTING)
            slot->started_ms = now_ms;
    }
    supervisor->progress_ms = now_ms;
}

static int on_clock(struct sd_event_source *source, uint64_t wanted_us, void *subject)
{
    struct supervisor *supervisor = subject;
    int64_t now_ms = clock_now_ms();

    (void)source;
    supervisor->clock_ms = CLOCK_NEVER;
    if (now_ms - (int64_t)(wanted_us / 1000) > ASLEEP_MS)
        forgive(supervisor, now_ms);
    startup_tick(supervisor, now_ms);
    health_tick(supervisor, now_ms);
    supervisor_settle(supervisor);
    return 0;
}

/* A first child, or one in the place of one that left in order, starts at once; one in the place of a failed
 * one after its slot's delay, and as the limit over all slots allows. */
static bool may_start(struct supervisor *supervisor, const struct slot *slot, int64_t now_ms)
{
    if (slot->state == SLOT_EMPTY)
        return true;
    return slot->state == SLOT_WAITING && slot->retry_ms <= now_ms &&
           rate_take(&supervisor->restarts, now_ms);
}

/* Starts what is wanted and may start now; returns when more may. */
static int64_t top_up(struct supervisor *supervisor, int64_t now_ms)
{
    int64_t due_ms = CLOCK_NEVER, at_ms;
    struct fault fault;
    size_t index;

    if (supervisor->phase != PHASE_STARTING && supervisor->phase != PHASE_READY)
        return due_ms;
    for (index = 0; index < supervisor->slot_count; index++) {
        struct slot *slot = &supervisor->slots[index];

        if (may_start(supervisor, slot, now_ms) &&
            !pool_start(supervisor, slot, supervisor->snapshot, &fault))
            event_error(supervisor, role_name(slot->role), &fault);
        if (slot->state == SLOT_WAITING) {
            at_ms = slot->retry_ms > now_ms ? slot->retry_ms : rate_next_ms(&supervisor->restarts, now_ms);
            due_ms = at_ms < due_ms ? at_ms : due_ms;
        }
    }
    return due_ms;
}

static void set_clock(struct supervisor *supervisor, int64_t due_ms)
{
    /* Only ever earlier: a deadline that has moved on costs one early look instead of a system call each time
     * it moves. */
    if (due_ms >= supervisor->clock_ms)
        return;
    supervisor->clock_ms = due_ms;
    (void)sd_event_source_set_time(supervisor->clock, due_ms > 0 ? (uint64_t)due_ms * 1000 : 0);
    (void)sd_event_source_set_enabled(supervisor->clock, SD_EVENT_ONESHOT);
}

void supervisor_settle(struct supervisor *supervisor)
{
    struct verification *verification = &supervisor->verification;
    int64_t now_ms = clock_now_ms(), due_ms, at_ms;

    if (supervisor->phase == PHASE_STOPPING)
        stop_settle(supervisor, now_ms);
    else
        reload_roll(supervisor);
    due_ms = top_up(supervisor, now_ms);
    if (supervisor->reload_wanted)
        reload_begin(supervisor);
    hear_tell_dispatcher(supervisor);
    if (supervisor->phase == PHASE_STOPPING && supervisor->drain.until_ms < due_ms)
        due_ms = supervisor->drain.until_ms;
    if (verification->retry_ms < due_ms)
        due_ms = verification->retry_ms;
    at_ms = verification_end_ms(supervisor);
    if (at_ms < due_ms)
        due_ms = at_ms;
    at_ms = health_due_ms(supervisor);
    set_clock(supervisor, at_ms < due_ms ? at_ms : due_ms);
}

static bool add_signal(struct supervisor *supervisor, int number, int64_t priority,
                       sd_event_signal_handler_t handler)
{
    struct sd_event_source *source;

    if (sd_event_add_signal(supervisor->loop, &source, number, handler, supervisor) < 0)
        return false;
    (void)sd_event_source_set_floating(source, 1);
    sd_event_source_unref(source);
    return sd_event_source_set_priority(source, priority) >= 0;
}

static void block_signals(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    /* Before the first child source, or exits between fork and the source are lost (K50). */
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)sigaction(SIGPIPE, &ignore, NULL);
}

static void open_loop(struct supervisor *supervisor)
{
    struct sd_event_source *settle;

    block_signals();
    if (sd_event_new(&supervisor->loop) < 0 || !add_signal(supervisor, SIGTERM, PRIORITY_SIGNAL, on_stop) ||
        !add_signal(supervisor, SIGINT, PRIORITY_SIGNAL, on_stop) ||
        !add_signal(supervisor, SIGHUP, PRIORITY_SIGNAL, on_reload) ||
        !add_signal(supervisor, SIGCHLD, PRIORITY_LOOK, on_child_signal) ||
        sd_event_add_post(supervisor->loop, &settle, on_settle, supervisor) < 0 ||
        sd_event_source_set_priority(settle, PRIORITY_SETTLE) < 0 ||
        sd_event_source_set_floating(settle, 1) < 0 ||
        sd_event_add_time(supervisor->loop, &supervisor->clock, CLOCK_BOOTTIME, 0, 1000, on_clock,
                          supervisor) < 0 ||
        sd_event_source_set_priority(supervisor->clock, PRIORITY_CLOCK) < 0)
        mem_exhausted();
    sd_event_source_unref(settle);
}

static struct supervisor *supervisor_new(const struct worker_settings *settings)
{
    struct supervisor *supervisor = mem_new(NULL, struct supervisor);
    int64_t now_ms = clock_now_ms();
    size_t index;

    supervisor->settings = settings;
    supervisor->born_ms = now_ms;
    supervisor->clock_ms = CLOCK_NEVER;
    supervisor->snapshot = supervisor->verification.snapshot = -1;
    supervisor->verification.retry_ms = supervisor->verification.step_end_ms = CLOCK_NEVER;
    slot_init(&supervisor->verification.slot, ROLE_PREFLIGHT, 0, now_ms);
    supervisor->told_resting = UINT_MAX;
    supervisor->slot_count = 1 + (size_t)settings->reconcilers;
    supervisor->slots = mem_array(supervisor, struct slot, supervisor->slot_count);
    for (index = 0; index < supervisor->slot_count; index++)
        slot_init(&supervisor->slots[index], index == SLOT_DISPATCHER ? ROLE_DISPATCHER : ROLE_RECONCILER,
                  (unsigned)index, now_ms);
    supervisor->restarts = (struct rate){.burst = (unsigned)supervisor->slot_count, .interval_ms = 100};
    supervisor->limits = slot_limits_for(settings->lease_duration_ms, settings->database_timeout_ms);
    supervisor->notify = notify_open(supervisor);
    return supervisor;
}

int supervisor_run(const struct worker_settings *settings, bool check, bool check_json)
{
    struct supervisor *supervisor = supervisor_new(settings);
    int status = 70;

    supervisor->check = check;
    supervisor->check_json = check_json;
    (void)umask(077);
    child_harden();
    open_loop(supervisor);
    if (!check)
        health_open(supervisor);
    else
        supervisor->watchdog_due_ms = CLOCK_NEVER;
    startup_begin(supervisor);
    supervisor_settle(supervisor);
    (void)sd_event_loop(supervisor->loop);
    status = supervisor->exit_status;
    if (!check)
        marker_remove(&supervisor->readiness);
    if (supervisor->phase == PHASE_STOPPING)
        event_stopped(supervisor);
    supervisor->clock = sd_event_source_unref(supervisor->clock);
    supervisor->loop = sd_event_unref(supervisor->loop);
    talloc_free(supervisor);
    return status;
}
