/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/agent.h"

#include "lib/base/memory.h"
#include "lib/reconcile/rights.h"

struct agent_work {
    struct pass *pass;
    struct agent_target *target;
    size_t target_index;
};

static void fill(struct pg_batch *batch, void *subject)
{
    struct agent_work *work = subject;
    const struct compute_driver *compute = work->pass->reconciler->options->compute;

    work->target_index = agent_target_add(batch, work->pass->item.key, work->pass->token, compute->id,
                                          compute->implementation);
}

static bool read_target(const struct pg_batch *batch, void *subject, int64_t *lease_ms)
{
    struct agent_work *work = subject;

    if (!agent_target_read(pg_batch_result(batch, work->target_index), work->target))
        return false;
    *lease_ms = work->target->lease_ms;
    return true;
}

bool agent_confirm(struct pass *pass, const char *action, struct agent_target *target, const char **evidence,
                   struct verdict *verdict)
{
    const struct work_item *item = &pass->item;
    struct agent_work work = {pass, target, 0};
    const struct rights_target place = {fill, read_target, &work};
    struct rights *rights = rights_new(pass);

    rights_add(rights,
               &(struct iam_question){item->actor_id, action, "agent", item->agent_id, item->namespace_id});
    if (!rights_confirm(rights, &place, verdict) || !rights_allow(rights, verdict))
        return false;
    *evidence = rights_evidence(rights);
    return true;
}
