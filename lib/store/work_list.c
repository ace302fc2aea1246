/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/work_list.h"

#include "lib/store/documents.h"
#include "lib/store/moment.h"

/* clang-format off */
#define KIND \
    "case when item.namespace_target = 'ready' then 'namespace_ensure'" \
    "     when item.namespace_target = 'deleted' then 'namespace_delete'" \
    "     when item.agent_target = 'stopped' then 'agent_stop'" \
    "     when item.agent_target = 'deleted' then 'agent_delete' else 'agent_revision' end"

/* A worker that runs takes what is eligible within a poll interval; ten seconds of nothing are worth a word. */
#define WHY \
    "case when item.state = 'claimed' and item.lease_expires_at > statement_timestamp()" \
    "     then 'a worker is carrying it out'" \
    "     when item.state = 'claimed' then 'its worker is gone; any worker queues it again'" \
    "     when item.state = 'failed_permanent' and 'deleted' in (item.namespace_target, item.agent_target)" \
    "     then 'failed; occctl work retry starts it again'" \
    "     when item.state = 'failed_permanent' then 'failed; it is not tried again'" \
    "     when item.state <> 'queued' then null" \
    "     when lane.holder is not null then 'waits for the end of ' || lane.holder" \
    "     when item.available_at > statement_timestamp() and item.attempt_count = 0 then 'converging'" \
    "     when item.available_at > statement_timestamp() then 'waits before it is tried again'" \
    "     when item.available_at < statement_timestamp() - interval '10 s'" \
    "     then 'waits for a worker, and none has come for '" \
    "          || floor(extract(epoch from statement_timestamp() - item.available_at)) || ' s'" \
    "     else 'waits for a worker' end"

#define FUTURE "case when item.state = 'queued' and item.available_at > statement_timestamp() then "

#define DOCUMENT \
    "json_build_object('id', item.idempotency_key, 'kind', " KIND ", 'namespaceId', item.namespace_id," \
    " 'namespaceName', space.name, 'agentId', item.agent_id, 'revisionId', item.revision_id," \
    " 'actorId', item.actor_id, 'state', item.state, 'attempt', item.attempt_count," \
    " 'code', coalesce(item.reason_code, evidence.code)," \
    " 'message', evidence.message, 'failure', evidence.failure, 'warnings', evidence.warnings," \
    " 'codeAt', " MOMENT_SQL("evidence.occurred_at") "," \
    " 'why', " WHY "," \
    " 'nextAttemptAt', " FUTURE MOMENT_SQL("item.available_at") " end," \
    " 'nextAttemptInMs', " FUTURE \
    "    ceil(extract(epoch from item.available_at - statement_timestamp()) * 1000)::bigint end," \
    " 'leaseExpiresAt', " MOMENT_SQL("item.lease_expires_at") "," \
    " 'createdAt', " MOMENT_SQL("item.created_at") "," \
    " 'availableAt', " MOMENT_SQL("item.available_at") "," \
    " 'completedAt', " MOMENT_SQL("item.completed_at") "," \
    " 'ageMs', floor(extract(epoch from statement_timestamp() - item.created_at) * 1000)::bigint," \
    " 'result', item.result_data)"

#define JOINED \
    " join occ.namespaces as space on space.id = item.namespace_id" \
    " left join lateral (select event.details ->> 'reasonCode' as code," \
    "                           event.details ->> 'message' as message, event.occurred_at," \
    "                           event.details -> 'failure' as failure," \
    "                           event.details -> 'warnings' as warnings" \
    "                      from occ.audit_events as event" \
    "                     where event.details ->> 'workId' = item.idempotency_key" \
    "                       and event.action = 'reconcile'" \
    "                     order by event.occurred_at desc, event.id desc limit 1) as evidence on true" \
    " left join lateral (select other.idempotency_key as holder from occ.controller_work as other" \
    "                     where other.state = 'claimed' and item.state = 'queued'" \
    "                       and coalesce(other.agent_id, other.namespace_id)" \
    "                           = coalesce(item.agent_id, item.namespace_id) limit 1) as lane on true"

static const struct pg_statement list_statement = {
    NULL,
    "select " DOCUMENT " from (select * from occ.controller_work as item"
    "   where item.namespace_id = any ($1::text[])"
    "     and case $2::text when 'pending' then item.state in ('queued', 'claimed')"
    "                       else $2::text is null or item.state = $2::text end"
    "     and ($3::text is null or " KIND " = $3::text)"
    "   order by item.created_at desc, item.idempotency_key desc limit $4::integer) as item" JOINED
    " order by item.created_at, item.idempotency_key",
    4,
};

static const struct pg_statement find_statement = {
    NULL,
    "select " DOCUMENT " from occ.controller_work as item" JOINED " where item.idempotency_key = $1::text",
    1,
};
/* clang-format on */

bool work_list(struct pg *connection, const void *context, const struct work_filter *filter,
               const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    char limit[16];
    const char *const parameters[] = {
        documents_array(context, filter->namespace_ids, filter->namespace_count),
        filter->state,
        filter->kind,
        limit,
    };

    (void)snprintf(limit, sizeof limit, "%u", filter->limit);
    return documents_query(connection, context, &list_statement, parameters, watch, rows, fault);
}

bool work_find(struct pg *connection, const void *context, const char *work_id, const struct watch *watch,
               const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &find_statement, (const char *const[]){work_id}, watch, found,
                         fault);
}
