/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

static void failed(struct supervisor *supervisor, const struct fault *problem)
{
    event_error(supervisor, "reload", problem);
    verification_drop(supervisor);
    notify_phase(supervisor->notify, "READY=1");
    notify_status(supervisor->notify, "Reload failed, the previous configuration stays: %s %s", problem->code,
                  problem->message);
}

void reload_begin(struct supervisor *supervisor)
{
    struct fault problem;

    if (supervisor->phase == PHASE_STOPPING)
        return;
    /* One at a time; another one that is asked for meanwhile follows it. */
    if (supervisor->phase != PHASE_READY || supervisor->rolling || supervisor->verification.report) {
        supervisor->reload_wanted = true;
        return;
    }
    supervisor->reload_wanted = false;
    supervisor->reload_begun_ms = clock_now_ms();
    supervisor->verification.deadline_ms =
        supervisor->reload_begun_ms + supervisor->settings->start_timeout_ms;
    notify_reloading(supervisor->notify);
    notify_status(supervisor->notify, "Reloading: verifying");
    if (!verification_begin(supervisor)) {
        problem = *report_problem(supervisor->verification.report);
        failed(supervisor, &problem);
    }
}

void reload_preflight_ended(struct supervisor *supervisor, const struct slot_end *end)
{
    const struct report *report = supervisor->verification.report;
    const struct fault *found;
    struct fault problem;

    verification_explain(supervisor, end);
    found = report_problem(report);
    if (found) {
        problem = *found;
    } else if (!text_equal(report_fact(report, "installationId"),
                           report_fact(supervisor->verified, "installationId"))) {
        (void)fault_set(&problem, FAULT_CONFIGURATION, "INSTALLATION_MISMATCH",
                        "the database describes another Installation (%s); a reload does not move a worker: "
                        "restart it",
                        report_fact(report, "installationId"));
    } else {
        verification_adopt(supervisor);
        event_warnings(supervisor);
        supervisor->rolling = true;
        notify_status(supervisor->notify, "Reloading: replacing children");
        return;
    }
    failed(supervisor, &problem);
}

/* The next one to be replaced: who has nothing to do comes before who must finish first. NULL and *wait: one
 * is on its way, wait for it. */
static struct slot *next_old(struct supervisor *supervisor, bool *wait)
{
    struct slot *old = NULL;
    size_t index;

    *wait = false;
    for (index = 0; index < supervisor->slot_count; index++) {
        struct slot *slot = &supervisor->slots[index];
        bool is_up = slot->state == SLOT_IDLE || slot->state == SLOT_WORKING;

        if (!is_up && slot->state != SLOT_WAITING) {
            *wait = true;
            return NULL;
        }
        if (is_up && slot->generation != supervisor->generation &&
            (!old || (old->state != SLOT_IDLE && slot->state == SLOT_IDLE)))
            old = slot;
    }
    return old;
}

/* One after another: the next leaves when the one before has a successor that is up. */
void reload_roll(struct supervisor *supervisor)
{
    struct slot *old;
    bool wait;

    if (!supervisor->rolling || supervisor->phase == PHASE_STOPPING)
        return;
    old = next_old(supervisor, &wait);
    if (wait)
        return;
    if (old) {
        bool is_dispatcher = old->role == ROLE_DISPATCHER;

        pool_tell_type(supervisor, old, is_dispatcher ? MESSAGE_ABORT : MESSAGE_FINISH);
        if (old->state != SLOT_KILLED)
            slot_become(old, is_dispatcher ? SLOT_ABORTING : SLOT_FINISHING, clock_now_ms());
        return;
    }
    supervisor->rolling = false;
    event_reloaded(supervisor, clock_now_ms() - supervisor->reload_begun_ms);
    notify_phase(supervisor->notify, "READY=1");
    health_status(supervisor);
    if (supervisor->reload_wanted)
        reload_begin(supervisor);
}
