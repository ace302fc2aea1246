/* SPDX-License-Identifier: MIT
 *
 * Agent work, target deleted: Compute stops and retires every revision, newest first and the active one
 * before all, and deletes what the Agent has as a whole; then the database removes the Agent. A clean-up that
 * fails leaves everything in the database for a repetition.
 *
 * A revision that is pinned to another Compute ends the deletion (COMPUTE_DRIVER_MISMATCH): what it has there
 * is a worker's of that Compute. A Compute that runs no Agents has nothing to be cleaned up.
 */
#include "lib/base/build.h"

#include "lib/reconcile/agent_work.h"

#include "lib/reconcile/effect.h"

static bool look(const struct agent_target *target, struct verdict *verdict)
{
    if (target->deleting)
        return true;
    *verdict = verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    return false;
}

static const struct compute_operations *operations(const struct agent_work *work)
{
    return work->pass->reconciler->options->compute->operations;
}

static struct verdict done_verdict(const struct agent_work *work)
{
    struct verdict verdict = verdict_of(OUTCOME_DONE, "AGENT_DELETED");

    verdict.removes_agent = true;
    verdict.evidence = rights_evidence(work->rights);
    return verdict;
}

/* Not gone yet, but perhaps it can be removed. */
static bool may_come(const struct fault *fault)
{
    return fault->class == FAULT_PENDING || fault->class == FAULT_RETRYABLE;
}

/* ---- One revision */

static bool carry_out(struct agent_work *work, compute_revision_operation operation,
                      const struct subject_revision *revision, struct verdict *verdict)
{
    struct fault fault;

    if (effect_revision(work->pass, operation, revision, false, &fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

static bool remove_revision(struct agent_work *work, const struct revision_entry *entry,
                            struct verdict *verdict)
{
    const struct compute_operations *compute = operations(work);
    const struct subject_revision *revision;

    if (!agent_work_read(work, entry, &revision, verdict))
        return false;
    if (entry->active && compute->deactivate_revision &&
        !(carry_out(work, compute->deactivate_revision, revision, verdict) &&
          agent_work_confirm(work, verdict)))
        return false;
    return carry_out(work, compute->stop_revision, revision, verdict) && agent_work_confirm(work, verdict) &&
           carry_out(work, compute->retire_revision, revision, verdict);
}

/* Whether nothing of it is left. */
static bool observe_revision(struct agent_work *work, const struct revision_entry *entry, bool *gone,
                             struct verdict *verdict)
{
    const struct subject_revision *revision;
    struct fault fault;

    if (!agent_work_read(work, entry, &revision, verdict))
        return false;
    *gone = effect_revision(work->pass, operations(work)->retire_revision, revision, true, &fault);
    if (*gone || may_come(&fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

/* ---- All of them, and what the Agent has as a whole */

static bool delete_credentials(struct agent_work *work, struct verdict *verdict)
{
    const struct compute_operations *compute = operations(work);
    struct fault fault;

    if (!compute->delete_agent_credentials) {
        *verdict = verdict_of(OUTCOME_FAIL, "CREDENTIAL_DELETION_UNSUPPORTED");
        return !compute->provision_agent_credentials;
    }
    if (!agent_work_confirm(work, verdict))
        return false;
    if (effect_agent(work->pass, compute->delete_agent_credentials, work->agent, false, &fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

static struct verdict remove_all(struct agent_work *work)
{
    struct verdict verdict;

    for (size_t i = 0; i < work->count; i++) {
        if (!remove_revision(work, &work->revisions[i], &verdict))
            return verdict;
    }
    return delete_credentials(work, &verdict) ? done_verdict(work) : verdict;
}

/* False: *verdict is the end. */
static bool observe_all(struct agent_work *work, bool *gone, struct verdict *verdict)
{
    const struct compute_operations *compute = operations(work);
    struct fault fault;

    *gone = compute->delete_agent_credentials || !compute->provision_agent_credentials;
    for (size_t i = 0; *gone && i < work->count; i++) {
        if (!observe_revision(work, &work->revisions[i], gone, verdict))
            return false;
    }
    if (!*gone || !compute->delete_agent_credentials)
        return true;
    if (!agent_work_confirm(work, verdict))
        return false;
    *gone = effect_agent(work->pass, compute->delete_agent_credentials, work->agent, true, &fault);
    if (*gone || may_come(&fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

static bool is_elsewhere(const struct agent_work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        if (!agent_work_is_here(work, &work->revisions[i]))
            return true;
    }
    return false;
}

/* A deletion that is past its deadline (it was repeated, or waited long) first looks whether all is already
 * gone (K97); then it is tried once more. Still unfinished, it fails by its deadline. */
static bool is_late(const struct pass *pass)
{
    return pass->item.age_ms >= pass->reconciler->options->convergence_timeout_ms;
}

struct verdict agent_delete_pass(struct pass *pass)
{
    struct agent_work work;
    struct verdict verdict;
    bool gone = false;

    if (!agent_work_begin(&work, pass, "delete", REVISIONS_ALL, look, &verdict))
        return verdict;
    if (is_elsewhere(&work))
        return verdict_of(OUTCOME_FAIL, "COMPUTE_DRIVER_MISMATCH");
    if (!compute_runs_agents(pass->reconciler->options->compute))
        return done_verdict(&work);
    if (is_late(pass) && !observe_all(&work, &gone, &verdict))
        return verdict;
    return gone ? done_verdict(&work) : remove_all(&work);
}
