/* SPDX-License-Identifier: MIT
 *
 * The work of a deletion, as its repetition sees it.
 */
#ifndef OCC_STORE_DELETION_H
#define OCC_STORE_DELETION_H

#include "lib/io/pg.h"

struct deletion_work {
    const char *namespace_id;
    const char *agent_id; /* NULL: the Namespace's own */
    const char *revision_id;
    const char *actor_id;
    const char *target; /* "ready", "deleted", "stopped", or NULL for a revision */
    const char *state;
};

/* NULL where there is none; hangs on `context`. */
bool deletion_find(struct pg *connection, const void *context, const char *work_id, const struct watch *watch,
                   struct deletion_work **found, struct fault *fault) MUST_USE;

enum deletion_answer {
    DELETION_REQUEUED,
    DELETION_PENDING,      /* queued or claimed: nothing to do */
    DELETION_SUCCEEDED,    /* done */
    DELETION_OTHER_ACTOR,  /* a takeover would be needed */
    DELETION_NOT_DELETION, /* failed work of another kind */
    DELETION_NOT_DELETING, /* nobody waits for this deletion */
    DELETION_MISSING,
};

/* Queues a failed deletion again, in the caller's transaction, by the one function that may. */
bool deletion_requeue(struct pg *connection, const char *work_id, const char *actor_id, bool takeover,
                      const struct watch *watch, enum deletion_answer *answer, struct fault *fault) MUST_USE;

#endif
