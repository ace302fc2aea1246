/* SPDX-License-Identifier: MIT
 *
 * Work whose owner is gone. Both statements recheck state, lease and token in themselves and skip locked
 * rows, so that a claim which is renewed or finished at the same moment is left alone.
 *
 * A deployment that crashed on its last attempt after its revision was published is queued again with that
 * attempt given back, once in its life: ACTIVE_REVISION_RECOVERY (K87). One whose candidate was not published
 * fails with its last attempt like all other work; what is left of it is removed by the next deployment that
 * is completed, a stop or the deletion. A refusal that waits for its candidate's stop (OUTCOME_HOLD) never
 * fails here: it is queued again as after a stop that failed. A maintenance item that fails here is followed
 * by the next one (maintenance_sql.h).
 */
#ifndef OCC_STORE_RECOVERY_H
#define OCC_STORE_RECOVERY_H

#include "lib/io/pg.h"
#include "lib/store/work.h"

/* One row that changed. */
struct recovered {
    struct work_item item; /* attempt: as counted by the lost claim */
    bool failed;           /* true: failed_permanent (attempts exhausted); false: queued again */
    char code[FAULT_CODE_SIZE];
};

#define RECOVERY_BATCH 100

/* Expired claims, oldest expiry first, and queued rows with exhausted attempts; at most RECOVERY_BATCH of
 * each. Rows that somebody else holds are left for the next sweep. The list hangs on `context`. Call again
 * while *count is RECOVERY_BATCH or more: there may be others. */
bool recovery_sweep(struct pg *connection, const void *context, unsigned max_attempts,
                    const struct watch *watch, struct recovered **list, size_t *count,
                    struct fault *fault) MUST_USE;

/* Hands back the claim of a dead child by its token: queued with backoff under `code` (WORKER_CRASHED,
 * WORKER_HUNG), attempt kept, or failed when that was the last; with code WORKER_DRAINING: available now,
 * attempt given back. `message` tells in the evidence what happened; "": nothing. *count is 0 when the claim
 * is no longer there (finished, or recovered by somebody else). */
bool recovery_release(struct pg *connection, const void *context, const char *token, const char *code,
                      const char *message, unsigned max_attempts, const struct watch *watch,
                      struct recovered **list, size_t *count, struct fault *fault) MUST_USE;

#endif
