/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/configuration.h"

#include "lib/base/memory.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"
#include "lib/store/row.h"

/* A digest of another generation is nobody's word about this one. */
#define DIGEST                                                                                               \
    "case when split_part(document_digest, ':', 1) = generation::text"                                       \
    " then split_part(document_digest, ':', 2) end"

#define FIND                                                                                                 \
    "select own.id, own.namespace_id, space.name, space.existing_namespace, own.kind, own.generation,"       \
    " own.secret_bindings, " DIGEST " from occ.configurations as own"                                        \
    " join occ.namespaces as space on space.id = own.namespace_id where own.id = $1::text"

static const struct pg_statement find_statements[] = {
    [CONFIGURATION_LOOK] = {NULL, FIND, 1},
    [CONFIGURATION_SHARE] = {NULL, FIND " for share of own", 1},
    [CONFIGURATION_ALONE] = {NULL, FIND " for update of own", 1},
};

bool configuration_find(struct pg *connection, const void *context, const char *id,
                        enum configuration_lock lock, const struct watch *watch,
                        struct configuration_row **found, struct fault *fault)
{
    const struct pg_result *result;
    struct configuration_row *row;

    if (!row_find(connection, context, &find_statements[lock], (const char *const[]){id}, watch, &result,
                  fault))
        return false;
    if (!result) {
        *found = NULL;
        return true;
    }
    row = mem_new(context, struct configuration_row);
    row->id = pg_text(result, 0, 0);
    row->namespace_id = pg_text(result, 0, 1);
    row->namespace_name = pg_text(result, 0, 2);
    row->existing_namespace = pg_text(result, 0, 3);
    row->kind = pg_text(result, 0, 4);
    row->generation = pg_number(result, 0, 5);
    row->secret_bindings = pg_text(result, 0, 6);
    row->digest = pg_text(result, 0, 7);
    *found = row;
    return true;
}

static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.configurations (id, namespace_id, secret_bindings, document_digest)"
    " values ($1::text, $2::text, $3::jsonb, '1:' || $4::text)",
    4,
};

bool configuration_insert(struct pg *connection, const char *id, const char *namespace_id,
                          const char *secret_bindings, const char *digest, const struct watch *watch,
                          struct fault *fault)
{
    const char *const parameters[] = {id, namespace_id, secret_bindings, digest};
    bool inserted;

    return documents_change(connection, &insert_statement, parameters, watch, &inserted, fault);
}

static const struct pg_statement change_statement = {
    NULL,
    "update occ.configurations set generation = generation + 1, secret_bindings = $2::jsonb,"
    " document_digest = (generation + 1)::text || ':' || coalesce($3::text, " DIGEST ")"
    " where id = $1::text returning generation",
    3,
};

bool configuration_change(struct pg *connection, const char *id, const char *secret_bindings,
                          const char *digest, const struct watch *watch, int64_t *generation,
                          struct fault *fault)
{
    const char *const parameters[] = {id, secret_bindings, digest};
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = pg_query(connection, scratch, &change_statement, parameters, watch, &result, fault);

    if (done)
        *generation = pg_number(result, 0, 0);
    talloc_free(scratch);
    return done;
}

static const struct pg_statement remove_statement = {
    NULL,
    "delete from occ.configurations where id = $1::text",
    1,
};

bool configuration_remove(struct pg *connection, const char *id, const struct watch *watch,
                          struct fault *fault)
{
    bool removed;

    return documents_change(connection, &remove_statement, (const char *const[]){id}, watch, &removed, fault);
}

static const struct pg_statement users_statement = {
    NULL,
    "select (select count(*) from occ.agents where configuration_id = $1::text),"
    " string_agg(format('%s (%s)', name, id), ', ' order by name)"
    " from (select name, id from occ.agents where configuration_id = $1::text order by name limit 4) as "
    "agent",
    1,
};

bool configuration_users(struct pg *connection, const void *context, const char *id,
                         const struct watch *watch, const char **names, int64_t *count, struct fault *fault)
{
    const struct pg_result *result;

    if (!pg_query(connection, context, &users_statement, (const char *const[]){id}, watch, &result, fault))
        return false;
    *count = pg_number(result, 0, 0);
    *names = pg_text(result, 0, 1);
    return true;
}

/* No foreign key keeps a Secret that is bound: whoever deletes it takes the row FOR UPDATE and looks then. */
static const struct pg_statement normalize_statement = {
    NULL,
    "select given.document || jsonb_build_object('logging',"
    " coalesce(given.document -> 'logging', '{}') || jsonb_build_object('level', $2::text)),"
    " encode(sha256(convert_to($1::text, 'UTF8')), 'hex')"
    " from (select $1::text::jsonb as document) as given",
    2,
};

bool configuration_normalize(struct pg *connection, const void *context, const char *document,
                             const char *log_level, const struct watch *watch,
                             struct configuration_text *text, struct fault *fault)
{
    const char *const parameters[] = {document, log_level};
    const struct pg_result *result;

    if (!pg_query(connection, context, &normalize_statement, parameters, watch, &result, fault)) {
        /* Class 22, data exception: what the text itself is to blame for. */
        if (strncmp(fault->origin, "22", 2) == 0)
            return fault_set(fault, FAULT_INVALID, "DOCUMENT_REFUSED",
                             "The document is refused by the database: it cannot be kept as jsonb.");
        return false;
    }
    text->normal = pg_text(result, 0, 0);
    text->digest = pg_text(result, 0, 1);
    return true;
}

#define DOCUMENT                                                                                             \
    "select json_build_object('id', own.id, 'namespaceId', own.namespace_id, 'namespaceName', space.name,"   \
    " 'kind', own.kind, 'generation', own.generation,"                                                       \
    " 'secretBindings', coalesce((select json_object_agg(binding ->> 'name', binding -> 'source' ->> 'id'"   \
    "     order by place)"                                                                                   \
    "   from jsonb_array_elements(own.secret_bindings) with ordinality as listed (binding, place)),"         \
    "   '{}'::json),"                                                                                        \
    " 'agents', (select count(*) from occ.agents where configuration_id = own.id),"                          \
    " 'createdAt', " MOMENT_SQL(                                                                             \
        "own.created_at") ","                                                                                \
                          " 'ageMs', floor(extract(epoch from statement_timestamp() - own.created_at) * "    \
                          "1000)::bigint)"                                                                   \
                          " from occ.configurations as own join occ.namespaces as space on space.id = "      \
                          "own.namespace_id"

static const struct pg_statement document_statement = {NULL, DOCUMENT " where own.id = $1::text", 1};
static const struct pg_statement documents_statement = {
    NULL,
    DOCUMENT " where $1::text is null or own.namespace_id = $1::text"
             " order by space.name, own.created_at, own.id",
    1,
};

bool configuration_document(struct pg *connection, const void *context, const char *id,
                            const struct watch *watch, const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &document_statement, (const char *const[]){id}, watch, found,
                         fault);
}

bool configuration_documents(struct pg *connection, const void *context, const char *namespace_id,
                             const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    return documents_query(connection, context, &documents_statement, (const char *const[]){namespace_id},
                           watch, rows, fault);
}
