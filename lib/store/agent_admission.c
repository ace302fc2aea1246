/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/agent_admission.h"

#include "lib/base/identifier.h"
#include "lib/base/memory.h"
#include "lib/store/documents.h"
#include "lib/store/row.h"

/* ---- Finding */

/* NO KEY: what refers to the Agent, such as the worker's next item of maintenance, is not kept waiting. */
/* clang-format off */
#define COLUMNS \
    "select agent.id, agent.namespace_id, agent.name, agent.configuration_id, agent.execution_mode," \
    " agent.service_principal_id, agent.harness_auth, agent.harness_auth_secret_id," \
    " agent.harness_auth_service_account_id, agent.desired_runtime_state, agent.status," \
    " exists (select from occ.agent_revisions as revision where revision.agent_id = agent.id)" \
    " from occ.agents as agent where "
#define LOCKED " for no key update of agent"
/* clang-format on */

#define BY_ID COLUMNS "agent.id = $1::text and ($2::text is null or agent.namespace_id = $2::text)"
#define BY_NAME COLUMNS "agent.name = $1::text and agent.namespace_id = $2::text"

static const struct pg_statement by_id[] = {{NULL, BY_ID, 2}, {NULL, BY_ID LOCKED, 2}};
static const struct pg_statement by_name[] = {{NULL, BY_NAME, 2}, {NULL, BY_NAME LOCKED, 2}};

static bool find(struct pg *connection, const void *context, const struct pg_statement *statement,
                 const char *const *parameters, const struct watch *watch, struct agent_row **found,
                 struct fault *fault)
{
    const struct pg_result *result;
    struct agent_row *row;

    if (!row_find(connection, context, statement, parameters, watch, &result, fault))
        return false;
    if (!result) {
        *found = NULL;
        return true;
    }
    row = mem_new(context, struct agent_row);
    row->id = pg_text(result, 0, 0);
    row->namespace_id = pg_text(result, 0, 1);
    row->name = pg_text(result, 0, 2);
    row->configuration_id = pg_text(result, 0, 3);
    row->execution_mode = pg_text(result, 0, 4);
    row->service_principal_id = pg_text(result, 0, 5);
    row->harness_auth = pg_text(result, 0, 6);
    row->harness_auth_secret_id = pg_text(result, 0, 7);
    row->harness_auth_service_account_id = pg_text(result, 0, 8);
    row->desired_runtime_state = pg_text(result, 0, 9);
    row->status = pg_text(result, 0, 10);
    row->deployed = pg_true(result, 0, 11);
    *found = row;
    return true;
}

bool agent_find(struct pg *connection, const void *context, const char *namespace_id, const char *text,
                bool lock, const struct watch *watch, struct agent_row **found, struct fault *fault)
{
    const char *const parameters[] = {text, namespace_id};
    struct agent_row *row = NULL;

    if (identifier_is(text, "agt_") &&
        !find(connection, context, &by_id[lock], parameters, watch, &row, fault))
        return false;
    if (!row && namespace_id && !find(connection, context, &by_name[lock], parameters, watch, &row, fault))
        return false;
    *found = row;
    return true;
}

/* ---- Drafts */

static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.agents (id, namespace_id, name, configuration_id, execution_mode, service_principal_id,"
    "                        harness_auth)"
    " values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::jsonb) on conflict do nothing",
    7,
};

static const struct pg_statement principal_statement = {
    NULL,
    "insert into occ.iam_identities (id, namespace_id, agent_id, kind)"
    " select $1::text, $2::text, $3::text, 'service_principal'"
    "  where exists (select from occ.agents where id = $3::text)",
    3,
};

bool agent_insert(struct pg *connection, const char *id, const char *namespace_id, const char *name,
                  const char *service_principal_id, const struct agent_draft *draft,
                  const struct watch *watch, bool *inserted, struct fault *fault)
{
    const char *const parameters[] = {id,
                                      namespace_id,
                                      name,
                                      draft->configuration_id,
                                      draft->execution_mode,
                                      service_principal_id,
                                      draft->harness_auth};
    struct pg_batch *batch = pg_batch_new(NULL);
    size_t row = pg_batch_add(batch, &insert_statement, parameters);
    bool done;

    pg_batch_add(batch, &principal_statement, (const char *const[]){service_principal_id, namespace_id, id});
    done = pg_run(connection, batch, watch, fault);
    if (done)
        *inserted = pg_affected(pg_batch_result(batch, row)) == 1;
    talloc_free(batch);
    return done;
}

static const struct pg_statement update_statement = {
    NULL,
    "update occ.agents set configuration_id = $2::text, execution_mode = $3::text, harness_auth = $4::jsonb"
    " where id = $1::text and (configuration_id, execution_mode, harness_auth)"
    "                         is distinct from ($2::text, $3::text, $4::jsonb)",
    4,
};

bool agent_update(struct pg *connection, const char *id, const struct agent_draft *draft,
                  const struct watch *watch, bool *changed, struct fault *fault)
{
    const char *const parameters[] = {id, draft->configuration_id, draft->execution_mode,
                                      draft->harness_auth};

    return documents_change(connection, &update_statement, parameters, watch, changed, fault);
}

/* ---- Deployment */

/* clang-format off */
static const struct pg_statement revision_statement = {
    NULL,
    "insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec, admitted_at)"
    " select $1::text, agent.namespace_id, agent.id,"
    "        (select coalesce(max(earlier.revision_number), 0) + 1 from occ.agent_revisions as earlier"
    "          where earlier.agent_id = agent.id),"
    "        jsonb_build_object('configuration_id', agent.configuration_id, 'configuration_kind', $3::text,"
    "                           'configuration_generation', $4::bigint, 'draft_spec', $5::jsonb,"
    "                           'harness', jsonb_build_object('id', $7::text, 'version', $8::text,"
    "                                                         'mode', agent.execution_mode),"
    "                           'compute', jsonb_build_object('id', $9::text, 'implementation', $10::text),"
    "                           'harness_auth', agent.harness_auth)"
    "        || case when $6::jsonb = '[]' then '{}' else jsonb_build_object('secret_bindings', $6::jsonb) end"
    "        || case when $11::text is null then '{}'"
    "           else jsonb_build_object('secret_driver_id', $11::text) end"
    "        || case when $12::text is null then '{}'"
    "           else jsonb_build_object('sandbox_driver_id', $12::text) end,"
    "        statement_timestamp()"
    "   from occ.agents as agent where agent.id = $2::text"
    " returning revision_number",
    12,
};
/* clang-format on */

static const struct pg_statement desired_statement = {
    NULL,
    "update occ.agents set desired_runtime_state = $2::text"
    " where id = $1::text and desired_runtime_state <> $2::text",
    2,
};

/* created_at and available_at default to the transaction's start, which may be before the Agent's lock. */
static const struct pg_statement work_statement = {
    NULL,
    "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, agent_target,"
    "                                 actor_id, created_at, available_at, updated_at)"
    " values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, statement_timestamp(),"
    "         statement_timestamp(), statement_timestamp())"
    " on conflict do nothing",
    6,
};

static void add_work(struct pg_batch *batch, const struct agent_row *agent, const char *key,
                     const char *revision_id, const char *target, const char *actor_id)
{
    const char *const parameters[] = {key, agent->namespace_id, agent->id, revision_id, target, actor_id};

    pg_batch_add(batch, &work_statement, parameters);
}

bool agent_deploy_insert(struct pg *connection, const struct agent_revision_draft *revision,
                         const char *actor_id, const struct watch *watch, int64_t *number,
                         struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    char generation[24];
    const char *const parameters[] = {
        revision->id,
        revision->agent->id,
        revision->configuration_kind,
        generation,
        revision->draft_spec,
        revision->secret_bindings,
        revision->harness_id,
        revision->harness_version,
        revision->compute_id,
        revision->compute_implementation,
        revision->secret_driver_id,
        revision->sandbox_driver_id,
    };
    size_t row;
    bool done;

    (void)snprintf(generation, sizeof generation, "%lld", (long long)revision->configuration_generation);
    row = pg_batch_add(batch, &revision_statement, parameters);
    pg_batch_add(batch, &desired_statement, (const char *const[]){revision->agent->id, "running"});
    add_work(batch, revision->agent, agent_revision_work_key(batch, revision->id), revision->id, NULL,
             actor_id);
    done = pg_run(connection, batch, watch, fault);
    if (done)
        *number = pg_number(pg_batch_result(batch, row), 0, 0);
    talloc_free(batch);
    return done;
}

/* ---- Stop and deletion */

bool agent_stop_insert(struct pg *connection, const struct agent_row *agent, const char *work_id,
                       const char *actor_id, const struct watch *watch, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    bool done;

    pg_batch_add(batch, &desired_statement, (const char *const[]){agent->id, "stopped"});
    add_work(batch, agent, work_id, NULL, "stopped", actor_id);
    done = pg_run(connection, batch, watch, fault);
    talloc_free(batch);
    return done;
}

static const struct pg_statement deleting_statement = {
    NULL,
    "update occ.agents set status = 'deleting', desired_runtime_state = 'stopped'"
    " where id = $1::text and status <> 'deleting'",
    1,
};

bool agent_begin_delete(struct pg *connection, const struct agent_row *agent, const char *actor_id,
                        const struct watch *watch, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    bool done;

    pg_batch_add(batch, &deleting_statement, (const char *const[]){agent->id});
    add_work(batch, agent, agent_delete_work_key(batch, agent->id), NULL, "deleted", actor_id);
    done = pg_run(connection, batch, watch, fault);
    talloc_free(batch);
    return done;
}

const char *agent_revision_work_key(const void *context, const char *revision_id)
{
    return mem_format(context, "agent_revision:%s:reconcile", revision_id);
}

const char *agent_stop_work_key(const void *context, const char *agent_id, const char *uuid)
{
    return mem_format(context, "agent:%s:reconcile:stopped:%s", agent_id, uuid);
}

const char *agent_delete_work_key(const void *context, const char *agent_id)
{
    return mem_format(context, "agent:%s:reconcile:deleted", agent_id);
}

/* ---- What an admission asks besides */

static const struct pg_statement under_way_statement = {
    NULL,
    "select max(revision.revision_number) from occ.controller_work as work"
    "  join occ.agent_revisions as revision on revision.id = work.revision_id"
    " where work.agent_id = $1::text and work.state in ('queued', 'claimed')"
    "   and work.idempotency_key = 'agent_revision:' || revision.id || ':reconcile'",
    1,
};

bool agent_deployment_under_way(struct pg *connection, const char *id, const struct watch *watch,
                                int64_t *number, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done =
        pg_query(connection, scratch, &under_way_statement, (const char *const[]){id}, watch, &result, fault);

    if (done)
        *number = pg_text(result, 0, 0) ? pg_number(result, 0, 0) : 0;
    talloc_free(scratch);
    return done;
}

static const struct pg_statement elsewhere_statement = {
    NULL,
    "select id, driver_id from occ.secrets where id = any ($1::text[]) and driver_id is distinct from "
    "$2::text"
    " order by id limit 1",
    2,
};

bool agent_secret_elsewhere(struct pg *connection, const void *context, const char *const *ids, size_t count,
                            const char *driver_id, const struct watch *watch, const char **id,
                            const char **keeper, struct fault *fault)
{
    const char *const parameters[] = {documents_array(context, ids, count), driver_id};
    const struct pg_result *result;

    if (!row_find(connection, context, &elsewhere_statement, parameters, watch, &result, fault))
        return false;
    *id = result ? pg_text(result, 0, 0) : NULL;
    *keeper = result ? pg_text(result, 0, 1) : NULL;
    return true;
}
