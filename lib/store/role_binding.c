/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/role_binding.h"

#include "lib/base/memory.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"
#include "lib/store/row.h"

/* clang-format off */
#define DOCUMENT \
    "select json_build_object('id', binding.id, 'roleId', binding.role_id, 'roleName', role.name," \
    " 'identityId', binding.identity_subject_id, 'groupId', binding.group_subject_id," \
    " 'groupName', team.name, 'namespaceId', binding.namespace_id," \
    " 'resourceKind', binding.resource_kind, 'resourceId', binding.resource_id," \
    " 'createdAt', " MOMENT_SQL( \
    "binding.created_at") ")" \
    " from occ.iam_access_bindings as binding" \
    " left join occ.iam_roles as role on role.id = binding.role_id" \
    " left join occ.iam_groups as team on team.id = binding.group_subject_id"

static const struct pg_statement list_statement = {
    NULL,
    DOCUMENT " order by binding.namespace_id nulls first, role.name, binding.created_at, binding.id",
    0,
};
static const struct pg_statement find_statement = {NULL, DOCUMENT " where binding.id = $1::text", 1};
static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.iam_access_bindings (id, namespace_id, identity_subject_id, group_subject_id, role_id,"
    "                                     resource_kind, resource_id)"
    " values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text) on conflict do nothing",
    7,
};
static const struct pg_statement delete_statement = {
    NULL,
    "delete from occ.iam_access_bindings where id = $1::text",
    1,
};
static const struct pg_statement uses_statement = {
    NULL,
    "select count(*) from occ.iam_access_bindings"
    " where identity_subject_id = $1::text or group_subject_id = $1::text or role_id = $1::text",
    1,
};
static const struct pg_statement resource_statement = {
    NULL,
    "select namespace_id from ("
    " select null as namespace_id, 'installation' as kind, id::text from occ.installation"
    " union all select id, 'namespace', id from occ.namespaces where deleted_at is null"
    " union all select namespace_id, 'configuration', id from occ.configurations"
    " union all select namespace_id, 'secret', id from occ.secrets"
    " union all select namespace_id, 'service_account', id from occ.service_accounts"
    " union all select namespace_id, 'agent', id from occ.agents"
    " union all select namespace_id, 'agent_revision', id from occ.agent_revisions) as resource"
    " where kind = $1::text and id = $2::text",
    2,
};
/* clang-format on */

bool role_binding_list(struct pg *connection, const void *context, const struct watch *watch,
                       const cJSON **rows, struct fault *fault)
{
    return documents_query(connection, context, &list_statement, NULL, watch, rows, fault);
}

bool role_binding_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                       const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &find_statement, (const char *const[]){id}, watch, found,
                         fault);
}

bool role_binding_insert(struct pg *connection, const struct role_binding *binding, const struct watch *watch,
                         bool *inserted, struct fault *fault)
{
    const char *const parameters[] = {
        binding->id,      binding->namespace_id,  binding->identity_id, binding->group_id,
        binding->role_id, binding->resource_kind, binding->resource_id,
    };

    return documents_change(connection, &insert_statement, parameters, watch, inserted, fault);
}

bool role_binding_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                         struct fault *fault)
{
    return documents_change(connection, &delete_statement, (const char *const[]){id}, watch, deleted, fault);
}

bool role_binding_uses(struct pg *connection, const char *id, const struct watch *watch, int64_t *count,
                       struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done =
        pg_query(connection, scratch, &uses_statement, (const char *const[]){id}, watch, &result, fault);

    if (done)
        *count = pg_number(result, 0, 0);
    talloc_free(scratch);
    return done;
}

bool role_binding_resource(struct pg *connection, const void *context, const char *kind, const char *id,
                           const struct watch *watch, bool *exists, const char **namespace_id,
                           struct fault *fault)
{
    const struct pg_result *result;

    if (!row_find(connection, context, &resource_statement, (const char *const[]){kind, id}, watch, &result,
                  fault))
        return false;
    *exists = result != NULL;
    *namespace_id = result ? pg_text(result, 0, 0) : NULL;
    return true;
}
