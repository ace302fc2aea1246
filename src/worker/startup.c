/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/snapshot.h"
#include "lib/io/pg.h"

#include <unistd.h>

/* How much longer than its next try the service manager is asked to wait. */
#define EXTEND_MS 30000

void verification_drop(struct supervisor *supervisor)
{
    struct verification *verification = &supervisor->verification;

    verification->report = (talloc_free(verification->report), NULL);
    verification->loaded = (talloc_free(verification->loaded), NULL);
    if (verification->snapshot >= 0)
        (void)close(verification->snapshot);
    verification->snapshot = -1;
    verification->retry_ms = CLOCK_NEVER;
    verification->step = (struct message_step){.limit_ms = 0};
    verification->step_end_ms = CLOCK_NEVER;
}

void verification_step(struct supervisor *supervisor, const struct message_step *step)
{
    struct verification *verification = &supervisor->verification;

    verification->step = *step;
    verification->step_end_ms = step->limit_ms ? clock_now_ms() + step->limit_ms : CLOCK_NEVER;
}

int64_t verification_end_ms(const struct supervisor *supervisor)
{
    const struct verification *verification = &supervisor->verification;

    if (!slot_is_live(&verification->slot) || verification->slot.state == SLOT_KILLED)
        return CLOCK_NEVER;
    return verification->deadline_ms < verification->step_end_ms ? verification->deadline_ms
                                                                 : verification->step_end_ms;
}

bool verification_begin(struct supervisor *supervisor)
{
    struct verification *verification = &supervisor->verification;
    struct findings *findings = findings_new(supervisor);
    struct fault fault;
    bool done = false;

    verification_drop(supervisor);
    verification->report = report_new(supervisor);
    verification->loaded = worker_settings_load(supervisor, supervisor->settings, findings);
    report_add_findings(verification->report, findings);
    if (report_problems(verification->report)) {
        done = false;
    } else if (!snapshot_write(verification->loaded, &verification->snapshot, &fault)) {
        report_add_fault(verification->report, REPORT_PROBLEM, &fault);
    } else {
        slot_init(&verification->slot, ROLE_PREFLIGHT, 0, clock_now_ms());
        done = pool_start(supervisor, &verification->slot, verification->snapshot, &fault);
        /* Nobody waits for its end, so it ends here. */
        if (!done)
            report_add_fault(verification->report, REPORT_PROBLEM, &fault);
    }
    talloc_free(findings);
    return done;
}

void verification_adopt(struct supervisor *supervisor)
{
    struct verification *verification = &supervisor->verification;
    enum log_severity level;

    talloc_free(supervisor->verified);
    supervisor->verified = verification->report;
    verification->report = NULL;
    if (supervisor->snapshot >= 0)
        (void)close(supervisor->snapshot);
    supervisor->snapshot = verification->snapshot;
    verification->snapshot = -1;
    supervisor->generation++;
    if (log_level_from_text(report_fact(supervisor->verified, "logLevel"), &level))
        log_set_level(level);
    verification_drop(supervisor);
}

/* The end without having begun. */
static void give_up(struct supervisor *supervisor)
{
    const struct report *report = supervisor->verification.report;

    if (supervisor->check) {
        if (supervisor->check_json)
            report_print_json(report, stdout);
        else
            report_print(report, stdout);
    } else {
        event_startup_errors(report);
    }
    supervisor_exit(supervisor, report_exit_status(report));
}

void startup_begin(struct supervisor *supervisor)
{
    int64_t timeout_ms = supervisor->settings->start_timeout_ms;

    supervisor->verification.deadline_ms = clock_now_ms() + timeout_ms;
    supervisor->verification.backoff = backoff_for_database();
    notify_extend(supervisor->notify, timeout_ms + EXTEND_MS);
    notify_status(supervisor->notify, "Verifying configuration, database and drivers");
    if (!verification_begin(supervisor))
        give_up(supervisor);
}

/* Only a database that may come is waited for, and never by --check. A host name that does not exist is a
 * mistake more often than a name that is still to come. */
static bool may_wait(const struct supervisor *supervisor, const struct fault *problem)
{
    return !supervisor->check && problem && problem->class == FAULT_UNAVAILABLE &&
           text_equal(problem->dependency, "postgresql") &&
           !text_equal(problem->cause, PG_CAUSE_NO_SUCH_HOST) &&
           clock_now_ms() < supervisor->verification.deadline_ms;
}

static void wait_for_database(struct supervisor *supervisor, const struct fault *problem)
{
    struct verification *verification = &supervisor->verification;
    int64_t now_ms = clock_now_ms();

    if (!supervisor->outage.code[0])
        event_error(supervisor, "preflight", problem);
    supervisor->outage = *problem;
    verification->retry_ms = now_ms + backoff_failed(&verification->backoff, 0);
    notify_extend(supervisor->notify, verification->deadline_ms - now_ms + EXTEND_MS);
    notify_status(supervisor->notify, "Waiting for the database: %s", problem->message);
}

/* What it was in when it ended is the code of somebody else: a Driver's. */
static void explain_step(const struct verification *verification, const struct slot_end *end,
                         struct fault *fault)
{
    const int64_t now_ms = clock_now_ms();

    if (now_ms >= verification->step_end_ms)
        (void)fault_set(fault, FAULT_UNAVAILABLE, "DRIVER_HUNG",
                        "the verification hung in %s and was killed after %lu ms", verification->step.what,
                        (unsigned long)verification->step.limit_ms);
    else if (now_ms >= verification->deadline_ms)
        (void)fault_set(fault, FAULT_UNAVAILABLE, "DRIVER_HUNG",
                        "the verification was in %s when the start timeout was over",
                        verification->step.what);
    else
        (void)fault_set(fault, FAULT_BUG, "DRIVER_CRASHED", "the verification ended in %s (%s %d)",
                        verification->step.what, end->by_signal ? "signal" : "exit status", end->number);
}

/* A preflight that ended without a verdict: by a signal, by our hand at the deadline, or by a bug. */
void verification_explain(struct supervisor *supervisor, const struct slot_end *end)
{
    struct verification *verification = &supervisor->verification;
    struct fault fault;

    if (verification->report->complete)
        return;
    if (verification->step.what[0]) {
        explain_step(verification, end, &fault);
    } else if (report_problem(verification->report)) {
        return;
    } else if (clock_now_ms() >= verification->deadline_ms && supervisor->outage.code[0]) {
        fault = supervisor->outage; /* the last try that could say more than that it took too long */
    } else if (clock_now_ms() >= verification->deadline_ms &&
               !report_fact(verification->report, "databaseRole")[0]) {
        (void)fault_set(&fault, FAULT_UNAVAILABLE, "PERSISTENCE_UNAVAILABLE",
                        "the database did not answer within the start timeout of %d ms",
                        supervisor->settings->start_timeout_ms);
        (void)fault_depends(&fault, "postgresql", "timeout");
    } else if (clock_now_ms() >= verification->deadline_ms) {
        (void)fault_set(&fault, FAULT_UNAVAILABLE, "WORKER_UNAVAILABLE",
                        "the verification did not end within the start timeout of %d ms",
                        supervisor->settings->start_timeout_ms);
    } else {
        (void)fault_set(&fault, FAULT_BUG, "WORKER_UNAVAILABLE",
                        "the verification ended without a verdict (%s %d)",
                        end->by_signal ? "signal" : "exit status", end->number);
    }
    report_add_fault(verification->report, REPORT_PROBLEM, &fault);
}

void startup_preflight_ended(struct supervisor *supervisor, const struct slot_end *end)
{
    struct verification *verification = &supervisor->verification;
    const struct fault *problem;

    verification_explain(supervisor, end);
    problem = report_problem(verification->report);
    if (may_wait(supervisor, problem)) {
        wait_for_database(supervisor, problem);
        return;
    }
    if (problem || supervisor->check) {
        give_up(supervisor);
        return;
    }
    verification_adopt(supervisor);
    supervisor->outage = (struct fault){.class = FAULT_NONE};
    supervisor->phase = PHASE_STARTING;
    notify_extend(supervisor->notify, EXTEND_MS);
    notify_status(supervisor->notify, "Starting");
    event_warnings(supervisor);
    event_started(supervisor);
}

void startup_tick(struct supervisor *supervisor, int64_t now_ms)
{
    struct verification *verification = &supervisor->verification;

    if (verification->retry_ms <= now_ms) {
        if (!verification_begin(supervisor) && supervisor->phase == PHASE_VERIFYING)
            give_up(supervisor);
    } else if (verification_end_ms(supervisor) <= now_ms) {
        pool_kill(supervisor, &verification->slot, "WORKER_UNAVAILABLE");
    }
}

void startup_check_ready(struct supervisor *supervisor)
{
    struct fault fault;
    bool told;

    /* One that works already was idle a moment ago. */
    if (supervisor->phase != PHASE_STARTING || !supervisor->healthy_once ||
        !(pool_count(supervisor, SLOT_IDLE) + pool_count(supervisor, SLOT_WORKING)))
        return;
    supervisor->phase = PHASE_READY;
    notify_phase(supervisor->notify, "READY=1");
    health_status(supervisor);
    if (!marker_write(&supervisor->readiness, &told, &fault) && told)
        event_error(supervisor, "supervisor", &fault);
}
