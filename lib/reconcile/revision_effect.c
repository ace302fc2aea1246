/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/revision.h"

#include "lib/base/memory.h"
#include "lib/reconcile/effect.h"

bool revision_act(struct revision_work *work, compute_revision_operation operation, struct verdict *verdict)
{
    struct fault fault;

    work->reached = true;
    if (effect_revision(work->pass, operation, work->revision, false, &fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

/* The predecessor's own subject, document and all, is read in the trip that confirms, and kept only for its
 * operation. */
static bool act_on(struct revision_work *work, const char *id, compute_revision_operation operation,
                   struct verdict *verdict)
{
    struct fault fault;
    bool confirmed;

    work->trip.predecessor_id = id;
    confirmed = revision_confirm(work, verdict);
    work->trip.predecessor_id = NULL;
    if (!confirmed)
        return false;
    if (!work->trip.predecessor ||
        effect_revision(work->pass, operation, work->trip.predecessor, false, &fault))
        return true;
    *verdict = effect_verdict(work->pass, &fault);
    return false;
}

bool revision_act_on_predecessors(struct revision_work *work, compute_revision_operation operation,
                                  struct verdict *verdict)
{
    bool done = true;

    for (size_t i = 0; done && i < work->predecessor_count; i++) {
        const struct revision_entry *entry = &work->predecessors[i];

        /* One that another Compute runs is out of this one's reach. */
        if (!subject_is_here(work->pass, entry->compute_id, entry->compute_implementation))
            continue;
        work->trip.memory = talloc_new(work->pass->memory);
        if (!work->trip.memory)
            mem_exhausted();
        done = act_on(work, entry->id, operation, verdict);
        talloc_free(work->trip.memory);
        work->trip.predecessor = NULL;
    }
    return done;
}
