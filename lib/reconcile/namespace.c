/* SPDX-License-Identifier: MIT
 *
 * Namespace work: Compute makes the Namespace, or removes it.
 */
#include "lib/base/build.h"

#include "lib/reconcile/pass.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/namespace_target.h"

/* What a Driver may take for one operation before it must say "pending"; and what is added before it is
 * ended, for one that forgot. */
#define EFFECT_LIMIT_MS 60000
#define EFFECT_GRACE_MS 5000

struct namespace_work {
    struct pass *pass;
    bool deletes;
    bool adopts;              /* ask for the second permission too */
    struct iam_question does; /* namespace:create or namespace:delete */
    struct iam_question administers;
    size_t target_index;
    size_t does_index;
    size_t administers_index;
    struct namespace_target target;
    struct iam_decision decision;
};

static void fill(struct pg_batch *batch, void *subject)
{
    struct namespace_work *work = subject;

    work->target_index = namespace_target_add(batch, work->pass->item.key, work->pass->token);
    work->does_index = iam_ask(batch, &work->does);
    if (work->adopts)
        work->administers_index = iam_ask(batch, &work->administers);
}

/* A target that has moved on: nothing is to be done for it any more. A Namespace that is ready already is
 * made ready again, which Compute finds done. */
static bool is_superseded(const struct namespace_work *work)
{
    if (work->deletes)
        return work->target.deleted || !text_equal(work->target.status, "deleting");
    return !text_equal(work->target.status, "provisioning") && !text_equal(work->target.status, "ready");
}

/* The trip before an effect: claim, target and rights as they are now. False: *verdict is the end. */
static bool confirm(struct namespace_work *work, struct verdict *verdict)
{
    struct pass *pass = work->pass;
    struct iam_decision administers;
    struct pg_batch *batch;
    struct fault fault;
    int64_t sent_ms;
    bool live;

    if (!pass_ask(pass, fill, work, &batch, &sent_ms, &fault)) {
        *verdict = verdict_of_fault(pass, &fault);
        return false;
    }
    live = namespace_target_read(pg_batch_result(batch, work->target_index), pass->memory, &work->target);
    iam_answer(pg_batch_result(batch, work->does_index), &work->decision);
    if (work->adopts)
        iam_answer(pg_batch_result(batch, work->administers_index), &administers);
    talloc_free(batch);
    if (!live) {
        (void)pass_lost(pass, "the row does not carry this claim any more", &fault);
        *verdict = verdict_of_fault(pass, &fault);
        return false;
    }
    pass_confirmed(pass, sent_ms, work->target.lease_ms);
    if (is_superseded(work))
        *verdict = verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    else if (work->decision.verdict != IAM_ALLOWED)
        *verdict = verdict_of_denial(pass, &work->does, &work->decision);
    else if (work->adopts && administers.verdict != IAM_ALLOWED)
        *verdict = verdict_of_denial(pass, &work->administers, &administers);
    else
        return true;
    return false;
}

/* One operation of the Driver. What it says about another Namespace is worth nothing, good or bad. */
static bool effect(struct namespace_work *work, bool observe_only, struct fault *fault)
{
    struct pass *pass = work->pass;
    const struct compute_driver *compute = pass->reconciler->options->compute;
    const struct subject_namespace subject = {work->target.id, work->target.name,
                                              work->target.existing_namespace};
    struct compute_observation seen = {0};
    struct driver_call call = {.memory = pass->memory,
                               .watch = &pass->watch,
                               .installation_id = pass->reconciler->options->installation_id,
                               .deadline_ms = clock_now_ms() + EFFECT_LIMIT_MS,
                               .observe_only = observe_only};
    struct fault said = {0};
    struct fault renewal;
    bool done;

    pass_effect_begin(pass, EFFECT_LIMIT_MS + EFFECT_GRACE_MS);
    if (work->deletes)
        done = compute->operations->delete_namespace(compute->self, &call, &subject, &seen, &said);
    else
        done = compute->operations->ensure_namespace(compute->self, &call, &subject, &seen, &said);
    if (!pass_effect_end(pass, &renewal)) {
        *fault = renewal;
        return false;
    }
    if (!done && (said.class == FAULT_CLAIM_LOST || said.class == FAULT_CANCELLED)) {
        *fault = said;
        return false;
    }
    if (done ? !text_equal(seen.namespace_id, subject.id)
             : seen.namespace_id[0] && !text_equal(seen.namespace_id, subject.id))
        return fault_set(fault, FAULT_PERMANENT, "INVALID_DRIVER_OBSERVATION",
                         "the Compute Driver spoke of another Namespace");
    if (!done)
        *fault = said;
    return done;
}

/* A deletion that is past its deadline (it was repeated, or waited long) first looks whether the thing is
 * already gone (K97); then it is tried once more, since the repetition asked for no less. Still unfinished,
 * it fails by its deadline. */
static bool is_late(const struct namespace_work *work)
{
    return work->deletes && work->target.age_ms >= work->pass->reconciler->options->convergence_timeout_ms;
}

static struct verdict done_verdict(const struct namespace_work *work)
{
    struct verdict verdict = verdict_of(OUTCOME_DONE, "NAMESPACE_RECONCILED");

    verdict.evidence = verdict_evidence(work->pass, &work->does, &work->decision);
    return verdict;
}

static struct verdict act(struct namespace_work *work)
{
    struct verdict verdict;
    struct fault fault;

    if (is_late(work)) {
        if (effect(work, true, &fault))
            return done_verdict(work);
        if (fault.class != FAULT_PENDING && fault.class != FAULT_RETRYABLE)
            return verdict_of_fault(work->pass, &fault);
        if (!confirm(work, &verdict))
            return verdict;
    }
    if (effect(work, false, &fault))
        return done_verdict(work);
    return verdict_of_fault(work->pass, &fault);
}

struct verdict namespace_pass(struct pass *pass)
{
    const char *action = pass->item.kind == WORK_NAMESPACE_DELETE ? "delete" : "create";
    struct namespace_work work = {
        .pass = pass,
        .deletes = pass->item.kind == WORK_NAMESPACE_DELETE,
        .does = {pass->item.actor_id, action, "namespace", pass->item.namespace_id, pass->item.namespace_id},
        .administers = {pass->item.actor_id, "administer", "installation", NULL, NULL},
    };
    struct verdict verdict;

    if (!confirm(&work, &verdict))
        return verdict;
    if (!work.deletes && work.target.existing_namespace) {
        if (!pass->reconciler->options->compute->supports_existing_namespaces)
            return verdict_of(OUTCOME_FAIL, "EXISTING_NAMESPACE_UNSUPPORTED");
        /* To adopt a namespace takes more than to make one. Seldom, so that others do not pay for it. */
        work.adopts = true;
        if (!confirm(&work, &verdict))
            return verdict;
    }
    return act(&work);
}
