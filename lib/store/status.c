/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/status.h"

#include "lib/store/documents.h"
#include "lib/store/moment.h"

#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* clang-format off */
static const struct pg_statement statement = {
    NULL,
    "with pending as ("
    "  select item.state, item.created_at, item.available_at, item.lease_expires_at,"
    "         item.state = 'queued' and item.available_at <= statement_timestamp()"
    "         and not exists (select from occ.controller_work as other where other.state = 'claimed'"
    "                          and coalesce(other.agent_id, other.namespace_id)"
    "                              = coalesce(item.agent_id, item.namespace_id)) as eligible"
    "    from occ.controller_work as item where item.state in ('queued', 'claimed')"
    "), queue as ("
    "  select count(*) filter (where state = 'queued') as queued, count(*) filter (where state = 'claimed') "
    "as claimed,"
    "         count(*) filter (where state = 'claimed' and lease_expires_at > statement_timestamp()) as live,"
    "         count(*) filter (where eligible) as eligible,"
    "         floor(extract(epoch from statement_timestamp() - min(created_at)) * 1000)::bigint as oldest,"
    "         floor(extract(epoch from statement_timestamp() - min(available_at) filter (where eligible)) * "
    "1000)"
    "         ::bigint as longest from pending"
    "), workers as ("
    "  select count(*) as sessions from pg_catalog.pg_stat_activity"
    "   where datname = current_database() and application_name in ('occ-worker dispatcher', 'occ-worker reconciler')"
    ") select json_build_object("
    " 'namespaces', (select json_build_object("
    "     'provisioning', count(*) filter (where status = 'provisioning'),"
    "     'ready', count(*) filter (where status = 'ready'), 'failed', count(*) filter (where status = "
    "'failed'),"
    "     'deleting', count(*) filter (where status = 'deleting' and deleted_at is null),"
    "     'deleted', count(*) filter (where deleted_at is not null)) from occ.namespaces),"
    " 'queue', json_build_object('queued', queue.queued, 'claimed', queue.claimed,"
    "     'failed', (select count(*) from occ.controller_work where state = 'failed_permanent'),"
    "     'eligible', queue.eligible, 'oldestPendingAgeMs', queue.oldest, 'longestWaitMs', queue.longest),"
    " 'workers', json_build_object("
    "     'claiming', case when queue.live > 0 then 'yes'"
    "                      when queue.longest > " TEXT_OF(
        STATUS_PATIENCE_SECONDS) " * 1000 then 'no'"
    "                      when workers.sessions > 0 then 'yes' else 'unknown' "
    "end,"
    "     'sessions', workers.sessions, 'liveClaims', queue.live,"
    "     'lastOutcomeAt', (select " MOMENT_SQL(
    "max(completed_at)") " from occ.controller_work)))"
    " from queue, workers",
    0,
};
/* clang-format on */

bool status_read(struct pg *connection, const void *context, const struct watch *watch, const cJSON **status,
                 struct fault *fault)
{
    return documents_one(connection, context, &statement, NULL, watch, status, fault);
}
