/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/namespace_admission.h"

#include "lib/base/identifier.h"
#include "lib/base/memory.h"
#include "lib/store/documents.h"
#include "lib/store/moment.h"
#include "lib/store/row.h"

#define COLUMNS                                                                                              \
    "select id, name, status, existing_namespace, " MOMENT_SQL("created_at") ", " MOMENT_SQL(                \
        "deleted_at") " from occ.namespaces"

static const struct pg_statement by_id[] = {
    [NAMESPACE_LOOK] = {NULL, COLUMNS " where id = $1::text", 1},
    [NAMESPACE_SHARE] = {NULL, COLUMNS " where id = $1::text for share", 1},
    [NAMESPACE_ALONE] = {NULL, COLUMNS " where id = $1::text for update", 1},
};
static const struct pg_statement by_name[] = {
    [NAMESPACE_LOOK] = {NULL, COLUMNS " where name = $1::text", 1},
    [NAMESPACE_SHARE] = {NULL, COLUMNS " where name = $1::text for share", 1},
    [NAMESPACE_ALONE] = {NULL, COLUMNS " where name = $1::text for update", 1},
};
static const struct pg_statement by_existing = {
    NULL,
    COLUMNS " where existing_namespace = $1::text and deleted_at is null",
    1,
};

static bool find(struct pg *connection, const void *context, const struct pg_statement *statement,
                 const char *text, const struct watch *watch, struct namespace_row **found,
                 struct fault *fault)
{
    const struct pg_result *result;
    struct namespace_row *row;

    if (!row_find(connection, context, statement, (const char *const[]){text}, watch, &result, fault))
        return false;
    if (!result) {
        *found = NULL;
        return true;
    }
    row = mem_new(context, struct namespace_row);
    row->id = pg_text(result, 0, 0);
    row->name = pg_text(result, 0, 1);
    row->status = pg_text(result, 0, 2);
    row->existing_namespace = pg_text(result, 0, 3);
    row->created_at = pg_text(result, 0, 4);
    row->deleted_at = pg_text(result, 0, 5);
    *found = row;
    return true;
}

bool namespace_find(struct pg *connection, const void *context, const char *text, enum namespace_lock lock,
                    const struct watch *watch, struct namespace_row **found, struct fault *fault)
{
    struct namespace_row *row = NULL;

    if (identifier_is(text, "ns_") && !find(connection, context, &by_id[lock], text, watch, &row, fault))
        return false;
    if (!row && !find(connection, context, &by_name[lock], text, watch, &row, fault))
        return false;
    *found = row;
    return true;
}

bool namespace_find_name(struct pg *connection, const void *context, const char *name,
                         const struct watch *watch, struct namespace_row **found, struct fault *fault)
{
    return find(connection, context, &by_name[NAMESPACE_LOOK], name, watch, found, fault);
}

bool namespace_find_existing(struct pg *connection, const void *context, const char *existing_namespace,
                             const struct watch *watch, struct namespace_row **found, struct fault *fault)
{
    return find(connection, context, &by_existing, existing_namespace, watch, found, fault);
}

static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.namespaces (id, name, existing_namespace) values ($1::text, $2::text, $3::text)"
    " on conflict do nothing",
    3,
};

/* The key's own check compares actor, owner and target where the key is there already. */
static const struct pg_statement work_statement = {
    NULL,
    "insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target)"
    " select 'namespace:' || $1::text || ':reconcile:' || $3::text, $1::text, $2::text, $3::text"
    "  where exists (select from occ.namespaces where id = $1::text)"
    " on conflict do nothing",
    3,
};

bool namespace_insert(struct pg *connection, const char *id, const char *name, const char *existing_namespace,
                      const char *actor_id, const struct watch *watch, bool *inserted, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    size_t row = pg_batch_add(batch, &insert_statement, (const char *const[]){id, name, existing_namespace});
    bool done;

    pg_batch_add(batch, &work_statement, (const char *const[]){id, actor_id, "ready"});
    done = pg_run(connection, batch, watch, fault);
    if (done)
        *inserted = pg_affected(pg_batch_result(batch, row)) == 1;
    talloc_free(batch);
    return done;
}

static const struct pg_statement remains_statement = {
    NULL,
    "select string_agg(format('%s %s', part.number, case part.number when 1 then part.one else part.many "
    "end), ', '"
    "                  order by part.many)"
    "  from (select count(*) as number, 'Agent' as one, 'Agents' as many from occ.agents where namespace_id "
    "= $1::text"
    "        union all select count(*), 'Configuration', 'Configurations'"
    "                    from occ.configurations where namespace_id = $1::text"
    "        union all select count(*), 'Secret', 'Secrets' from occ.secrets where namespace_id = $1::text"
    "        union all select count(*), 'service account', 'service accounts'"
    "                    from occ.service_accounts where namespace_id = $1::text) as part"
    " where part.number > 0",
    1,
};

bool namespace_remains(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                       const char **remains, struct fault *fault)
{
    const struct pg_result *result;

    if (!row_find(connection, context, &remains_statement, (const char *const[]){id}, watch, &result, fault))
        return false;
    *remains = pg_text(result, 0, 0);
    return true;
}

static const struct pg_statement deleting_statement = {
    NULL,
    "update occ.namespaces set status = 'deleting' where id = $1::text and status <> 'deleting'",
    1,
};

bool namespace_begin_delete(struct pg *connection, const char *id, const char *actor_id,
                            const struct watch *watch, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    bool done;

    pg_batch_add(batch, &deleting_statement, (const char *const[]){id});
    pg_batch_add(batch, &work_statement, (const char *const[]){id, actor_id, "deleted"});
    done = pg_run(connection, batch, watch, fault);
    talloc_free(batch);
    return done;
}

const char *namespace_work_key(const void *context, const char *id, const char *target)
{
    return mem_format(context, "namespace:%s:reconcile:%s", id, target);
}

static const struct pg_statement ids_statement = {
    NULL,
    "select id from occ.namespaces where $1::boolean or deleted_at is null order by name",
    1,
};

bool namespace_ids(struct pg *connection, const void *context, bool deleted_too, const struct watch *watch,
                   const char ***ids, size_t *count, struct fault *fault)
{
    const char *const parameters[] = {deleted_too ? "true" : "false"};
    const struct pg_result *result;
    const char **list;
    size_t row, rows;

    if (!pg_query(connection, context, &ids_statement, parameters, watch, &result, fault))
        return false;
    rows = pg_rows(result);
    list = mem_array(context, const char *, rows + 1);
    for (row = 0; row < rows; row++)
        list[row] = pg_text(result, row, 0);
    *ids = list;
    *count = rows;
    return true;
}

/* The latest work of each and, while that is not terminal, the code of its latest evidence. */
static const struct pg_statement documents_statement = {
    NULL,
    "select json_build_object("
    "  'id', space.id, 'name', space.name,"
    "  'status', case when space.deleted_at is not null then 'deleted' else space.status end,"
    "  'existingNamespace', space.existing_namespace,"
    "  'createdAt', " MOMENT_SQL("space.created_at") ", 'deletedAt', " MOMENT_SQL(
        "space.deleted_at") ","
                            "  'ageMs', floor(extract(epoch from statement_timestamp() - space.created_at) * "
                            "1000)::bigint,"
                            "  'work', case when work.idempotency_key is not null then json_build_object("
                            "     'id', work.idempotency_key, 'state', work.state, 'attempt', "
                            "work.attempt_count,"
                            "     'code', coalesce(work.reason_code, evidence.code)) end)"
                            "  from unnest($1::text[]) with ordinality as wanted (id, place)"
                            "  join occ.namespaces as space on space.id = wanted.id"
                            "  left join lateral (select item.* from occ.controller_work as item"
                            "                      where item.idempotency_key in ('namespace:' || space.id "
                            "|| ':reconcile:deleted',"
                            "                                                     'namespace:' || space.id "
                            "|| ':reconcile:ready')"
                            "                      order by item.namespace_target limit 1) as work on true"
                            "  left join lateral (select event.details ->> 'reasonCode' as code from "
                            "occ.audit_events as event"
                            "                      where event.details ->> 'workId' = work.idempotency_key "
                            "and event.action = 'reconcile'"
                            "                      order by event.occurred_at desc, event.id desc limit 1) "
                            "as evidence on true"
                            " order by wanted.place",
    1,
};

bool namespace_documents(struct pg *connection, const void *context, const char *const *ids, size_t count,
                         const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    const char *const parameters[] = {documents_array(context, ids, count)};

    return documents_query(connection, context, &documents_statement, parameters, watch, rows, fault);
}
