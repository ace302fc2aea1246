/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/agent_work.h"

#include "lib/base/memory.h"

static void fill(struct pg_batch *batch, void *subject)
{
    struct agent_work *work = subject;
    const struct pass *pass = work->pass;
    const struct compute_driver *compute = pass->reconciler->options->compute;

    work->trip.target =
        agent_target_add(batch, pass->item.key, pass->token, compute->id, compute->implementation);
    if (work->trip.whole) {
        subject_agent_add(batch, pass, &work->trip.places);
        work->trip.list = revision_list_add(batch, pass->item.key, pass->token, work->choice, compute->id,
                                            compute->implementation);
    }
    if (work->trip.revision_id)
        subject_revision_add(batch, pass, work->trip.revision_id, &work->trip.places);
}

static void sort_active_first(struct agent_work *work)
{
    for (size_t i = 1; i < work->count; i++) {
        struct revision_entry active = work->revisions[i];

        if (!active.active)
            continue;
        memmove(work->revisions + 1, work->revisions, i * sizeof *work->revisions);
        work->revisions[0] = active;
    }
}

static bool read_all(const struct pg_batch *batch, void *subject, int64_t *lease_ms)
{
    struct agent_work *work = subject;

    if (!agent_target_read(pg_batch_result(batch, work->trip.target), &work->target))
        return false;
    *lease_ms = work->target.lease_ms;
    if (work->trip.whole) {
        work->agent = subject_agent_read(batch, work->pass->memory, &work->trip.places);
        revision_list_read(pg_batch_result(batch, work->trip.list), work->pass->memory, &work->revisions,
                           &work->count);
        sort_active_first(work);
    }
    if (work->trip.revision_id)
        work->trip.revision =
            subject_revision_read(batch, work->memory, &work->trip.places, work->agent, NULL);
    return true;
}

static bool confirm(struct agent_work *work, struct verdict *verdict)
{
    const struct rights_target target = {fill, read_all, work};

    if (!rights_confirm(work->rights, &target, verdict))
        return false;
    if (!work->target.exists || !work->agent) {
        *verdict = verdict_of(OUTCOME_FAIL, "INVALID_AGENT_OWNER");
        return false;
    }
    return work->look(&work->target, verdict) && rights_allow(work->rights, verdict);
}

bool agent_work_begin(struct agent_work *work, struct pass *pass, const char *action,
                      enum revision_choice choice,
                      bool (*look)(const struct agent_target *target, struct verdict *verdict),
                      struct verdict *verdict)
{
    const struct work_item *item = &pass->item;

    memset(work, 0, sizeof *work);
    work->pass = pass;
    work->choice = choice;
    work->look = look;
    work->rights = rights_new(pass);
    rights_add(work->rights,
               &(struct iam_question){item->actor_id, action, "agent", item->agent_id, item->namespace_id});
    work->trip.whole = true;
    return confirm(work, verdict);
}

bool agent_work_confirm(struct agent_work *work, struct verdict *verdict)
{
    work->trip.whole = false;
    work->trip.revision_id = NULL;
    return confirm(work, verdict);
}

bool agent_work_read(struct agent_work *work, const struct revision_entry *entry,
                     const struct subject_revision **revision, struct verdict *verdict)
{
    work->trip.whole = false;
    work->trip.revision_id = entry->id;
    work->trip.revision = NULL;
    talloc_free(work->memory);
    work->memory = mem_context(work->pass->memory);
    if (!confirm(work, verdict))
        return false;
    if (!work->trip.revision) {
        *verdict = verdict_of(OUTCOME_FAIL, "INVALID_REVISION_OWNER");
        return false;
    }
    *revision = work->trip.revision;
    return true;
}

bool agent_work_is_here(const struct agent_work *work, const struct revision_entry *entry)
{
    return subject_is_here(work->pass, entry->compute_id, entry->compute_implementation);
}
