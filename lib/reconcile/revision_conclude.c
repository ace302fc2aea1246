/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/revision.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"
#include "lib/reconcile/effect.h"

/* Whether something of this revision may run here although it is not the active one. */
static bool is_candidate(const struct revision_work *work)
{
    const struct pass *pass = work->pass;

    return !work->maintenance && work->agent && work->revision && !work->target.active &&
           (work->reached || pass->item.attempt > 1 || work->target.attempted) &&
           compute_runs_agents(pass->reconciler->options->compute) &&
           subject_is_here(pass, work->revision->compute_id, work->revision->compute_implementation);
}

/* ---- A refusal that waits */

/* As the next pass is told: it decides nothing anew, and only finishes the stop. */
static const char *write_refusal(const struct revision_work *work, const struct verdict *refusal)
{
    const void *memory = work->pass->memory;
    cJSON *kept = json_new_object(memory);

    json_add_text(kept, "code", refusal->code);
    json_add_boolean(kept, "denied", refusal->denied);
    if (refusal->evidence)
        json_add_copy(kept, "evidence", json_read(memory, refusal->evidence, strlen(refusal->evidence)));
    return json_write(memory, kept);
}

bool revision_refused_before(const struct revision_work *work, struct verdict *verdict)
{
    const void *memory = work->pass->memory;
    const char *text = work->target.refusal;
    const cJSON *kept = text ? json_read(memory, text, strlen(text)) : NULL;
    const char *code = kept ? json_text(kept, "code") : NULL;
    const cJSON *evidence = kept ? json_object(kept, "evidence") : NULL;

    if (!code)
        return false;
    *verdict = verdict_of(OUTCOME_FAIL, code);
    (void)json_boolean(kept, "denied", &verdict->denied);
    if (evidence)
        verdict->evidence = json_write(memory, evidence);
    return true;
}

static struct verdict hold(const struct revision_work *work, const struct verdict *refusal,
                           const struct verdict *why)
{
    const void *memory = work->pass->memory;
    struct verdict verdict = *refusal;
    const cJSON *known =
        refusal->evidence ? json_read(memory, refusal->evidence, strlen(refusal->evidence)) : NULL;
    const cJSON *failed = why->evidence ? json_read(memory, why->evidence, strlen(why->evidence)) : NULL;
    cJSON *evidence = json_new_object(memory);
    cJSON *stop;

    for (const cJSON *member = known ? known->child : NULL; member; member = member->next)
        json_add_copy(evidence, member->string, member);
    stop = json_add_object(evidence, "stop");
    json_add_text(stop, "code", why->code);
    if (failed)
        json_add_copy(stop, "evidence", failed);
    verdict.kind = OUTCOME_HOLD;
    verdict.lifecycle = NULL;
    /* The end that the Agent's state gives is found again from that state. */
    verdict.refusal = refusal->kind == OUTCOME_FAIL ? write_refusal(work, refusal) : NULL;
    verdict.evidence = json_write(memory, evidence);
    (void)text_copy(verdict.dependency, sizeof verdict.dependency, why->dependency);
    (void)text_copy(verdict.cause, sizeof verdict.cause, why->cause);
    return verdict;
}

static bool is_end_of_claim(const struct verdict *verdict)
{
    return verdict->lost || verdict->kind == OUTCOME_HAND_BACK;
}

/* Where the route is switched before the commit, it may lead to the candidate already: it goes back to the
 * revision that the database has as the active one, and that ran all the while. This begins nothing anew, and
 * so needs no right of the refused actor's. */
static bool route_back(struct revision_work *work, struct verdict *verdict)
{
    const struct compute_driver *compute = work->pass->reconciler->options->compute;
    const void *memory = work->pass->memory;
    const struct subject_revision *active;
    struct fault fault;

    if (compute->order != COMPUTE_ACTIVATES_BEFORE_COMMIT || !work->target.active_id[0] ||
        work->target.active)
        return true;
    if (!revision_ask_with(work, revision_ask_claim, mem_text(memory, work->target.active_id), memory,
                           &active, verdict))
        return false;
    /* As it is now, and not as it was when it was asked for. */
    if (!active || !text_equal(active->id, work->target.active_id) || work->target.deleting ||
        !work->target.wants_running ||
        !subject_is_here(work->pass, active->compute_id, active->compute_implementation))
        return true;
    if (effect_revision(work->pass, compute->operations->activate_revision, active, false, &fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

/* Stop first, publish after. */
static struct verdict stop_and_publish(struct revision_work *work, const struct verdict *refusal)
{
    struct verdict verdict;
    struct fault fault;

    if (!route_back(work, &verdict) || !revision_ask_claim(work, &verdict))
        return is_end_of_claim(&verdict) ? verdict : hold(work, refusal, &verdict);
    /* Published after all, by a commit whose answer was lost: what is active stays (K87). */
    if (!work->target.exists || work->target.active)
        return *refusal;
    /* The deletion removes every revision, and needs the lane for it. */
    if (work->target.deleting)
        return verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    if (effect_revision(work->pass, work->pass->reconciler->options->compute->operations->stop_revision,
                        work->revision, false, &fault))
        return *refusal;
    verdict = effect_verdict(work->pass, &fault);
    return is_end_of_claim(&verdict) ? verdict : hold(work, refusal, &verdict);
}

/* ---- What is refused */

static bool is_late(const struct revision_work *work)
{
    return work->target.age_ms >= work->pass->reconciler->options->convergence_timeout_ms;
}

static bool is_last_attempt(const struct revision_work *work)
{
    return work->pass->item.attempt >= work->pass->reconciler->options->max_attempts;
}

static struct verdict end_deferral(struct revision_work *work, const struct verdict *verdict)
{
    struct verdict ended = *verdict;

    if (!is_late(work)) {
        ended.candidate = true;
        return ended;
    }
    (void)text_copy(ended.code, sizeof ended.code, "CONVERGENCE_DEADLINE_EXCEEDED");
    ended.kind = OUTCOME_FAIL;
    return stop_and_publish(work, &ended);
}

struct verdict revision_conclude(struct revision_work *work, const struct verdict *verdict)
{
    struct verdict ended = *verdict;

    if (is_end_of_claim(verdict))
        return ended;
    /* The subject could not even be read: whether there is a candidate is not known, so the item outlives its
     * attempts rather than leave one. */
    if (!work->rights && verdict->kind == OUTCOME_RETRY && is_last_attempt(work) && !work->maintenance)
        ended.kind = OUTCOME_HOLD;
    if (!is_candidate(work))
        return ended;
    switch (verdict->kind) {
    case OUTCOME_DEFER:
        return end_deferral(work, verdict);
    case OUTCOME_RETRY:
        if (!is_last_attempt(work))
            return ended;
        ended.kind = OUTCOME_FAIL;
        return stop_and_publish(work, &ended);
    case OUTCOME_FAIL:
        return stop_and_publish(work, verdict);
    case OUTCOME_CLOSE:
        /* A deletion, and the newer revision that supersedes this one, retire it themselves. */
        return text_equal(verdict->code, "REVISION_STOPPED") ? stop_and_publish(work, verdict) : ended;
    default:
        return ended;
    }
}
