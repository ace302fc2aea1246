/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/revision_target.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/revision_sql.h"
#include "lib/store/work_sql.h"

/* clang-format off */
static const struct pg_statement read_statement = {
    "revision_target",
    "select " WORK_MS("w.lease_expires_at - statement_timestamp()") ","
    " greatest(0, " WORK_MS("statement_timestamp() - w.created_at") "),"
    " a.id is not null and own.id is not null, a.status = 'deleting', a.desired_runtime_state = 'running',"
    " exists (select from occ.controller_work s where s.agent_id = w.agent_id and s.agent_target = 'stopped'"
    " and s.created_at >= own.admitted_at), n.status = 'ready', a.active_revision_id,"
    " a.active_revision_id = own.id, exists (select from occ.agent_revisions e where e.agent_id = a.id"
    " and e.revision_number > own.revision_number"
    " and (e.id = a.active_revision_id or " REVISION_COMPLETED("e.id") ")),"
    " exists (select from occ.iam_identities i where i.id = a.service_principal_id and i.agent_id = a.id"
    " and i.kind = 'service_principal'),"
    " exists (select from occ.audit_events e where e.details ->> 'workId' = w.idempotency_key"
    " and e.action = 'reconcile'), w.result_data ->> 'refusal',"
    " coalesce((select max(case when d.state in ('queued', 'claimed') then 2 else 1 end)"
    " from occ.agent_revisions e join occ.controller_work d"
    " on d.idempotency_key = " WORK_DEPLOYMENT_KEY("e.id") " where e.agent_id = a.id"
    " and e.revision_number > own.revision_number and (d.attempt_count > 0"
    " or exists (select from occ.audit_events v where v.details ->> 'workId' = d.idempotency_key"
    " and v.action = 'reconcile'))), 0)"
    " from occ.controller_work w join occ.namespaces n on n.id = w.namespace_id"
    " left join occ.agents a on a.id = w.agent_id and a.namespace_id = w.namespace_id"
    " left join occ.agent_revisions own on own.id = w.revision_id and own.agent_id = a.id"
    " where " WORK_GUARD,
    2,
};

/* The Agent is locked first, then the work, so that the claim and what was read of the Agent hold until the
 * commit. */
static const struct pg_statement publish_statement = {
    "revision_publish",
    "with agent as materialized (select a.id, a.active_revision_id from occ.agents a where a.id = $3::text"
    " and a.status = 'active' and a.desired_runtime_state = 'running' for no key update),"
    " claim as materialized (select w.agent_id, w.revision_id from occ.controller_work w where " WORK_GUARD
    " and w.revision_id is not null and (select count(*) from agent) = 1 for no key update)"
    " update occ.agents a set active_revision_id = c.revision_id from agent g join claim c on c.agent_id = g.id"
    " join occ.agent_revisions own on own.id = c.revision_id and own.agent_id = c.agent_id"
    " where a.id = g.id and g.active_revision_id is not distinct from $4::text"
    " and not exists (select from occ.agent_revisions e where e.agent_id = g.id"
    " and e.revision_number >= own.revision_number"
    " and (e.id = g.active_revision_id or (e.id <> own.id and " REVISION_COMPLETED("e.id") ")))",
    4,
};
/* clang-format on */

size_t revision_target_add(struct pg_batch *batch, const char *key, const char *token)
{
    return pg_batch_add(batch, &read_statement, (const char *[]){key, token});
}

bool revision_target_read(const struct pg_result *result, const void *context, struct revision_target *target)
{
    const char *refusal;

    if (pg_rows(result) == 0)
        return false;
    target->lease_ms = pg_number(result, 0, 0);
    target->age_ms = pg_number(result, 0, 1);
    target->exists = pg_true(result, 0, 2);
    target->deleting = pg_true(result, 0, 3);
    target->wants_running = pg_true(result, 0, 4);
    target->captured = pg_true(result, 0, 5);
    target->namespace_ready = pg_true(result, 0, 6);
    text_copy(target->active_id, sizeof target->active_id, pg_text(result, 0, 7));
    target->active = pg_true(result, 0, 8);
    target->superseded = pg_true(result, 0, 9);
    target->has_principal = pg_true(result, 0, 10);
    target->attempted = pg_true(result, 0, 11);
    refusal = pg_text(result, 0, 12);
    target->refusal = refusal ? mem_text(context, refusal) : NULL;
    target->newer_begun = pg_number(result, 0, 13) > 0;
    target->newer_unfinished = pg_number(result, 0, 13) > 1;
    return true;
}

size_t revision_publish_add(struct pg_batch *batch, const char *key, const char *token, const char *agent_id,
                            const char *expected_id)
{
    return pg_batch_add(batch, &publish_statement, (const char *[]){key, token, agent_id, expected_id});
}
