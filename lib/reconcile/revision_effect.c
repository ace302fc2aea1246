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

/* The predecessor's own subject, document and all, is kept only for its operation. */
static bool act_on(struct revision_work *work, const char *id, compute_revision_operation operation,
                   struct verdict *verdict)
{
    TALLOC_CTX *memory = mem_context(work->pass->memory);
    const struct subject_revision *predecessor;
    struct fault fault;
    bool done = revision_ask_with(work, revision_confirm, id, memory, &predecessor, verdict);

    if (done && predecessor) {
        done = effect_revision(work->pass, operation, predecessor, false, &fault);
        if (!done)
            *verdict = effect_verdict(work->pass, &fault);
    }
    talloc_free(memory);
    return done;
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
        done = act_on(work, entry->id, operation, verdict);
    }
    return done;
}
