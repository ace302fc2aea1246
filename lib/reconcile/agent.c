/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/agent.h"

#include "lib/base/memory.h"

struct agent_work {
    struct pass *pass;
    struct iam_question question;
    size_t target_index;
    size_t answer_index;
};

static void fill(struct pg_batch *batch, void *subject)
{
    struct agent_work *work = subject;
    const struct compute_driver *compute = work->pass->reconciler->options->compute;

    work->target_index = agent_target_add(batch, work->pass->item.key, work->pass->token, compute->id,
                                          compute->implementation);
    work->answer_index = iam_ask(batch, &work->question);
}

bool agent_confirm(struct pass *pass, const char *action, struct agent_target *target, const char **evidence,
                   struct verdict *verdict)
{
    const struct work_item *item = &pass->item;
    struct agent_work work = {
        pass, {item->actor_id, action, "agent", item->agent_id, item->namespace_id}, 0, 0};
    struct iam_decision decision;
    struct pg_batch *batch;
    struct fault fault;
    int64_t sent_ms;
    bool live;

    if (!pass_ask(pass, fill, &work, &batch, &sent_ms, &fault)) {
        *verdict = verdict_of_fault(pass, &fault);
        return false;
    }
    live = agent_target_read(pg_batch_result(batch, work.target_index), target);
    iam_answer(pg_batch_result(batch, work.answer_index), &decision);
    talloc_free(batch);
    if (!live) {
        (void)pass_lost(pass, "the row does not carry this claim any more", &fault);
        *verdict = verdict_of_fault(pass, &fault);
        return false;
    }
    pass_confirmed(pass, sent_ms, target->lease_ms);
    if (decision.verdict != IAM_ALLOWED) {
        *verdict = verdict_of_denial(pass, &work.question, &decision);
        return false;
    }
    *evidence = verdict_evidence(pass, &work.question, &decision);
    return true;
}
