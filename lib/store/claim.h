/* SPDX-License-Identifier: MIT
 *
 * Claiming: one eligible row becomes ours, under a random token, for the length of a lease. The attempt is
 * counted here, so that a crash spends it.
 *
 * Eligible: queued, due by the database's clock, attempts left, and nothing claimed in the same lane
 * (coalesce(agent_id, namespace_id)). Two claims that race for a lane meet in a unique index (23505): a race,
 * to be tried again at once.
 */
#ifndef OCC_STORE_CLAIM_H
#define OCC_STORE_CLAIM_H

#include "lib/base/identifier.h"
#include "lib/io/pg.h"
#include "lib/store/work.h"

#define WORK_KEY_SIZE 513

/* A place in the queue's order. */
struct claim_position {
    int64_t due_us;          /* available_at, microseconds of the Unix epoch */
    char key[WORK_KEY_SIZE]; /* orders rows that became due together */
};

struct claim {
    struct work_item item;
    int64_t lease_ms; /* what was left of the lease when the database ran the statement */
    struct claim_position position;
    int64_t search_us; /* how long the database looked for the row; 0 where it was read back */
};

/* Adds a claim under `token` to a batch. `from`: where the search starts; NULL: at the beginning. */
size_t claim_add(struct pg_batch *batch, const char *token, int lease_ms, unsigned max_attempts,
                 const struct claim_position *from);

/* Reads the answer: *found is false when nothing was eligible. The item's texts hang on `context`. Fault:
 * FAULT_BUG CLAIM_NOT_ONE when the statement took more than one row (K20). */
bool claim_read(const struct pg_result *result, const void *context, struct claim *claim, bool *found,
                struct fault *fault) MUST_USE;

/* Looks for a live claim by its token alone: whether a claim whose commit is not known took place. */
bool claim_find(struct pg *connection, const void *context, const char *token, const struct watch *watch,
                struct claim *claim, bool *found, struct fault *fault) MUST_USE;

/* Renews the lease if the claim is live. One row is affected, or none: then the claim is lost. */
size_t claim_renew_add(struct pg_batch *batch, const char *key, const char *token, int lease_ms);

/* ---- Where to start looking
 *
 * A row that was claimed leaves a dead entry at the front of the queue's index, and while another transaction
 * keeps vacuum away each search from the beginning walks over all of them (3 500 passes a second fall to 300
 * within a minute). So the search starts where the last one ended, as long as looking from the beginning is
 * expensive, and looks from the beginning as often as a twentieth of the time allows, for what sorts before:
 * rows whose lane was busy, late commits, hand-backs. "Nothing eligible" is only ever said after a search
 * from the beginning. */
struct claim_search {
    struct claim_position last; /* of the row claimed last */
    bool bounded;               /* the search under way starts there */
    bool whole_due;             /* the last bounded search found nothing */
    bool known;                 /* `last` is set */
    int64_t whole_cost_us;      /* of the latest search from the beginning */
    int64_t whole_at_us;        /* when it was: clock_now_us */
};

/* The start for a search made now: NULL is the beginning. */
const struct claim_position *claim_search_start(struct claim_search *search, int64_t now_us);
/* What it found (NULL: nothing) and whether that is final: false when a search from the beginning must follow
 * before the queue may be called empty. */
bool claim_search_end(struct claim_search *search, const struct claim *claim, int64_t now_us);

#endif
