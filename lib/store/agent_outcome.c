/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/agent_outcome.h"

#include "lib/store/work_sql.h"

/* $3: the Agent, which is locked before the work, so that what is read of it stays true; $4: the active
 * revision that was stopped, or null; $5: evidence; $6: what was stopped, as a JSON array of ids.
 *
 * The active revision is cleared where it is still the one that was stopped, also for an Agent that was asked
 * to run or to go meanwhile: it does not run. One that is active all the same was not this item's to stop. */
/* clang-format off */
static const struct pg_statement stopped_statement = {
    "agent_stopped",
    "with agent as materialized (select a.id, a.active_revision_id,"
    " case when a.status = 'deleting' then 'SUPERSEDED_TARGET'"
    " when a.desired_runtime_state = 'running' then 'STOP_SUPERSEDED'"
    " when a.active_revision_id is distinct from $4::text and a.active_revision_id is not null"
    " then 'SUPERSEDED_TARGET' else 'AGENT_STOPPED' end as code"
    " from occ.agents a where a.id = $3::text for no key update),"
    " ruling as (update occ.controller_work w set state = 'succeeded', lease_expires_at = null,"
    " completed_at = statement_timestamp(), reason_code = n.code, updated_at = statement_timestamp(),"
    " result_data = jsonb_build_object('stopped', $6::jsonb)"
    " from agent n where " WORK_GUARD " returning " WORK_SUBJECT ", n.code),"
    " cleared as (update occ.agents a set active_revision_id = null from ruling s"
    " where a.id = s.agent_id and a.active_revision_id = $4::text returning 1),"
    " evidence as (" WORK_EVENTS_OF("'mutation'", "'success'", WORK_WARNINGS("$5"), "true", "'openclaw.agents.lifecycle.stop'",
                                    "'success'", "(coalesce($5::jsonb, '{}') || jsonb_strip_nulls("
                                    "jsonb_build_object('revisionId', $4::text, 'stopped', jsonb_array_length($6::jsonb))))",
                                    "exists (select from cleared) or s.code = 'AGENT_STOPPED'") ")"
    " select 'succeeded', s.code from ruling s",
    6,
};
/* clang-format on */

size_t agent_outcome_add(struct pg_batch *batch, const struct outcome *outcome)
{
    return pg_batch_add(batch, &stopped_statement,
                        (const char *[]){outcome->item->key, outcome->token, outcome->item->agent_id,
                                         outcome->stopped_active_id, outcome->evidence, outcome->stopped});
}
