/* SPDX-License-Identifier: MIT
 *
 * Namespace work: Compute makes the Namespace, or removes it.
 */
#include "lib/base/build.h"

#include "lib/reconcile/effect.h"
#include "lib/reconcile/rights.h"

#include "lib/base/text.h"
#include "lib/store/namespace_target.h"

struct namespace_work {
    struct pass *pass;
    bool deletes;
    struct rights *rights;
    size_t target_index;
    struct namespace_target target;
};

static void fill(struct pg_batch *batch, void *subject)
{
    struct namespace_work *work = subject;

    work->target_index = namespace_target_add(batch, work->pass->item.key, work->pass->token);
}

static bool read_target(const struct pg_batch *batch, void *subject, int64_t *lease_ms)
{
    struct namespace_work *work = subject;

    if (!namespace_target_read(pg_batch_result(batch, work->target_index), work->pass->memory, &work->target))
        return false;
    *lease_ms = work->target.lease_ms;
    return true;
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
    const struct rights_target target = {fill, read_target, work};

    if (!rights_confirm(work->rights, &target, verdict))
        return false;
    if (is_superseded(work)) {
        *verdict = verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
        return false;
    }
    return rights_allow(work->rights, verdict);
}

static bool effect(struct namespace_work *work, bool observe_only, struct fault *fault)
{
    const struct compute_operations *compute = work->pass->reconciler->options->compute->operations;
    const struct subject_namespace subject = {work->target.id, work->target.name,
                                              work->target.existing_namespace};

    return effect_namespace(work->pass, work->deletes ? compute->delete_namespace : compute->ensure_namespace,
                            &subject, observe_only, fault);
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

    verdict.evidence = rights_evidence(work->rights);
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
            return effect_verdict(work->pass, &fault);
        if (!confirm(work, &verdict))
            return verdict;
    }
    if (effect(work, false, &fault))
        return done_verdict(work);
    return effect_verdict(work->pass, &fault);
}

struct verdict namespace_pass(struct pass *pass)
{
    struct namespace_work work = {
        .pass = pass, .deletes = pass->item.kind == WORK_NAMESPACE_DELETE, .rights = rights_new(pass)};
    struct verdict verdict;

    rights_add(work.rights,
               &(struct iam_question){pass->item.actor_id, work.deletes ? "delete" : "create", "namespace",
                                      pass->item.namespace_id, pass->item.namespace_id});
    if (!confirm(&work, &verdict))
        return verdict;
    if (!work.deletes && work.target.existing_namespace) {
        if (!pass->reconciler->options->compute->supports_existing_namespaces)
            return verdict_of(OUTCOME_FAIL, "EXISTING_NAMESPACE_UNSUPPORTED");
        /* To adopt a namespace takes more than to make one. Seldom, so that others do not pay for it. */
        rights_add(work.rights,
                   &(struct iam_question){pass->item.actor_id, "administer", "installation", NULL, NULL});
        if (!confirm(&work, &verdict))
            return verdict;
    }
    return act(&work);
}
