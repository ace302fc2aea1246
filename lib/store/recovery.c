/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/recovery.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/work_sql.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* From `found` (idempotency_key, namespace_id, and last: whether it will fail) to the rows as they are
 * settled. A Namespace that may become failed is locked before its work, as everywhere; who is locked out of
 * it, or of the work, is left for the next sweep, since whoever holds the lock is about to finish or renew.
 * `still` is rechecked under the lock: PostgreSQL evaluates it again on the row's latest version. */
/* clang-format off */
#define RECOVER(still, code, failing, wait, refund)                                                          \
    " spaces as materialized (select n.id from occ.namespaces n where n.id in"                               \
    " (select f.namespace_id from found f where f.last and f.namespace_target = 'ready')"                    \
    " order by n.id for no key update skip locked),"                                                         \
    " held as materialized (select " WORK_SUBJECT ", w.available_at from occ.controller_work w"              \
    " where w.idempotency_key in (select f.idempotency_key from found f where not f.last"                    \
    " or f.namespace_target is distinct from 'ready' or f.namespace_id in (select id from spaces))"          \
    " and " still " for no key update skip locked),"                                                         \
    " ruling as materialized (select h.*, " failing " as failing, " code " as code from held h),"            \
    " failed as (update occ.namespaces n set status = 'failed' from ruling s where s.failing"                \
    " and s.namespace_target = 'ready' and n.id = s.namespace_id and n.status = 'provisioning'"              \
    " returning n.id),"                                                                                      \
    " settled as (update occ.controller_work w set lease_expires_at = null,"                                 \
    " state = case when s.failing then 'failed_permanent' else 'queued' end,"                                \
    " attempt_count = w.attempt_count - case when s.failing then 0 else " refund " end,"                     \
    " available_at = case when s.failing then w.available_at else statement_timestamp() + " wait " end,"     \
    " completed_at = case when s.failing then statement_timestamp() end,"                                    \
    " reason_code = case when s.failing then s.code end, updated_at = statement_timestamp()"                 \
    " from ruling s where w.idempotency_key = s.idempotency_key returning w.idempotency_key),"               \
    " evidence as (" WORK_EVENTS("'mutation'", "'failure'", "null", "true", "ensure", "'failure'", "null",   \
    "s.namespace_target = 'ready' and s.namespace_id in (select id from failed)") ")"                        \
    " select " WORK_COLUMNS ", w.failing, w.code from ruling w"                                              \
    " where w.idempotency_key in (select idempotency_key from settled)"
/* clang-format on */

/* K03, K07: the row's own lease is all that counts, the whole predicate is in SQL, oldest expiry first. */
/* clang-format off */
static const struct pg_statement expired_statement = {
    "recovery_expired",
    "with found as materialized (select w.idempotency_key, w.namespace_id, w.namespace_target,"
    " w.attempt_count >= $1::int as last from occ.controller_work w"
    " where w.state = 'claimed' and w.lease_expires_at <= statement_timestamp()"
    " order by w.lease_expires_at limit " TEXT(RECOVERY_BATCH) "),"
    RECOVER("w.state = 'claimed' and w.lease_expires_at <= statement_timestamp()", "'LEASE_EXPIRED'",
            "h.attempt_count >= $1::int", WORK_BACKOFF("s.attempt_count"), "0"),
    1,
};
/* clang-format on */

/* The keys come from the index of what is queued, which has the attempts, so that a long queue is not read.
 */
/* clang-format off */
static const struct pg_statement exhausted_statement = {
    "recovery_exhausted",
    "with found as materialized (select w.idempotency_key, w.namespace_id, w.namespace_target, true as last"
    " from occ.controller_work w where w.state = 'queued' and w.idempotency_key in"
    " (select q.idempotency_key from occ.controller_work q"
    " where q.state = 'queued' and q.attempt_count >= $1::int"
    " order by q.available_at, q.idempotency_key limit " TEXT(RECOVERY_BATCH) ")),"
    RECOVER("w.state = 'queued' and w.attempt_count >= $1::int", "'MAX_ATTEMPTS_EXHAUSTED'", "true",
            "interval '0'", "0"),
    1,
};
/* clang-format on */

/* $1 token, $2 code, $3 most attempts, $4 whether the attempt is given back (drain). */
/* clang-format off */
static const struct pg_statement release_statement = {
    "recovery_release",
    "with found as materialized (select w.idempotency_key, w.namespace_id, w.namespace_target,"
    " w.attempt_count >= $3::int and not $4::boolean as last from occ.controller_work w"
    " where w.state = 'claimed' and w.claim_token = $1::uuid),"
    RECOVER("w.state = 'claimed' and w.claim_token = $1::uuid", "$2::text",
            "h.attempt_count >= $3::int and not $4::boolean",
            "case when $4::boolean then interval '0' else " WORK_BACKOFF("s.attempt_count") " end",
            "case when $4::boolean then 1 else 0 end"),
    4,
};
/* clang-format on */

static void append(const void *context, const struct pg_result *result, struct recovered **list,
                   size_t *count)
{
    size_t rows = pg_rows(result);

    if (rows == 0)
        return;
    *list = mem_grow(context, *list, struct recovered, *count + rows);
    for (size_t row = 0; row < rows; row++) {
        struct recovered *entry = &(*list)[*count + row];

        work_item_read(context, result, row, &entry->item);
        entry->failed = pg_true(result, row, WORK_COLUMN_COUNT);
        text_copy(entry->code, sizeof entry->code, pg_text(result, row, WORK_COLUMN_COUNT + 1));
    }
    *count += rows;
}

bool recovery_sweep(struct pg *connection, const void *context, unsigned max_attempts,
                    const struct watch *watch, struct recovered **list, size_t *count, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(connection);
    struct recovered *made = NULL;
    size_t number = 0;
    char attempts[16];
    size_t expired;
    size_t exhausted;

    (void)snprintf(attempts, sizeof attempts, "%u", max_attempts);
    expired = pg_batch_add(batch, &expired_statement, (const char *[]){attempts});
    exhausted = pg_batch_add(batch, &exhausted_statement, (const char *[]){attempts});
    if (!pg_run(connection, batch, watch, fault)) {
        talloc_free(batch);
        return false;
    }
    append(context, pg_batch_result(batch, expired), &made, &number);
    append(context, pg_batch_result(batch, exhausted), &made, &number);
    talloc_free(batch);
    *list = made;
    *count = number;
    return true;
}

bool recovery_release(struct pg *connection, const void *context, const char *token, const char *code,
                      unsigned max_attempts, const struct watch *watch, struct recovered **list,
                      size_t *count, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(connection);
    struct recovered *made = NULL;
    size_t number = 0;
    char attempts[16];
    size_t index;

    (void)snprintf(attempts, sizeof attempts, "%u", max_attempts);
    index = pg_batch_add(
        batch, &release_statement,
        (const char *[]){token, code, attempts, text_equal(code, "WORKER_DRAINING") ? "true" : "false"});
    if (!pg_run(connection, batch, watch, fault)) {
        talloc_free(batch);
        return false;
    }
    append(context, pg_batch_result(batch, index), &made, &number);
    talloc_free(batch);
    *list = made;
    *count = number;
    return true;
}
