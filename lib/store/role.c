/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/role.h"

#include "lib/store/documents.h"
#include "lib/store/moment.h"

#define DOCUMENT                                                                                             \
    "select json_build_object('id', role.id, 'name', role.name, 'namespaceId', role.namespace_id,"           \
    " 'permissions', coalesce((select json_agg((permission ->> 'resourceKind') || ':'"                       \
    "                                          || (permission ->> 'action') order by place)"                 \
    "    from jsonb_array_elements(role.permissions) with ordinality as listed (permission, place)),"        \
    "    '[]'::json),"                                                                                       \
    " 'createdAt', " MOMENT_SQL("role.created_at") ") from occ.iam_roles as role"

static const struct pg_statement list_statement = {
    NULL,
    DOCUMENT " order by role.namespace_id nulls first, role.name",
    0,
};
static const struct pg_statement find_statement = {
    NULL,
    DOCUMENT " where role.id = $1::text"
             "    or (role.name = $1::text and (role.namespace_id is null or role.namespace_id = $2::text))"
             " order by (role.id = $1::text) desc, role.namespace_id nulls last limit 1",
    2,
};
static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.iam_roles (id, namespace_id, name, permissions)"
    " values ($1::text, $2::text, $3::text, $4::jsonb) on conflict do nothing",
    4,
};
static const struct pg_statement update_statement = {
    NULL,
    "update occ.iam_roles as role set name = coalesce($2::text, role.name),"
    " permissions = coalesce($3::jsonb, role.permissions) where role.id = $1::text"
    " and not exists (select from occ.iam_roles as other where other.name = $2::text"
    "   and other.namespace_id is not distinct from role.namespace_id and other.id <> role.id)",
    3,
};
static const struct pg_statement delete_statement = {NULL, "delete from occ.iam_roles where id = $1::text",
                                                     1};

bool role_list(struct pg *connection, const void *context, const struct watch *watch, const cJSON **rows,
               struct fault *fault)
{
    return documents_query(connection, context, &list_statement, NULL, watch, rows, fault);
}

bool role_find(struct pg *connection, const void *context, const char *text, const char *namespace_id,
               const struct watch *watch, const cJSON **found, struct fault *fault)
{
    const char *const parameters[] = {text, namespace_id};

    return documents_one(connection, context, &find_statement, parameters, watch, found, fault);
}

bool role_insert(struct pg *connection, const char *id, const char *namespace_id, const char *name,
                 const char *permissions, const struct watch *watch, bool *inserted, struct fault *fault)
{
    const char *const parameters[] = {id, namespace_id, name, permissions};

    return documents_change(connection, &insert_statement, parameters, watch, inserted, fault);
}

bool role_update(struct pg *connection, const char *id, const char *name, const char *permissions,
                 const struct watch *watch, bool *updated, struct fault *fault)
{
    const char *const parameters[] = {id, name, permissions};

    return documents_change(connection, &update_statement, parameters, watch, updated, fault);
}

bool role_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                 struct fault *fault)
{
    return documents_change(connection, &delete_statement, (const char *const[]){id}, watch, deleted, fault);
}
