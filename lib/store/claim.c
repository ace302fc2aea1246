/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/claim.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/work_sql.h"

#define CLAIM_PLACE " round(date_part('epoch', w.available_at) * 1000000)::bigint"
#define CLAIM_LEFT " " WORK_MS("w.lease_expires_at - statement_timestamp()")

/* The candidate comes from a materialized CTE, which runs once; as a sub-select the planner may run it again
 * for each row and claim many (K20). Due rows are compared with statement_timestamp(), which is stable and so
 * an index condition; the lane test is a scalar sub-select, which is planned as one index probe a candidate
 * and never as a join over the table (K21). */
/* clang-format off */
static const struct pg_statement claim_statement = {
    "claim",
    "with candidate as materialized ("
    " select w.idempotency_key from occ.controller_work w"
    " where w.state = 'queued' and w.available_at <= statement_timestamp() and w.attempt_count < $3::int"
    " and (w.available_at, w.idempotency_key)"
    " >= (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $5::text)"
    " and (select true from occ.controller_work c where c.state = 'claimed'"
    " and coalesce(c.agent_id, c.namespace_id) = coalesce(w.agent_id, w.namespace_id) limit 1) is null"
    " order by w.available_at, w.idempotency_key limit 1 for no key update skip locked)"
    " update occ.controller_work w set state = 'claimed', claim_token = $1::uuid,"
    " attempt_count = w.attempt_count + 1, updated_at = statement_timestamp(),"
    " lease_expires_at = statement_timestamp() + " WORK_INTERVAL("$2::int")
    " from candidate k where w.idempotency_key = k.idempotency_key"
    " returning " WORK_COLUMNS "," CLAIM_LEFT "," CLAIM_PLACE ","
    " round(date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000000)::bigint",
    5,
};
/* clang-format on */

/* By the index of claimed rows, of which there are no more than running passes. */
/* clang-format off */
static const struct pg_statement find_statement = {
    "claim_find",
    "select " WORK_COLUMNS "," CLAIM_LEFT "," CLAIM_PLACE ", 0::bigint from occ.controller_work w"
    " where w.state = 'claimed' and w.claim_token = $1::uuid and w.lease_expires_at > statement_timestamp()",
    1,
};
/* clang-format on */

/* clang-format off */
static const struct pg_statement renew_statement = {
    "claim_renew",
    "update occ.controller_work w set updated_at = statement_timestamp(),"
    " lease_expires_at = statement_timestamp() + " WORK_INTERVAL("$3::int")
    " where " WORK_GUARD,
    3,
};
/* clang-format on */

size_t claim_add(struct pg_batch *batch, const char *token, int lease_ms, unsigned max_attempts,
                 const struct claim_position *from)
{
    char lease[16];
    char attempts[16];
    char due[24];

    (void)snprintf(lease, sizeof lease, "%d", lease_ms);
    (void)snprintf(attempts, sizeof attempts, "%u", max_attempts);
    (void)snprintf(due, sizeof due, "%lld", from ? (long long)from->due_us : 0LL);
    return pg_batch_add(batch, &claim_statement,
                        (const char *[]){token, lease, attempts, due, from ? from->key : ""});
}

bool claim_read(const struct pg_result *result, const void *context, struct claim *claim, bool *found,
                struct fault *fault)
{
    size_t rows = pg_rows(result);

    if (rows > 1)
        return fault_set(fault, FAULT_BUG, "CLAIM_NOT_ONE", "one claim took %zu rows", rows);
    *found = rows == 1;
    if (!*found)
        return true;
    memset(claim, 0, sizeof *claim);
    work_item_read(context, result, 0, &claim->item);
    claim->lease_ms = pg_number(result, 0, WORK_COLUMN_COUNT);
    claim->position.due_us = pg_number(result, 0, WORK_COLUMN_COUNT + 1);
    text_copy(claim->position.key, sizeof claim->position.key, claim->item.key);
    claim->search_us = pg_number(result, 0, WORK_COLUMN_COUNT + 2);
    return true;
}

bool claim_find(struct pg *connection, const void *context, const char *token, const struct watch *watch,
                struct claim *claim, bool *found, struct fault *fault)
{
    const struct pg_result *result;

    if (!pg_query(connection, context, &find_statement, (const char *[]){token}, watch, &result, fault))
        return false;
    return claim_read(result, context, claim, found, fault);
}

size_t claim_renew_add(struct pg_batch *batch, const char *key, const char *token, int lease_ms)
{
    char lease[16];

    (void)snprintf(lease, sizeof lease, "%d", lease_ms);
    return pg_batch_add(batch, &renew_statement, (const char *[]){key, token, lease});
}

/* ---- Where to start looking */

/* A search from the beginning that is faster than this needs no sparing: it costs less than the commit. */
#define WHOLE_CHEAP_US 1000
#define WHOLE_SHARE 20

const struct claim_position *claim_search_start(struct claim_search *search, int64_t now_us)
{
    search->bounded = search->known && !search->whole_due && search->whole_cost_us > WHOLE_CHEAP_US &&
                      now_us - search->whole_at_us < search->whole_cost_us * WHOLE_SHARE;
    if (!search->bounded)
        search->whole_at_us = now_us;
    return search->bounded ? &search->last : NULL;
}

bool claim_search_end(struct claim_search *search, const struct claim *claim, int64_t now_us)
{
    if (claim) {
        search->last = claim->position;
        search->known = true;
        if (!search->bounded)
            search->whole_cost_us = claim->search_us;
    } else if (!search->bounded) {
        /* Nothing told how long the database looked: take the whole trip. */
        search->whole_cost_us = now_us - search->whole_at_us;
    }
    search->whole_due = search->bounded && !claim;
    if (!search->bounded)
        search->whole_at_us = now_us;
    return claim || !search->bounded;
}
