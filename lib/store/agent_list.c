/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/agent_list.h"

#include "lib/base/memory.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"
#include "lib/store/row.h"
#include "lib/store/work_sql.h"

/* clang-format off */
#define AGE(moment) "floor(extract(epoch from statement_timestamp() - " moment ") * 1000)::bigint"

/* A row of controller_work as part of a document; null where there is none. */
#define WORK(work) \
    "case when " work ".idempotency_key is not null then json_build_object(" \
    " 'id', " work ".idempotency_key, 'state', " work ".state, 'attempt', " work ".attempt_count," \
    " 'code', coalesce(" work ".reason_code, (select event.details ->> 'reasonCode'" \
    "    from occ.audit_events as event where event.details ->> 'workId' = " work ".idempotency_key" \
    "     and event.action = 'reconcile' order by event.occurred_at desc, event.id desc limit 1))) end"

#define REVISION(revision) \
    "case when " revision ".id is not null then json_build_object('id', " revision ".id," \
    " 'number', " revision ".revision_number, 'admittedAt', " MOMENT_SQL(revision ".admitted_at") ") end"

#define STATE \
    "case when work.state = 'failed_permanent' then 'failed'" \
    "     when agent.status = 'deleting' then 'stopping'" \
    "     when agent.desired_runtime_state = 'running' and work.state in ('queued', 'claimed') then 'deploying'" \
    "     when agent.desired_runtime_state = 'running' and active.id = newest.id then 'running'" \
    "     when agent.desired_runtime_state = 'running' then 'failed'" \
    "     when work.state in ('queued', 'claimed') then 'stopping'" \
    "     when active.id is not null then 'failed'" \
    "     when newest.id is null and work.idempotency_key is null then 'draft' else 'stopped' end"

/* The work that the state depends on: the deletion's, the newest revision's, or the latest stop's. Work that was
 * pruned has none. */
#define AGENT \
    "select json_build_object('id', agent.id, 'name', agent.name, 'namespaceId', agent.namespace_id," \
    " 'namespaceName', space.name, 'state', " STATE ", 'configurationId', agent.configuration_id," \
    " 'executionMode', agent.execution_mode, 'harnessAuth', agent.harness_auth," \
    " 'servicePrincipalId', agent.service_principal_id," \
    " 'desiredRuntimeState', agent.desired_runtime_state, 'status', agent.status," \
    " 'activeRevision', " REVISION("active") ", 'newestRevision', " REVISION("newest") "," \
    " 'createdAt', " MOMENT_SQL("agent.created_at") ", 'ageMs', " AGE("agent.created_at") "," \
    " 'work', " WORK("work") ")" \
    "  from occ.agents as agent" \
    "  join occ.namespaces as space on space.id = agent.namespace_id" \
    "  left join occ.agent_revisions as active on active.id = agent.active_revision_id" \
    "  left join lateral (select revision.* from occ.agent_revisions as revision" \
    "                      where revision.agent_id = agent.id" \
    "                      order by revision.revision_number desc limit 1) as newest on true" \
    "  left join lateral (select item.* from occ.controller_work as item where item.agent_id = agent.id" \
    "     and case when agent.status = 'deleting' then item.agent_target = 'deleted'" \
    "              when agent.desired_runtime_state = 'running'" \
    "              then item.idempotency_key = 'agent_revision:' || newest.id || ':reconcile'" \
    "              else item.agent_target = 'stopped' end" \
    "     order by item.created_at desc, item.idempotency_key limit 1) as work on true"

static const struct pg_statement list_statement = {
    NULL,
    AGENT " where $1::text is null or agent.namespace_id = $1::text order by space.name, agent.name",
    1,
};

static const struct pg_statement find_statement = {NULL, AGENT " where agent.id = $1::text", 1};

static const struct pg_statement revisions_statement = {
    NULL,
    "select json_build_object('id', revision.id, 'number', revision.revision_number,"
    " 'namespaceId', revision.namespace_id, 'agentId', revision.agent_id,"
    " 'active', agent.active_revision_id is not distinct from revision.id::text,"
    " 'admittedAt', " MOMENT_SQL("revision.admitted_at") ", 'ageMs', " AGE("revision.admitted_at") ","
    " 'configurationId', revision.admitted_spec -> 'configuration_id',"
    " 'configurationGeneration', revision.admitted_spec -> 'configuration_generation',"
    " 'harness', revision.admitted_spec -> 'harness', 'compute', revision.admitted_spec -> 'compute',"
    " 'harnessAuth', revision.admitted_spec -> 'harness_auth',"
    " 'secretBindings', coalesce(revision.admitted_spec -> 'secret_bindings', '[]'),"
    " 'secretDriverId', revision.admitted_spec -> 'secret_driver_id',"
    " 'sandboxDriverId', revision.admitted_spec -> 'sandbox_driver_id',"
    " 'work', " WORK("work") ")"
    "  from occ.agent_revisions as revision"
    "  join occ.agents as agent on agent.id = revision.agent_id"
    "  left join occ.controller_work as work"
    "         on work.idempotency_key = " WORK_DEPLOYMENT_KEY("revision.id")
    " where revision.agent_id = $1::text order by revision.revision_number",
    1,
};

static const struct pg_statement generations_statement = {
    NULL,
    "select configuration.generation, coalesce((select case when revision.admitted_spec ->> 'configuration_id'"
    "                                                            = agent.configuration_id"
    "      then (revision.admitted_spec ->> 'configuration_generation')::bigint end"
    "   from occ.agent_revisions as revision where revision.agent_id = agent.id"
    "  order by revision.revision_number desc limit 1), 0)"
    "  from occ.agents as agent"
    "  join occ.configurations as configuration on configuration.id = agent.configuration_id"
    " where agent.id = $1::text",
    1,
};
/* clang-format on */

bool agent_list_documents(struct pg *connection, const void *context, const char *namespace_id,
                          const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    return documents_query(connection, context, &list_statement, (const char *const[]){namespace_id}, watch,
                           rows, fault);
}

bool agent_document(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                    const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &find_statement, (const char *const[]){id}, watch, found,
                         fault);
}

bool agent_revision_documents(struct pg *connection, const void *context, const char *agent_id,
                              const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    return documents_query(connection, context, &revisions_statement, (const char *const[]){agent_id}, watch,
                           rows, fault);
}

bool agent_generations(struct pg *connection, const char *id, const struct watch *watch, int64_t *generation,
                       int64_t *frozen, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = row_find(connection, scratch, &generations_statement, (const char *const[]){id}, watch,
                         &result, fault);

    if (done) {
        *generation = result ? pg_number(result, 0, 0) : 0;
        *frozen = result ? pg_number(result, 0, 1) : 0;
    }
    talloc_free(scratch);
    return done;
}
