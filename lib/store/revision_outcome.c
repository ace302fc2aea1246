/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/revision_outcome.h"

#include "lib/store/maintenance_sql.h"

/* $3: the Agent to lock before the work, for DONE and where maintenance may follow, so that the active
 * revision that is read stays the active one; else null. $4: what is asked; $5: code; $6: denied; $7:
 * evidence; $8: Retry-After; $9: convergence timeout; $10: most attempts; $11: a candidate that no deadline
 * ends here; $12: lifecycle event or null; $13: the refusal that HOLD keeps, or null; $14: the interval of
 * maintenance that the Driver asks for.
 *
 * result_data of an item that stays queued is kept: it travels with the item (a maintenance item's interval,
 * a refusal whose stop is unfinished). */
/* clang-format off */
static const struct pg_statement settle_statement = {
    "revision_outcome",
    "with agent as materialized ("
    " select a.active_revision_id from occ.agents a where a.id = $3::text for no key update),"
    " claim as materialized (select " WORK_SUBJECT ", w.result_data from occ.controller_work w"
    " where " WORK_GUARD " and (select count(*) from agent) >= 0 for no key update),"
    " judged as materialized (select c.*,"
    " $4::text = 'done' and c.revision_id is distinct from (select active_revision_id from agent) as changed,"
    " $4::text = 'defer' and not $11::boolean and c.created_at + " WORK_INTERVAL("$9::bigint")
    " <= statement_timestamp() as late,"
    " coalesce((c.result_data ->> 'stops')::integer, 0) + 1 as stops from claim c),"
    " ruling as materialized (select s.*,"
    " case when s.late or $4::text = 'fail'"
    " or (($4::text = 'retry' or s.changed) and s.attempt_count >= $10::int) then 'failed_permanent'"
    " when $4::text in ('done', 'close') and not s.changed then 'succeeded' else 'queued' end as state,"
    " case when s.late then 'CONVERGENCE_DEADLINE_EXCEEDED' when s.changed then 'ACTIVE_REVISION_CHANGED'"
    " else $5::text end as code,"
    " case when $4::text = 'defer' then " WORK_DEFERRAL("$8::int", "s.created_at")
    " when $4::text = 'hold' then " WORK_HOLD("s.stops")
    " when $4::text = 'retry' or s.changed then " WORK_BACKOFF("s.attempt_count")
    " else interval '0' end as wait from judged s),"
    " settled as (update occ.controller_work w set state = s.state, lease_expires_at = null,"
    " updated_at = statement_timestamp(), attempt_count = w.attempt_count"
    " - case when s.state = 'queued' and $4::text in ('defer', 'hold', 'hand_back') then 1 else 0 end,"
    " available_at = case when s.state = 'queued' then statement_timestamp() + s.wait"
    " else w.available_at end,"
    " completed_at = case when s.state <> 'queued' then statement_timestamp() end,"
    " reason_code = case when s.state <> 'queued' then s.code end,"
    " result_data = case when s.code = 'CONVERGENCE_DEADLINE_EXCEEDED' and s.state = 'failed_permanent'"
    " then jsonb_build_object('timeoutMs', $9::bigint)"
    " when $4::text = 'hold' then coalesce(w.result_data, '{}') || jsonb_build_object('stops', s.stops)"
    " || case when $13::jsonb is null then '{}' else jsonb_build_object('refusal', $13::jsonb) end"
    " when s.state = 'queued' then w.result_data end"
    " from ruling s where w.idempotency_key = s.idempotency_key returning 1),"
    MAINTENANCE_NEXT("s.state <> 'queued' and ($4::text = 'done' or " MAINTENANCE_IS("s") ")",
                     "(s.state = 'failed_permanent' and $14::bigint > 0 and not " MAINTENANCE_IS("s") ")",
                     "case when ($4::text = 'done' and s.state = 'succeeded') or not " MAINTENANCE_IS("s")
                     " then $14::bigint else " MAINTENANCE_INTERVAL("s") " end") ","
    " evidence as (" WORK_EVENTS_OF(
        "case when $6::boolean then 'authorization_denial' else 'mutation' end",
        "case when $6::boolean then 'denied' when s.state = 'succeeded' then 'success' else 'failure' end",
        "$7",
        "case when s.state <> 'queued' or $4::text = 'retry' or s.changed then true"
        " else s.code is distinct from " WORK_LATEST_CODE " end",
        "'openclaw.agents.lifecycle.' || $12::text", "'success'", "$7",
        "$12::text is not null and s.state = 'succeeded'")
    " on conflict (resource_id) where action = 'openclaw.agents.lifecycle.activate' do nothing)"
    " select s.state, s.code from ruling s where exists (select from settled)",
    14,
};
/* clang-format on */

static const char *const kind_names[] = {
    [OUTCOME_DONE] = "done",   [OUTCOME_CLOSE] = "close", [OUTCOME_DEFER] = "defer",
    [OUTCOME_RETRY] = "retry", [OUTCOME_FAIL] = "fail",   [OUTCOME_HAND_BACK] = "hand_back",
    [OUTCOME_HOLD] = "hold",
};

/* Whether the end may make an item of maintenance. */
static bool may_maintain(const struct outcome *outcome)
{
    if (work_is_maintenance(outcome->item->kind, outcome->item->key))
        return true;
    return outcome->maintenance_interval_ms > 0 &&
           (outcome->kind == OUTCOME_FAIL || outcome->kind == OUTCOME_RETRY ||
            (outcome->kind == OUTCOME_DEFER && !outcome->candidate));
}

size_t revision_outcome_add(struct pg_batch *batch, const struct outcome *outcome)
{
    const struct work_item *item = outcome->item;
    char retry_after[16];
    char timeout[24];
    char attempts[16];
    char interval[24];
    bool locks = outcome->kind == OUTCOME_DONE || may_maintain(outcome);

    (void)snprintf(retry_after, sizeof retry_after, "%u",
                   outcome->retry_after_ms < 30000 ? outcome->retry_after_ms : 30000);
    (void)snprintf(timeout, sizeof timeout, "%lld", (long long)outcome->convergence_timeout_ms);
    (void)snprintf(attempts, sizeof attempts, "%u", outcome->max_attempts);
    (void)snprintf(interval, sizeof interval, "%lld", (long long)outcome->maintenance_interval_ms);
    return pg_batch_add(batch, &settle_statement,
                        (const char *[]){item->key, outcome->token, locks ? item->agent_id : NULL,
                                         kind_names[outcome->kind], outcome->code,
                                         outcome->denied ? "true" : "false", outcome->evidence, retry_after,
                                         timeout, attempts, outcome->candidate ? "true" : "false",
                                         outcome->lifecycle, outcome->refusal, interval});
}
