/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/restriction.h"

#include "lib/store/documents.h"
#include "lib/store/moment.h"

#define DOCUMENT                                                                                             \
    "select json_build_object('id', id, 'effect', effect, 'permission', resource_kind || ':' || action,"     \
    " 'action', action, 'resourceKind', resource_kind, 'resourceId', resource_id,"                           \
    " 'namespaceId', namespace_id, 'createdAt', " MOMENT_SQL("created_at") ") from occ.iam_restrictions"

static const struct pg_statement list_statement = {
    NULL,
    DOCUMENT " order by namespace_id nulls first, resource_kind, action, created_at, id",
    0,
};
static const struct pg_statement find_statement = {NULL, DOCUMENT " where id = $1::text", 1};
static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.iam_restrictions (id, namespace_id, action, resource_kind, resource_id)"
    " values ($1::text, $2::text, $3::text, $4::text, $5::text)",
    5,
};
static const struct pg_statement delete_statement = {
    NULL,
    "delete from occ.iam_restrictions where id = $1::text",
    1,
};

bool restriction_list(struct pg *connection, const void *context, const struct watch *watch,
                      const cJSON **rows, struct fault *fault)
{
    return documents_query(connection, context, &list_statement, NULL, watch, rows, fault);
}

bool restriction_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                      const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &find_statement, (const char *const[]){id}, watch, found,
                         fault);
}

bool restriction_insert(struct pg *connection, const struct restriction *restriction,
                        const struct watch *watch, struct fault *fault)
{
    const char *const parameters[] = {
        restriction->id,          restriction->namespace_id, restriction->action, restriction->resource_kind,
        restriction->resource_id,
    };
    bool inserted;

    return documents_change(connection, &insert_statement, parameters, watch, &inserted, fault);
}

bool restriction_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                        struct fault *fault)
{
    return documents_change(connection, &delete_statement, (const char *const[]){id}, watch, deleted, fault);
}
