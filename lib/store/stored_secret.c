/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/stored_secret.h"

#include "lib/base/memory.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"
#include "lib/store/row.h"

#define COLUMNS                                                                                              \
    "select id, namespace_id, name, driver_id, backend_namespace_name, backend_name, backend_key,"           \
    " backend_uid, registered from occ.secrets"                                                              \
    " where ($1::text is null and id = $2::text)"                                                            \
    "    or (namespace_id = $1::text and (id = $2::text or name = $2::text))"                                \
    " order by (id = $2::text) desc limit 1"

bool stored_secret_find(struct pg *connection, const void *context, const char *namespace_id,
                        const char *text, bool lock, const struct watch *watch,
                        struct stored_secret_row **found, struct fault *fault)
{
    static const struct pg_statement look = {NULL, COLUMNS, 2}, hold = {NULL, COLUMNS " for update", 2};
    const struct pg_result *result;
    struct stored_secret_row *row;

    if (!row_find(connection, context, lock ? &hold : &look, (const char *const[]){namespace_id, text}, watch,
                  &result, fault))
        return false;
    *found = NULL;
    if (!result)
        return true;
    row = mem_new(context, struct stored_secret_row);
    row->id = pg_text(result, 0, 0);
    row->namespace_id = pg_text(result, 0, 1);
    row->name = pg_text(result, 0, 2);
    row->driver_id = pg_text(result, 0, 3);
    row->backend_namespace_name = pg_text(result, 0, 4);
    row->backend_name = pg_text(result, 0, 5);
    row->backend_key = pg_text(result, 0, 6);
    row->backend_uid = pg_text(result, 0, 7);
    row->registered = pg_true(result, 0, 8);
    *found = row;
    return true;
}

static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.secrets (id, namespace_id, name, driver_id, backend_namespace_name, backend_name,"
    " backend_key, backend_uid, registered) values ($1::text, $2::text, $3::text, $4::text, $5::text,"
    " $6::text, $7::text, $8::text, $9::boolean) on conflict do nothing",
    9,
};

bool stored_secret_insert(struct pg *connection, const struct stored_secret_row *row,
                          const struct watch *watch, bool *inserted, struct fault *fault)
{
    const char *const parameters[] = {row->id,
                                      row->namespace_id,
                                      row->name,
                                      row->driver_id,
                                      row->backend_namespace_name,
                                      row->backend_name,
                                      row->backend_key,
                                      row->backend_uid,
                                      row->registered ? "true" : "false"};

    return documents_change(connection, &insert_statement, parameters, watch, inserted, fault);
}

static const struct pg_statement at_statement = {
    NULL,
    "select id from occ.secrets where driver_id = $2::text and backend_namespace_name = $3::text"
    " and backend_name = $4::text and backend_key = $5::text and id <> $1::text",
    5,
};

bool stored_secret_at(struct pg *connection, const void *context, const struct stored_secret_row *row,
                      const struct watch *watch, const char **id, struct fault *fault)
{
    const char *const parameters[] = {row->id, row->driver_id, row->backend_namespace_name, row->backend_name,
                                      row->backend_key};
    const struct pg_result *result;

    if (!row_find(connection, context, &at_statement, parameters, watch, &result, fault))
        return false;
    *id = result ? pg_text(result, 0, 0) : NULL;
    return true;
}

static const struct pg_statement move_statement = {
    NULL,
    "update occ.secrets set backend_namespace_name = $2::text, backend_name = $3::text,"
    " backend_key = $4::text, backend_uid = $5::text where id = $1::text",
    5,
};

bool stored_secret_move(struct pg *connection, const struct stored_secret_row *row, const struct watch *watch,
                        struct fault *fault)
{
    const char *const parameters[] = {row->id, row->backend_namespace_name, row->backend_name,
                                      row->backend_key, row->backend_uid};
    bool changed;

    if (!documents_change(connection, &move_statement, parameters, watch, &changed, fault))
        return false;
    if (!changed)
        return fault_set(fault, FAULT_BUG, "SECRET_ROW_GONE", "The row of %s went while it was held.",
                         row->id);
    return true;
}

static const struct pg_statement remove_statement = {NULL, "delete from occ.secrets where id = $1::text", 1};

bool stored_secret_remove(struct pg *connection, const char *id, const struct watch *watch,
                          struct fault *fault)
{
    bool changed;

    return documents_change(connection, &remove_statement, (const char *const[]){id}, watch, &changed, fault);
}

static const struct pg_statement uses_statement = {
    NULL,
    "with named as ("
    "  select 'the Agent \"' || agent.name || '\" (' || agent.id || ')' as what, 1 as kind, agent.id"
    "    from occ.agents as agent where agent.harness_auth_secret_id = $1::text"
    "  union all select 'the Configuration ' || draft.id, 2, draft.id from occ.configurations as draft"
    "   where draft.namespace_id = (select namespace_id from occ.secrets where id = $1::text)"
    "     and draft.secret_bindings @> jsonb_build_array(jsonb_build_object('source',"
    "         jsonb_build_object('id', $1::text)))"
    "  union all select 'the service account \"' || account.name || '\" (' || account.id || ')', 3, "
    "account.id"
    "    from occ.service_accounts as account where account.credential_secret_id = $1::text),"
    " numbered as (select what, row_number() over (order by kind, id) as place, count(*) over () as total"
    "                from named)"
    " select string_agg(what, ', ' order by place)"
    "        || case when max(total) > 3 then ' and ' || max(total) - 3 || ' more' else '' end"
    "   from numbered where place <= 3",
    1,
};

bool stored_secret_uses(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                        const char **uses, struct fault *fault)
{
    const struct pg_result *result;

    if (!row_find(connection, context, &uses_statement, (const char *const[]){id}, watch, &result, fault))
        return false;
    *uses = result ? pg_text(result, 0, 0) : NULL;
    return true;
}

#define DOCUMENT                                                                                             \
    "select json_build_object('id', kept.id, 'name', kept.name, 'namespaceId', kept.namespace_id,"           \
    " 'driverId', kept.driver_id, 'registered', kept.registered, 'backend', json_build_object("              \
    " 'namespaceName', kept.backend_namespace_name, 'name', kept.backend_name, 'key', kept.backend_key,"     \
    " 'uid', kept.backend_uid), 'createdAt', " MOMENT_SQL(                                                   \
        "kept.created_at") ", 'ageMs',"                                                                      \
                           " floor(extract(epoch from statement_timestamp() - kept.created_at) * "           \
                           "1000)::bigint)"                                                                  \
                           " from occ.secrets as kept"

bool stored_secret_list(struct pg *connection, const void *context, const char *namespace_id,
                        const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    static const struct pg_statement statement = {
        NULL,
        DOCUMENT " where $1::text is null or kept.namespace_id = $1::text"
                 " order by kept.namespace_id, kept.name",
        1,
    };

    return documents_query(connection, context, &statement, (const char *const[]){namespace_id}, watch, rows,
                           fault);
}

bool stored_secret_document(struct pg *connection, const void *context, const char *id,
                            const struct watch *watch, const cJSON **found, struct fault *fault)
{
    static const struct pg_statement statement = {NULL, DOCUMENT " where kept.id = $1::text", 1};

    return documents_one(connection, context, &statement, (const char *const[]){id}, watch, found, fault);
}
