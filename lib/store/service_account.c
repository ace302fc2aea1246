/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/service_account.h"

#include "lib/base/memory.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"
#include "lib/store/row.h"

#define COLUMNS                                                                                              \
    "select id, namespace_id, name, credential_secret_id from occ.service_accounts"                          \
    " where ($1::text is null and id = $2::text)"                                                            \
    "    or (namespace_id = $1::text and (id = $2::text or name = $2::text))"                                \
    " order by (id = $2::text) desc limit 1"

bool service_account_find(struct pg *connection, const void *context, const char *namespace_id,
                          const char *text, bool lock, const struct watch *watch,
                          struct service_account_row **found, struct fault *fault)
{
    static const struct pg_statement look = {NULL, COLUMNS, 2}, hold = {NULL, COLUMNS " for update", 2};
    const struct pg_result *result;
    struct service_account_row *row;

    if (!row_find(connection, context, lock ? &hold : &look, (const char *const[]){namespace_id, text}, watch,
                  &result, fault))
        return false;
    *found = NULL;
    if (!result)
        return true;
    row = mem_new(context, struct service_account_row);
    row->id = pg_text(result, 0, 0);
    row->namespace_id = pg_text(result, 0, 1);
    row->name = pg_text(result, 0, 2);
    row->secret_id = pg_text(result, 0, 3);
    *found = row;
    return true;
}

#define CREDENTIAL "jsonb_build_object('kind', 'secret', 'namespaceId', $2::text, 'id', $4::text)"

static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.service_accounts (id, namespace_id, name, credential)"
    " values ($1::text, $2::text, $3::text, " CREDENTIAL ") on conflict do nothing",
    4,
};

/* The name's own index refuses what slips in between. */
static const struct pg_statement change_statement = {
    NULL,
    "update occ.service_accounts set name = $3::text, credential = " CREDENTIAL " where id = $1::text"
    " and not exists (select from occ.service_accounts as other where other.namespace_id = $2::text"
    "                    and other.name = $3::text and other.id <> $1::text)",
    4,
};

static bool write_row(struct pg *connection, const struct pg_statement *statement,
                      const struct service_account_row *row, const struct watch *watch, bool *done,
                      struct fault *fault)
{
    const char *const parameters[] = {row->id, row->namespace_id, row->name, row->secret_id};

    return documents_change(connection, statement, parameters, watch, done, fault);
}

bool service_account_insert(struct pg *connection, const struct service_account_row *row,
                            const struct watch *watch, bool *done, struct fault *fault)
{
    return write_row(connection, &insert_statement, row, watch, done, fault);
}

bool service_account_change(struct pg *connection, const struct service_account_row *row,
                            const struct watch *watch, bool *done, struct fault *fault)
{
    return write_row(connection, &change_statement, row, watch, done, fault);
}

static const struct pg_statement remove_statement = {
    NULL, "delete from occ.service_accounts where id = $1::text", 1};

bool service_account_remove(struct pg *connection, const char *id, const struct watch *watch,
                            struct fault *fault)
{
    bool changed;

    return documents_change(connection, &remove_statement, (const char *const[]){id}, watch, &changed, fault);
}

static const struct pg_statement uses_statement = {
    NULL,
    "with numbered as (select '\"' || name || '\" (' || id || ')' as what,"
    "                         row_number() over (order by id) as place, count(*) over () as total"
    "                    from occ.agents where harness_auth_service_account_id = $1::text)"
    " select string_agg(what, ', ' order by place)"
    "        || case when max(total) > 3 then ' and ' || max(total) - 3 || ' more' else '' end"
    "   from numbered where place <= 3",
    1,
};

bool service_account_uses(struct pg *connection, const void *context, const char *id,
                          const struct watch *watch, const char **uses, struct fault *fault)
{
    const struct pg_result *result;

    if (!row_find(connection, context, &uses_statement, (const char *const[]){id}, watch, &result, fault))
        return false;
    *uses = result ? pg_text(result, 0, 0) : NULL;
    return true;
}

#define DOCUMENT                                                                                             \
    "select json_build_object('id', account.id, 'name', account.name, 'namespaceId', account.namespace_id,"  \
    " 'credential', account.credential, 'secretName', kept.name,"                                            \
    " 'createdAt', " MOMENT_SQL(                                                                             \
        "account.created_at") ", 'ageMs',"                                                                   \
                              " floor(extract(epoch from statement_timestamp() - account.created_at) * "     \
                              "1000)::bigint)"                                                               \
                              " from occ.service_accounts as account join occ.secrets as kept on kept.id = " \
                              "account.credential_secret_id"

bool service_account_list(struct pg *connection, const void *context, const char *namespace_id,
                          const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    static const struct pg_statement statement = {
        NULL,
        DOCUMENT " where $1::text is null or account.namespace_id = $1::text"
                 " order by account.namespace_id, account.name",
        1,
    };

    return documents_query(connection, context, &statement, (const char *const[]){namespace_id}, watch, rows,
                           fault);
}

bool service_account_document(struct pg *connection, const void *context, const char *id,
                              const struct watch *watch, const cJSON **found, struct fault *fault)
{
    static const struct pg_statement statement = {NULL, DOCUMENT " where account.id = $1::text", 1};

    return documents_one(connection, context, &statement, (const char *const[]){id}, watch, found, fault);
}
