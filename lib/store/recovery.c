/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/recovery.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/maintenance_sql.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* A crash on the last attempt of a deployment whose revision is published already: the runtime is there, and
 * only the end is missing. Such an item gets one more attempt, once (K87). */
#define PUBLISHED                                                                                            \
    "h.idempotency_key = 'agent_revision:' || h.revision_id || ':reconcile'"                                 \
    " and exists (select from occ.agents a where a.id = h.agent_id"                                          \
    " and a.active_revision_id = h.revision_id)"                                                             \
    " and not exists (select from occ.audit_events e where e.details ->> 'workId' = h.idempotency_key"       \
    " and e.action = 'reconcile' and e.details ->> 'reasonCode' = 'ACTIVE_REVISION_RECOVERY')"

/* A refusal whose candidate is not stopped yet (OUTCOME_HOLD keeps count of the stops). A claim that is lost
 * meanwhile is one more stop that failed: no number of them ends the item, whose candidate would run on
 * behind a published end (K93). */
#define HELD(row) "coalesce(" row ".result_data ? 'stops', false)"

/* clang-format off */
#define FOUND(last_one)                                                                                      \
    "with found as materialized (select w.idempotency_key, w.namespace_id, w.agent_id, w.namespace_target,"  \
    " " MAINTENANCE_IS("w") " as maintenance, " last_one " and not " HELD("w") " as last"                    \
    " from occ.controller_work w where "
/* clang-format on */

/* From `found` to the rows as they are settled. A Namespace that may become failed, and an Agent whose
 * maintenance goes on with another item, are locked before their work, as everywhere; who is locked out of
 * one, or of the work, is left for the next sweep, since whoever holds the lock is about to finish or renew.
 * `still` is rechecked under the lock: PostgreSQL evaluates it again on the row's latest version. `last_one`:
 * no attempt is left; `spared_one`: it gets one more; `lost`: a claim came to nothing; `back`: how many
 * attempts what is queued without one left is given back, `refund`: and what has one left; `more`: what the
 * evidence tells besides. */
/* clang-format off */
#define RECOVER(still, why, last_one, spared_one, lost, back, wait, refund, more)                            \
    " spaces as materialized (select n.id from occ.namespaces n where n.id in"                               \
    " (select f.namespace_id from found f where f.last and f.namespace_target = 'ready')"                    \
    " order by n.id for no key update skip locked),"                                                         \
    " agents as materialized (select a.id from occ.agents a where a.id in"                                   \
    " (select f.agent_id from found f where f.last and f.maintenance)"                                       \
    " order by a.id for no key update skip locked),"                                                         \
    " held as materialized (select " WORK_SUBJECT ", w.available_at, w.result_data"                          \
    " from occ.controller_work w where w.idempotency_key in (select f.idempotency_key from found f"          \
    " where not f.last or case when f.namespace_target = 'ready' then f.namespace_id in"                     \
    " (select id from spaces) when f.maintenance then f.agent_id in (select id from agents) else true end)"  \
    " and " still " for no key update skip locked),"                                                         \
    " judged as materialized (select h.*, " last_one " as last, " HELD("h") " as holding,"                   \
    " " last_one " and not " HELD("h") " and " spared_one " as spared,"                                      \
    " case when " HELD("h") " then (h.result_data ->> 'stops')::integer + 1 end as stops from held h),"      \
    " ruling as materialized (select j.*, j.last and not j.spared and not j.holding as failing,"             \
    " case when j.spared then 'ACTIVE_REVISION_RECOVERY' else " why " end as code from judged j),"           \
    " failed as (update occ.namespaces n set status = 'failed' from ruling s where s.failing"                \
    " and s.namespace_target = 'ready' and n.id = s.namespace_id and n.status = 'provisioning'"              \
    " returning n.id),"                                                                                      \
    " settled as (update occ.controller_work w set lease_expires_at = null,"                                 \
    " state = case when s.failing then 'failed_permanent' else 'queued' end,"                                \
    " attempt_count = w.attempt_count - case when s.failing then 0 when s.spared or s.holding then " back    \
    " else " refund " end,"                                                                                  \
    " available_at = case when s.failing then w.available_at when s.holding and " lost                       \
    " then statement_timestamp() + " WORK_HOLD("s.stops") " else statement_timestamp() + " wait " end,"      \
    " result_data = case when s.holding and " lost                                                           \
    " then w.result_data || jsonb_build_object('stops', s.stops) else w.result_data end,"                    \
    " completed_at = case when s.failing then statement_timestamp() end,"                                    \
    " reason_code = case when s.failing then s.code end, updated_at = statement_timestamp()"                 \
    " from ruling s where w.idempotency_key = s.idempotency_key returning w.idempotency_key),"               \
    MAINTENANCE_NEXT("s.failing and " MAINTENANCE_IS("s"), "false", MAINTENANCE_INTERVAL("s")) ","           \
    " evidence as (" WORK_EVENTS("'mutation'", "'failure'", more, "true", "ensure", "'failure'", "null",     \
    "s.namespace_target = 'ready' and s.namespace_id in (select id from failed)") ")"                        \
    " select " WORK_COLUMNS ", w.failing, w.code from ruling w"                                              \
    " where w.idempotency_key in (select idempotency_key from settled)"
/* clang-format on */

/* K03, K07: the row's own lease is all that counts, the whole predicate is in SQL, oldest expiry first. */
/* clang-format off */
static const struct pg_statement expired_statement = {
    "recovery_expired",
    FOUND("w.attempt_count >= $1::int")
    " w.state = 'claimed' and w.lease_expires_at <= statement_timestamp()"
    " order by w.lease_expires_at limit " TEXT(RECOVERY_BATCH) "),"
    RECOVER("w.state = 'claimed' and w.lease_expires_at <= statement_timestamp()", "'LEASE_EXPIRED'",
            "h.attempt_count >= $1::int", PUBLISHED, "true", "1", WORK_BACKOFF("s.attempt_count"), "0", "null"),
    1,
};
/* clang-format on */

/* The keys come from the index of what is queued, which has the attempts, so that a long queue is not read.
 */
/* clang-format off */
static const struct pg_statement exhausted_statement = {
    "recovery_exhausted",
    FOUND("true")
    " w.state = 'queued' and w.idempotency_key in"
    " (select q.idempotency_key from occ.controller_work q"
    " where q.state = 'queued' and q.attempt_count >= $1::int"
    " order by q.available_at, q.idempotency_key limit " TEXT(RECOVERY_BATCH) ")),"
    RECOVER("w.state = 'queued' and w.attempt_count >= $1::int", "'MAX_ATTEMPTS_EXHAUSTED'", "true", "false",
            "false", "(w.attempt_count - $1::int + 1)", "interval '0'", "0", "null"),
    1,
};
/* clang-format on */

/* $1 token, $2 code, $3 most attempts, $4 whether the attempt is given back (drain), $5 what happened. */
/* clang-format off */
static const struct pg_statement release_statement = {
    "recovery_release",
    FOUND("w.attempt_count >= $3::int and not $4::boolean")
    " w.state = 'claimed' and w.claim_token = $1::uuid),"
    RECOVER("w.state = 'claimed' and w.claim_token = $1::uuid", "$2::text",
            "(h.attempt_count >= $3::int and not $4::boolean)", PUBLISHED, "not $4::boolean", "1",
            "case when $4::boolean then interval '0' else " WORK_BACKOFF("s.attempt_count") " end",
            "case when $4::boolean then 1 else 0 end",
            "case when $5::text <> '' then jsonb_build_object('message', $5::text) end"),
    5,
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
                      const char *message, unsigned max_attempts, const struct watch *watch,
                      struct recovered **list, size_t *count, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(connection);
    struct recovered *made = NULL;
    size_t number = 0;
    char attempts[16];
    size_t index;

    (void)snprintf(attempts, sizeof attempts, "%u", max_attempts);
    index = pg_batch_add(batch, &release_statement,
                         (const char *[]){token, code, attempts,
                                          text_equal(code, "WORKER_DRAINING") ? "true" : "false", message});
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
