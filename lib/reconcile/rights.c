/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/rights.h"

#include "lib/base/memory.h"
#include "lib/reconcile/effect.h"

/* One decision of an authority. */
#define DECISION_LIMIT_MS 10000

struct right {
    struct iam_question question;
    size_t index;                 /* in the trip's batch */
    struct iam_decision decision; /* an authority's once it was asked */
};

struct rights {
    struct pass *pass;
    const struct rights_target *target; /* of the trip under way */
    struct right *list;
    size_t count;
};

struct rights *rights_new(struct pass *pass)
{
    struct rights *rights = mem_new(pass->memory, struct rights);

    rights->pass = pass;
    return rights;
}

void rights_add(struct rights *rights, const struct iam_question *question)
{
    rights->list = mem_grow(rights, rights->list, struct right, rights->count + 1);
    rights->list[rights->count++] = (struct right){.question = *question};
}

static void fill(struct pg_batch *batch, void *subject)
{
    struct rights *rights = subject;

    rights->target->fill(batch, rights->target->subject);
    for (size_t i = 0; i < rights->count; i++)
        rights->list[i].index = iam_ask(batch, &rights->list[i].question);
}

bool rights_confirm(struct rights *rights, const struct rights_target *target, struct verdict *verdict)
{
    struct pass *pass = rights->pass;
    struct pg_batch *batch;
    struct fault fault;
    int64_t lease_ms = 0;
    int64_t sent_ms;
    bool live;

    rights->target = target;
    if (!pass_ask(pass, fill, rights, &batch, &sent_ms, &fault)) {
        *verdict = verdict_of_fault(pass, &fault);
        return false;
    }
    live = target->read(batch, target->subject, &lease_ms);
    for (size_t i = 0; i < rights->count; i++)
        iam_answer(pg_batch_result(batch, rights->list[i].index), &rights->list[i].decision);
    talloc_free(batch);
    if (!live) {
        (void)pass_lost(pass, "the row does not carry this claim any more", &fault);
        *verdict = verdict_of_fault(pass, &fault);
        return false;
    }
    pass_confirmed(pass, sent_ms, lease_ms);
    return true;
}

/* ---- An installed IAM Driver */

/* What the authority failed with, as the pass ends with it: never for ever, since it has decided nothing. */
static void take_failure(const struct fault *said, struct fault *fault)
{
    *fault = *said;
    if (said->class == FAULT_CLAIM_LOST || said->class == FAULT_CANCELLED)
        return;
    if (said->class != FAULT_PENDING)
        fault->class = FAULT_RETRYABLE;
    if (fault_is(said, "COMPUTE_TIMEOUT")) {
        (void)fault_set(fault, FAULT_RETRYABLE, "DEPENDENCY_UNAVAILABLE",
                        "the IAM Driver did not decide in time");
        (void)fault_depends(fault, "iam", "timeout");
    } else if (!fault->dependency[0]) {
        (void)fault_depends(fault, "iam", "unavailable");
    }
}

static bool decide(struct rights *rights, struct right *right, struct fault *fault)
{
    struct pass *pass = rights->pass;
    const struct authority *authority = pass->reconciler->options->authority;
    const struct iam_question *question = &right->question;
    const struct authority_question asked = {question->actor_id, question->action, question->resource_kind,
                                             question->resource_id, question->namespace_id};
    struct driver_call call = effect_call(pass, DECISION_LIMIT_MS);
    char reference[AUTHORITY_EVIDENCE_SIZE] = "";
    struct fault said = {0};
    bool allowed = false;
    bool decided;

    decided = authority->operations->decide(authority->self, &call, &asked, &allowed, reference, &said);
    if (!pass_effect_end(pass, fault))
        return false;
    reference[sizeof reference - 1] = '\0';
    if (decided)
        iam_answer_of_driver(authority->id, allowed, reference, &right->decision);
    else
        take_failure(&said, fault);
    return decided;
}

static bool authority_allows(struct rights *rights, struct verdict *verdict)
{
    for (size_t i = 0; i < rights->count; i++) {
        struct right *right = &rights->list[i];
        struct fault fault;

        if (!decide(rights, right, &fault)) {
            *verdict = verdict_of_fault(rights->pass, &fault);
            return false;
        }
        if (right->decision.verdict != IAM_ALLOWED) {
            *verdict = verdict_of_denial(rights->pass, &right->question, &right->decision);
            return false;
        }
    }
    return true;
}

/* ---- Together */

/* Native IAM's word: under an authority only what it denies to everybody, or to an actor that is gone. */
static bool natively(const struct rights *rights, const struct right *right)
{
    if (right->decision.verdict == IAM_NOT_GRANTED)
        return rights->pass->reconciler->options->authority != NULL;
    return right->decision.verdict == IAM_ALLOWED;
}

bool rights_allow(struct rights *rights, struct verdict *verdict)
{
    for (size_t i = 0; i < rights->count; i++) {
        const struct right *right = &rights->list[i];

        if (!natively(rights, right)) {
            *verdict = verdict_of_denial(rights->pass, &right->question, &right->decision);
            return false;
        }
    }
    return !rights->pass->reconciler->options->authority || authority_allows(rights, verdict);
}

const char *rights_evidence(const struct rights *rights)
{
    const struct right *first = &rights->list[0];

    return verdict_evidence(rights->pass, &first->question, &first->decision);
}
