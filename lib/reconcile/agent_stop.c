/* SPDX-License-Identifier: MIT
 *
 * Agent work, target stopped: Compute stops the active revision, then what else may run of those that were
 * admitted before the stop was (candidates that never became active, predecessors that were not retired), and
 * then the database forgets the active one.
 *
 * Revisions that are pinned to another Compute are none of this worker's: they are passed over, but where one
 * of them is the active one the stop fails (COMPUTE_DRIVER_MISMATCH) and the Agent is left as it is. The same
 * where a Compute of our name cannot run Agents at all (HARNESS_UNSUPPORTED).
 */
#include "lib/base/build.h"

#include "lib/reconcile/agent_work.h"

#include "lib/io/json.h"
#include "lib/reconcile/effect.h"

static bool look(const struct agent_target *target, struct verdict *verdict)
{
    if (target->deleting)
        *verdict = verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    else if (target->wants_running)
        *verdict = verdict_of(OUTCOME_CLOSE, "STOP_SUPERSEDED");
    else
        return true;
    return false;
}

/* Whether there is something to stop that Compute can stop. */
static bool can_stop(const struct agent_work *work, struct verdict *verdict)
{
    bool runs_agents = compute_runs_agents(work->pass->reconciler->options->compute);
    bool something = false;

    for (size_t i = 0; i < work->count; i++)
        something = something || agent_work_is_here(work, &work->revisions[i]);
    if (work->target.active_elsewhere)
        *verdict = verdict_of(OUTCOME_FAIL, "COMPUTE_DRIVER_MISMATCH");
    else if (work->target.has_active && !runs_agents)
        *verdict = verdict_of(OUTCOME_FAIL, "HARNESS_UNSUPPORTED");
    else if (!something || !runs_agents)
        *verdict = verdict_of(OUTCOME_CLOSE, "AGENT_ALREADY_STOPPED");
    else
        return true;
    return false;
}

static bool stop(struct agent_work *work, const struct revision_entry *entry, struct verdict *verdict)
{
    const struct compute_operations *compute = work->pass->reconciler->options->compute->operations;
    const struct subject_revision *revision;
    struct fault fault;

    if (!agent_work_read(work, entry, &revision, verdict))
        return false;
    if (effect_revision(work->pass, compute->stop_revision, revision, false, &fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

struct verdict agent_stop_pass(struct pass *pass)
{
    struct agent_work work;
    struct verdict verdict;
    const char *active_id = NULL;
    cJSON *stopped = json_new_array(pass->memory);

    if (!agent_work_begin(&work, pass, "operate", REVISIONS_CAPTURED, look, &verdict) ||
        !can_stop(&work, &verdict))
        return verdict;
    for (size_t i = 0; i < work.count; i++) {
        const struct revision_entry *entry = &work.revisions[i];

        if (!agent_work_is_here(&work, entry))
            continue;
        if (!stop(&work, entry, &verdict))
            return verdict;
        json_append_text(stopped, entry->id);
        active_id = entry->active ? entry->id : active_id;
    }
    verdict = verdict_of(OUTCOME_DONE, "AGENT_STOPPED");
    verdict.evidence = rights_evidence(work.rights);
    verdict.stopped_active_id = active_id;
    verdict.stopped = json_write(pass->memory, stopped);
    return verdict;
}
