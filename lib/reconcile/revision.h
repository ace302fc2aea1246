/* SPDX-License-Identifier: MIT
 *
 * What the parts of a revision's pass share. For lib/reconcile only.
 *
 * A pass makes few trips: one reads the whole subject; one confirms claim, Agent and rights before each
 * operation of the Driver; one publishes, and confirms what follows in the same transaction; and the outcome
 * travels with the next claim. Where the Driver is ready at once, a first deployment takes five: subject,
 * confirmation (prepare), confirmation (of the publication), publication (activate), outcome and next claim.
 * Each bind, provision, deactivate and each predecessor adds one.
 *
 * A pass may die anywhere. What is done then stands in the database alone: before the publication the
 * revision is a candidate, which the next pass prepares again; after it, it is the active revision, whose
 * route and predecessors the next pass sees to again. All operations are idempotent, and those of one Agent
 * never overlap, since its items share a lane.
 */
#ifndef OCC_RECONCILE_REVISION_H
#define OCC_RECONCILE_REVISION_H

#include "lib/reconcile/rights.h"
#include "lib/reconcile/subject.h"
#include "lib/store/revision_target.h"

struct revision_work {
    struct pass *pass;
    bool maintenance;
    const struct subject_agent *agent; /* NULL: not read yet, or not there */
    const struct subject_revision *revision;
    struct subject_references references;
    struct revision_entry *predecessors; /* that may still be there; newest first */
    size_t predecessor_count;
    struct rights *rights;
    struct revision_target target;              /* as the latest trip found it */
    bool was_active;                            /* when the pass began */
    bool reached;                               /* this pass has called the Driver for its candidate */
    struct {                                    /* what the trip under way carries besides the target */
        bool publishes;                         /* the publication, if it is the first sending */
        bool decisive;                          /* the latest sending carried it */
        const char *another_id;                 /* NULL: none is read */
        const struct subject_revision *another; /* as read; NULL: it is gone */
        const void *memory;                     /* of the other */
        struct subject_places places;
        size_t target_index;
    } trip;
};

/* All of these but the conclusion return false when *verdict is the end of the pass, which then goes through
 * revision_conclude(). */

/* ---- revision_confirm.c */

/* Trip 1: subject, predecessors and target. The questions of its rights are known after it. */
bool revision_read(struct revision_work *work, struct verdict *verdict) MUST_USE;
/* A trip: claim, target, native rights. */
bool revision_ask(struct revision_work *work, struct verdict *verdict) MUST_USE;
/* Without the rights: before a candidate is stopped, which needs none. */
bool revision_ask_claim(struct revision_work *work, struct verdict *verdict) MUST_USE;
/* Whether the target is still to be acted upon, by the latest trip. */
bool revision_is_wanted(const struct revision_work *work, struct verdict *verdict) MUST_USE;
/* All of it: what stands before an operation. */
bool revision_confirm(struct revision_work *work, struct verdict *verdict) MUST_USE;
/* One of the three above (`ask`), which also reads another revision of the Agent. *revision is NULL where
 * that is gone; it hangs on `memory`. */
bool revision_ask_with(struct revision_work *work, bool (*ask)(struct revision_work *, struct verdict *),
                       const char *id, const void *memory, const struct subject_revision **revision,
                       struct verdict *verdict) MUST_USE;

/* ---- revision_check.c */

/* Whether this worker can carry out the revision, by what it froze. */
bool revision_is_possible(const struct revision_work *work, struct verdict *verdict) MUST_USE;

/* ---- revision_prepare.c */

/* From nothing to a candidate that is ready, and whose route is as the Driver's order wants it before the
 * commit. *routed: it is activated already. */
bool revision_prepare(struct revision_work *work, bool *routed, struct verdict *verdict) MUST_USE;

/* The last step of it alone: for one that was active and may have been stopped since. */
bool revision_prepare_again(struct revision_work *work, struct verdict *verdict) MUST_USE;
/* Whether it and its predecessors must not run at the same time. */
bool revision_runs_alone(const struct revision_work *work);

/* ---- revision_publish.c */

/* Makes it the active revision. The trip also asked for what comes next: revision_is_wanted() and
 * rights_allow() tell. */
bool revision_publish(struct revision_work *work, struct verdict *verdict) MUST_USE;

/* ---- revision_effect.c */

/* One operation on the item's own revision, confirmed before. */
bool revision_act(struct revision_work *work, compute_revision_operation operation,
                  struct verdict *verdict) MUST_USE;
/* The operation on each predecessor of this Compute, newest first, each after a confirmation of its own. */
bool revision_act_on_predecessors(struct revision_work *work, compute_revision_operation operation,
                                  struct verdict *verdict) MUST_USE;

/* ---- revision_conclude.c */

/* The end of a pass that did not get through. A candidate that may have been prepared does not outlive a
 * refusal: it is stopped before that is published, and where that does not succeed the refusal waits (K93).
 * What stays queued without limit otherwise is bounded here: the deadline, and the attempts. */
struct verdict revision_conclude(struct revision_work *work, const struct verdict *verdict);
/* The refusal that an earlier pass could not publish yet; false: there is none. */
bool revision_refused_before(const struct revision_work *work, struct verdict *verdict);

#endif
