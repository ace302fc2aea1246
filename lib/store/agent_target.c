/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/agent_target.h"

#include "lib/base/memory.h"
#include "lib/store/work_sql.h"

/* clang-format off */
static const struct pg_statement read_statement = {
    "agent_target",
    "select " WORK_MS("w.lease_expires_at - statement_timestamp()") ", a.id is not null, a.status = 'deleting',"
    " a.desired_runtime_state = 'running', active.id is not null,"
    " active.id is not null and (active.admitted_spec -> 'compute' ->> 'id',"
    " active.admitted_spec -> 'compute' ->> 'implementation') is distinct from ($3::text, $4::text)"
    " from occ.controller_work w"
    " left join occ.agents a on a.id = w.agent_id and a.namespace_id = w.namespace_id"
    " left join occ.agent_revisions active on active.id = a.active_revision_id"
    " where " WORK_GUARD,
    4,
};

static const struct pg_statement remove_statement = {
    "agent_remove",
    "select occ.delete_agent($1::text, $2::uuid, coalesce($3::jsonb, '{}'))",
    3,
};

static const struct pg_statement removed_statement = {
    "agent_removed",
    "select not exists (select from occ.controller_work w where w.idempotency_key = $1::text)",
    1,
};
/* clang-format on */

size_t agent_target_add(struct pg_batch *batch, const char *key, const char *token, const char *compute_id,
                        const char *implementation)
{
    return pg_batch_add(batch, &read_statement, (const char *[]){key, token, compute_id, implementation});
}

bool agent_target_read(const struct pg_result *result, struct agent_target *target)
{
    bool *const flags[] = {&target->exists, &target->deleting, &target->wants_running, &target->has_active,
                           &target->active_elsewhere};

    if (pg_rows(result) == 0)
        return false;
    target->lease_ms = pg_number(result, 0, 0);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        *flags[i] = pg_true(result, 0, i + 1);
    return true;
}

size_t agent_remove_add(struct pg_batch *batch, const char *key, const char *token, const char *evidence)
{
    return pg_batch_add(batch, &remove_statement, (const char *[]){key, token, evidence});
}

bool agent_remove_read(const struct pg_result *result)
{
    return pg_true(result, 0, 0);
}

bool agent_removed_find(struct pg *connection, const char *key, const struct watch *watch, bool *removed,
                        struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(connection);
    size_t index = pg_batch_add(batch, &removed_statement, (const char *[]){key});
    bool read = pg_run(connection, batch, watch, fault);

    if (read)
        *removed = pg_true(pg_batch_result(batch, index), 0, 0);
    talloc_free(batch);
    return read;
}
