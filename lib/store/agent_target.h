/* SPDX-License-Identifier: MIT
 *
 * The Agent that a stop or a deletion is about: re-read under the item's claim, which the row that comes back
 * confirms.
 */
#ifndef OCC_STORE_AGENT_TARGET_H
#define OCC_STORE_AGENT_TARGET_H

#include "lib/base/identifier.h"
#include "lib/io/pg.h"

struct agent_target {
    int64_t lease_ms; /* what was left of the lease when the database answered */
    bool exists;
    bool deleting;
    bool wants_running;
    bool has_active;       /* a revision is active */
    bool active_elsewhere; /* and it is pinned to another Compute */
};

/* `compute_id` and `implementation` are this worker's. */
size_t agent_target_add(struct pg_batch *batch, const char *key, const char *token, const char *compute_id,
                        const char *implementation);
/* False: the claim is lost. */
bool agent_target_read(const struct pg_result *result, struct agent_target *target);

/* The end of an Agent's deletion: one function of the database removes all that belongs to the Agent, its
 * work too, and writes the evidence. Reads true when that was done, false when the claim was lost (or the
 * Agent does not wait for its deletion) and nothing was. */
size_t agent_remove_add(struct pg_batch *batch, const char *key, const char *token, const char *evidence);
bool agent_remove_read(const struct pg_result *result);

/* After an unknown commit: whether the item is gone, which nothing but its own deletion does. */
bool agent_removed_find(struct pg *connection, const char *key, const struct watch *watch, bool *removed,
                        struct fault *fault) MUST_USE;

#endif
