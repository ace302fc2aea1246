/* SPDX-License-Identifier: MIT
 *
 * What the stop and the deletion of an Agent share: the trips before each effect, and the revisions. For
 * lib/reconcile only.
 */
#ifndef OCC_RECONCILE_AGENT_WORK_H
#define OCC_RECONCILE_AGENT_WORK_H

#include "lib/reconcile/rights.h"
#include "lib/reconcile/subject.h"
#include "lib/store/agent_target.h"

/* A pass that stops or deletes an Agent. */
struct agent_work {
    struct pass *pass;
    enum revision_choice choice;
    struct rights *rights;
    /* Looks whether the target is still to be acted upon; false: *verdict is the end. */
    bool (*look)(const struct agent_target *target, struct verdict *verdict);

    /* As the latest trip found it. */
    struct agent_target target;
    /* As the first trip found them; the active one first, then newest first. */
    const struct subject_agent *agent;
    struct revision_entry *revisions;
    size_t count;

    void *memory; /* of the revision that was read last: it has a whole document */

    /* Of the trip under way. */
    struct {
        bool whole; /* it also reads what does not change */
        const char *revision_id;
        size_t target;
        size_t list;
        struct subject_places places;
        const struct subject_revision *revision;
    } trip;
};

/* The first trip: claim, Agent, rights, and which revisions there are. False: *verdict is the end. */
bool agent_work_begin(struct agent_work *work, struct pass *pass, const char *action,
                      enum revision_choice choice,
                      bool (*look)(const struct agent_target *target, struct verdict *verdict),
                      struct verdict *verdict) MUST_USE;

/* The trip before each further effect: claim, Agent and rights as they are now. */
bool agent_work_confirm(struct agent_work *work, struct verdict *verdict) MUST_USE;

/* The same with what the Driver is told of a revision, which lasts until the next one is read. */
bool agent_work_read(struct agent_work *work, const struct revision_entry *entry,
                     const struct subject_revision **revision, struct verdict *verdict) MUST_USE;

/* Whether a revision is pinned to this worker's Compute. */
bool agent_work_is_here(const struct agent_work *work, const struct revision_entry *entry);

#endif
