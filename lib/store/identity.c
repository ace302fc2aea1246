/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/identity.h"

#include "lib/store/bootstrap.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"

/* Who signs in to this Installation itself is known by its user's e-mail address. */
/* clang-format off */
#define DOCUMENT \
    "select json_build_object('id', identity.id, 'kind', identity.kind, 'issuer', identity.issuer," \
    " 'subject', identity.subject, 'namespaceId', identity.namespace_id, 'agentId', identity.agent_id," \
    " 'email', person.email, 'createdAt', " MOMENT_SQL( \
    "identity.created_at") ")" \
    " from occ.iam_identities as identity" \
    " left join occ.\"user\" as person on identity.issuer = '" BOOTSTRAP_ISSUER "' and " \
    "person.id = identity.subject"

static const struct pg_statement list_statement = {
    NULL,
    DOCUMENT " order by identity.kind, identity.issuer, identity.subject, identity.created_at, identity.id",
    0,
};
static const struct pg_statement find_statement = {NULL, DOCUMENT " where identity.id = $1::text", 1};
static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.iam_identities (id, kind, issuer, subject)"
    " values ($1::text, case when $2::text is null then 'service_principal' else 'principal' end, $2::text, "
    "$3::text)"
    " on conflict (issuer, subject) do nothing",
    3,
};
static const struct pg_statement delete_statement = {
    NULL,
    "delete from occ.iam_identities where id = $1::text and agent_id is null",
    1,
};
/* clang-format on */

bool identity_list(struct pg *connection, const void *context, const struct watch *watch, const cJSON **rows,
                   struct fault *fault)
{
    return documents_query(connection, context, &list_statement, NULL, watch, rows, fault);
}

bool identity_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                   const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &find_statement, (const char *const[]){id}, watch, found,
                         fault);
}

bool identity_insert(struct pg *connection, const char *id, const char *issuer, const char *subject,
                     const struct watch *watch, bool *inserted, struct fault *fault)
{
    const char *const parameters[] = {id, issuer, subject};

    return documents_change(connection, &insert_statement, parameters, watch, inserted, fault);
}

bool identity_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                     struct fault *fault)
{
    return documents_change(connection, &delete_statement, (const char *const[]){id}, watch, deleted, fault);
}
