/* SPDX-License-Identifier: MIT
 *
 * Revision work: the order of its steps.
 *
 * A deployment prepares its candidate, publishes it as the Agent's active revision, switches the route to it,
 * and retires what was before. One that finds its revision active already was interrupted after the
 * publication, and does the rest again. Maintenance activates the active revision again, and does no more;
 * only what a newer revision has stopped, which then failed, is prepared again first.
 */
#include "lib/base/build.h"

#include "lib/reconcile/revision.h"

/* The way to the active revision. *confirmed: what is needed before the next operation is known already;
 * *routed: the route is switched already. */
static bool become_active(struct revision_work *work, bool *routed, struct verdict *verdict)
{
    return revision_prepare(work, routed, verdict) && revision_publish(work, verdict) &&
           revision_is_wanted(work, verdict) && rights_allow(work->rights, verdict);
}

/* A newer one that must run alone has stopped this one, or is about to, and may run itself: this one waits
 * for what becomes of it. */
static bool waits_for_newer(const struct revision_work *work, struct verdict *verdict)
{
    if (!work->target.newer_unfinished || !revision_runs_alone(work))
        return false;
    *verdict = verdict_of(OUTCOME_DEFER,
                          work->was_active ? "REVISION_FINALIZATION_INCOMPLETE" : "REVISION_INCOMPLETE");
    return true;
}

/* One that is active already, which a newer one that failed may have stopped. */
static bool stay_active(struct revision_work *work, struct verdict *verdict)
{
    if (work->target.newer_begun && revision_runs_alone(work) && !revision_prepare_again(work, verdict))
        return false;
    return revision_confirm(work, verdict);
}

static bool carry_out(struct revision_work *work, struct verdict *verdict)
{
    const struct compute_operations *operations = work->pass->reconciler->options->compute->operations;
    bool routed = false;

    if (!revision_is_wanted(work, verdict))
        return false;
    if (!work->target.active && revision_refused_before(work, verdict))
        return false;
    if (!revision_is_possible(work, verdict) || waits_for_newer(work, verdict))
        return false;
    if (work->was_active ? !stay_active(work, verdict) : !become_active(work, &routed, verdict))
        return false;
    if (!routed && !revision_act(work, operations->activate_revision, verdict))
        return false;
    return work->maintenance || revision_act_on_predecessors(work, operations->retire_revision, verdict);
}

static struct verdict done(const struct revision_work *work)
{
    struct verdict verdict =
        verdict_of(OUTCOME_DONE, work->was_active ? "REVISION_ALREADY_ACTIVE" : "REVISION_ACTIVATED");

    verdict.evidence = rights_evidence(work->rights);
    verdict.lifecycle = work->maintenance ? NULL : "activate";
    return verdict;
}

struct verdict revision_pass(struct pass *pass)
{
    struct revision_work work = {.pass = pass,
                                 .maintenance = work_is_maintenance(pass->item.kind, pass->item.key)};
    struct verdict verdict;

    if (revision_read(&work, &verdict) && carry_out(&work, &verdict))
        return done(&work);
    return revision_conclude(&work, &verdict);
}
