/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/outcome.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/agent_outcome.h"
#include "lib/store/revision_outcome.h"
#include "lib/store/work_sql.h"

/* Takes the work row after the Namespace, which `namespace` has locked by then: a filter is evaluated before
 * its row is locked. NO KEY UPDATE is what the updates below take themselves. */
/* clang-format off */
#define CLAIM_AFTER(lock)                                                                                    \
    " claim as materialized (select " WORK_SUBJECT " from occ.controller_work w where " WORK_GUARD           \
    " and " lock " for no key update),"

/* Completes the claimed row, with a code that `from` (aliased n) gives, and is the `ruling` that evidence is
 * written about. What `from` locks is locked before the row is. */
#define SUCCEED(from)                                                                                        \
    " ruling as (update occ.controller_work w set state = 'succeeded', lease_expires_at = null,"             \
    " completed_at = statement_timestamp(), reason_code = n.code, result_data = null,"                       \
    " updated_at = statement_timestamp() from (" from ") n where " WORK_GUARD                                \
    " returning " WORK_SUBJECT ", n.code),"
/* clang-format on */

/* A Namespace is ready. One that is ready already (the row was brought back by hand) is as wanted too; any
 * other state means that the target has moved on while the Driver worked. Under its lock the state that was
 * read stays true. */
/* clang-format off */
static const struct pg_statement ready_statement = {
    "outcome_ready",
    "with namespace as materialized ("
    " select n.status from occ.namespaces n where n.id = $3::text for no key update),"
    SUCCEED("select case when s.status in ('provisioning', 'ready') then 'RECONCILE_SUCCEEDED'"
            " else 'SUPERSEDED_TARGET' end as code from namespace s")
    " published as (update occ.namespaces n set status = 'ready' from ruling s"
    " where n.id = s.namespace_id and n.status = 'provisioning' returning 1),"
    " evidence as (" WORK_EVENTS("'mutation'", "'success'", WORK_WARNINGS("$4"), "true", "ensure", "'success'", "$4",
                                 "exists (select from published)") ")"
    " select 'succeeded', s.code from ruling s",
    4,
};
/* clang-format on */

/* A Namespace is gone: the tombstone, with its bindings and roles. The function takes the locks, Namespace
 * first, and checks the claim by the same clock reading as the guard. */
/* clang-format off */
static const struct pg_statement deleted_statement = {
    "outcome_deleted",
    "with gone as materialized (select occ.tombstone_namespace($1::text, $2::uuid) as done),"
    SUCCEED("select case when g.done then 'RECONCILE_SUCCEEDED' else 'SUPERSEDED_TARGET' end as code from gone g")
    " evidence as (" WORK_EVENTS("'mutation'", "'success'", WORK_WARNINGS("$3"), "true", "delete", "'success'", "$3",
                                 "(select done from gone)") ")"
    " select 'succeeded', s.code from ruling s",
    3,
};
/* clang-format on */

/* Everything else. $3: the Namespace to lock where this may make it failed, else null; $4: what is asked;
 * $5: code; $6: denied; $7: evidence; $8: Retry-After; $9: convergence timeout; $10: most attempts. */
/* clang-format off */
static const struct pg_statement settle_statement = {
    "outcome_settle",
    "with namespace as materialized ("
    " select n.id from occ.namespaces n where n.id = $3::text for no key update),"
    CLAIM_AFTER("(select count(*) from namespace) >= 0")
    " judged as materialized (select c.*,"
    " $4::text = 'defer' and c.created_at + " WORK_INTERVAL("$9::bigint")
    " <= statement_timestamp() as late,"
    " $4::text = 'fail' or ($4::text = 'retry' and c.attempt_count >= $10::int) as over from claim c),"
    " ruling as materialized (select s.*,"
    " case when s.late or s.over then 'failed_permanent' when $4::text = 'close' then 'succeeded'"
    " else 'queued' end as state,"
    " case when s.late then 'CONVERGENCE_DEADLINE_EXCEEDED' else $5::text end as code,"
    " case $4::text when 'defer' then " WORK_DEFERRAL("$8::int", "s.created_at")
    " when 'retry' then " WORK_BACKOFF("s.attempt_count") " else interval '0' end as wait from judged s),"
    " failed as (update occ.namespaces n set status = 'failed' from ruling s"
    " where s.state = 'failed_permanent' and s.namespace_target = 'ready' and n.id = s.namespace_id"
    " and n.status = 'provisioning' returning n.id),"
    " settled as (update occ.controller_work w set state = s.state, lease_expires_at = null,"
    " updated_at = statement_timestamp(), attempt_count = w.attempt_count"
    " - case when s.state = 'queued' and $4::text in ('defer', 'hand_back') then 1 else 0 end,"
    " available_at = case when s.state = 'queued' then statement_timestamp() + s.wait"
    " else w.available_at end,"
    " completed_at = case when s.state <> 'queued' then statement_timestamp() end,"
    " reason_code = case when s.state <> 'queued' then s.code end,"
    " result_data = case when s.late then jsonb_build_object('timeoutMs', $9::bigint) end"
    " from ruling s where w.idempotency_key = s.idempotency_key returning 1),"
    " evidence as (" WORK_EVENTS(
        "case when $6::boolean then 'authorization_denial' else 'mutation' end",
        "case when $6::boolean then 'denied' when s.state = 'succeeded' then 'success' else 'failure' end",
        "$7",
        "case when s.state <> 'queued' or $4::text = 'retry' then true"
        " else s.code is distinct from " WORK_LATEST_CODE " end",
        "ensure", "'failure'", "null", "exists (select from failed)") ")"
    " select s.state, s.code from ruling s where exists (select from settled)",
    10,
};
/* clang-format on */

/* clang-format off */
static const struct pg_statement find_statement = {
    "outcome_find",
    "select s.state, s.reason_code, s.claim_token = $2::uuid, s.attempt_count,"
    " " WORK_MS("s.lease_expires_at - statement_timestamp()") ", " WORK_LATEST_CODE
    " from occ.controller_work s where s.idempotency_key = $1::text",
    2,
};
/* clang-format on */

static const char *const kind_names[] = {
    [OUTCOME_DONE] = "close",  [OUTCOME_CLOSE] = "close", [OUTCOME_DEFER] = "defer",
    [OUTCOME_RETRY] = "retry", [OUTCOME_FAIL] = "fail",   [OUTCOME_HAND_BACK] = "hand_back",
    [OUTCOME_HOLD] = "defer", /* of revisions only, whose statement is another */
};

static size_t settle_add(struct pg_batch *batch, const struct outcome *outcome)
{
    const struct work_item *item = outcome->item;
    bool may_fail = item->kind == WORK_NAMESPACE_ENSURE && outcome->kind != OUTCOME_CLOSE &&
                    outcome->kind != OUTCOME_HAND_BACK;
    char retry_after[16];
    char timeout[24];
    char attempts[16];

    (void)snprintf(retry_after, sizeof retry_after, "%u",
                   outcome->retry_after_ms < 30000 ? outcome->retry_after_ms : 30000);
    (void)snprintf(timeout, sizeof timeout, "%lld", (long long)outcome->convergence_timeout_ms);
    (void)snprintf(attempts, sizeof attempts, "%u", outcome->max_attempts);
    return pg_batch_add(batch, &settle_statement,
                        (const char *[]){item->key, outcome->token, may_fail ? item->namespace_id : NULL,
                                         kind_names[outcome->kind], outcome->code,
                                         outcome->denied ? "true" : "false", outcome->evidence, retry_after,
                                         timeout, attempts});
}

size_t outcome_add(struct pg_batch *batch, const struct outcome *outcome)
{
    const struct work_item *item = outcome->item;

    if (outcome->kind == OUTCOME_DONE && item->kind == WORK_AGENT_STOP)
        return agent_outcome_add(batch, outcome);
    if (item->kind == WORK_AGENT_REVISION)
        return revision_outcome_add(batch, outcome);
    if (outcome->kind == OUTCOME_DONE && item->kind == WORK_NAMESPACE_ENSURE)
        return pg_batch_add(
            batch, &ready_statement,
            (const char *[]){item->key, outcome->token, item->namespace_id, outcome->evidence});
    if (outcome->kind == OUTCOME_DONE && item->kind == WORK_NAMESPACE_DELETE)
        return pg_batch_add(batch, &deleted_statement,
                            (const char *[]){item->key, outcome->token, outcome->evidence});
    return settle_add(batch, outcome);
}

static enum outcome_state state_of(const char *text)
{
    if (text_equal(text, "succeeded"))
        return OUTCOME_SUCCEEDED;
    return text_equal(text, "failed_permanent") ? OUTCOME_FAILED : OUTCOME_QUEUED;
}

bool outcome_read(const struct pg_result *result, struct outcome_record *record)
{
    if (pg_rows(result) == 0)
        return false;
    record->state = state_of(pg_text(result, 0, 0));
    text_copy(record->code, sizeof record->code, pg_text(result, 0, 1));
    return true;
}

/* Whether a terminal row is what this outcome, and nothing else, makes of an item. Recovery ends items too,
 * with codes of its own. */
static bool is_own_end(const struct outcome *outcome, enum outcome_state state, const char *code)
{
    if (state == OUTCOME_SUCCEEDED)
        return outcome->kind == OUTCOME_DONE || outcome->kind == OUTCOME_CLOSE;
    if (outcome->kind == OUTCOME_DEFER)
        return text_equal(code, "CONVERGENCE_DEADLINE_EXCEEDED");
    if (outcome->kind == OUTCOME_DONE)
        return text_equal(code, "ACTIVE_REVISION_CHANGED");
    return (outcome->kind == OUTCOME_RETRY || outcome->kind == OUTCOME_FAIL) &&
           text_equal(code, outcome->code);
}

/* The same for a row that is queued: its latest evidence has the outcome's code, where recovery leaves its
 * own; and a deferral and a hand-back gave the attempt back. */
static bool is_own_requeue(const struct outcome *outcome, int64_t attempts, const char *latest)
{
    bool spent = outcome->kind == OUTCOME_RETRY || outcome->kind == OUTCOME_DONE;
    const char *code = outcome->kind == OUTCOME_DONE ? "ACTIVE_REVISION_CHANGED" : outcome->code;

    return attempts == (int64_t)outcome->item->attempt - (spent ? 0 : 1) && text_equal(latest, code) &&
           outcome->kind != OUTCOME_CLOSE && outcome->kind != OUTCOME_FAIL;
}

static enum outcome_fate fate_of(const struct pg_result *result, const struct outcome *outcome,
                                 struct outcome_record *record, int64_t *lease_ms)
{
    const char *state = pg_text(result, 0, 0);
    const char *code = pg_text(result, 0, 1);
    const char *latest = pg_text(result, 0, 5);

    if (!pg_true(result, 0, 2))
        return FATE_UNKNOWN;
    if (text_equal(state, "claimed")) {
        *lease_ms = pg_number(result, 0, 4);
        return *lease_ms > 0 ? FATE_PENDING : FATE_LOST;
    }
    if (code ? !is_own_end(outcome, state_of(state), code)
             : !is_own_requeue(outcome, pg_number(result, 0, 3), latest))
        return FATE_LOST;
    record->state = state_of(state);
    text_copy(record->code, sizeof record->code,
              code                            ? code
              : outcome->kind == OUTCOME_DONE ? "ACTIVE_REVISION_CHANGED"
                                              : outcome->code);
    return FATE_DONE;
}

bool outcome_find(struct pg *connection, const struct outcome *outcome, const struct watch *watch,
                  enum outcome_fate *fate, struct outcome_record *record, int64_t *lease_ms,
                  struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(connection);
    size_t index = pg_batch_add(batch, &find_statement, (const char *[]){outcome->item->key, outcome->token});
    bool read = pg_run(connection, batch, watch, fault);

    if (read) {
        const struct pg_result *result = pg_batch_result(batch, index);

        *fate = pg_rows(result) == 1 ? fate_of(result, outcome, record, lease_ms) : FATE_UNKNOWN;
    }
    talloc_free(batch);
    return read;
}
