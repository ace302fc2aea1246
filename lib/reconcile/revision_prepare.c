/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/revision.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/reconcile/effect.h"

/* What must be there for the Agent as a whole before any revision of it is prepared. */
static bool act_on_agent(struct revision_work *work, compute_agent_operation operation,
                         struct verdict *verdict)
{
    struct fault fault;

    if (!operation)
        return true;
    if (!revision_confirm(work, verdict))
        return false;
    work->reached = true;
    if (effect_agent(work->pass, operation, work->agent, false, &fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

bool revision_runs_alone(const struct revision_work *work)
{
    const struct compute_driver *compute = work->pass->reconciler->options->compute;

    return compute->operations->needs_stopped_predecessors &&
           compute->operations->needs_stopped_predecessors(compute->self, work->revision);
}

bool revision_prepare_again(struct revision_work *work, struct verdict *verdict)
{
    const struct compute_operations *operations = work->pass->reconciler->options->compute->operations;
    int64_t begun_ms;
    struct fault fault = {0};
    bool ready;

    if (!revision_confirm(work, verdict))
        return false;
    work->reached = true;
    begun_ms = clock_now_ms();
    ready = effect_revision(work->pass, operations->prepare_revision, work->revision, false, &fault);
    pass_prepared(work->pass, begun_ms, ready, &fault);
    if (!ready)
        *verdict = effect_verdict(work->pass, &fault);
    return ready;
}

/* The first thing that an Agent serves in production is what the database says: a dedicated Harness takes no
 * traffic before its revision is published. */
static bool stays_inactive(const struct revision_work *work)
{
    return work->pass->reconciler->options->production && !work->target.active_id[0] &&
           text_equal(work->revision->harness_mode, "dedicated");
}

bool revision_prepare(struct revision_work *work, bool *routed, struct verdict *verdict)
{
    const struct compute_driver *compute = work->pass->reconciler->options->compute;
    const struct compute_operations *operations = compute->operations;

    *routed = false;
    if (!act_on_agent(work, operations->bind_agent, verdict) ||
        !act_on_agent(work, operations->provision_agent_credentials, verdict))
        return false;
    if (revision_runs_alone(work) && !revision_act_on_predecessors(work, operations->stop_revision, verdict))
        return false;
    if (!revision_prepare_again(work, verdict))
        return false;
    if (stays_inactive(work)) {
        if (!operations->deactivate_revision)
            return true;
        return revision_confirm(work, verdict) &&
               revision_act(work, operations->deactivate_revision, verdict);
    }
    if (compute->order != COMPUTE_ACTIVATES_BEFORE_COMMIT)
        return true;
    *routed = revision_confirm(work, verdict) && revision_act(work, operations->activate_revision, verdict);
    return *routed;
}
