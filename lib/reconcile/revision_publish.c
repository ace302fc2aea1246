/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/revision.h"

/* Compare-and-set: against the active revision that the confirmation just found. The claim's guard, and the
 * Agent's state, are in the statement; whatever it refuses, the target that is read behind it tells.
 *
 * An answer that does not come leaves the commit unknown. The trip is then made again without the
 * publication, under the same token, and tells whether the revision is active; only where it is not is the
 * publication sent again. The lease bounds this. */
bool revision_publish(struct revision_work *work, struct verdict *verdict)
{
    /* What was allowed before a long preparation may not be any more. */
    if (!revision_confirm(work, verdict))
        return false;
    do {
        work->trip.publishes = true;
        if (!revision_ask(work, verdict)) {
            work->trip.publishes = false;
            return false;
        }
    } while (!work->target.active && !work->trip.decisive);
    if (work->target.active)
        return true;
    if (!revision_is_wanted(work, verdict))
        return false;
    *verdict = verdict_of(OUTCOME_RETRY, "ACTIVE_REVISION_CHANGED");
    return false;
}
