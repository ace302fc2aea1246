/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/revision_subject.h"

#include "lib/base/memory.h"
#include "lib/store/revision_sql.h"
#include "lib/store/work_sql.h"

/* clang-format off */
static const struct pg_statement agent_statement = {
    "agent_subject",
    "select n.id, n.name, n.existing_namespace, a.id, a.name, a.service_principal_id"
    " from occ.controller_work w join occ.namespaces n on n.id = w.namespace_id"
    " join occ.agents a on a.id = w.agent_id and a.namespace_id = w.namespace_id where " WORK_GUARD,
    2,
};

/* The entries between bounds that are found once (OFFSET keeps them apart, as b), so that an index leads to
 * them. */
#define ENTRIES(bounds, from, range)                                                                         \
    "select r.id, r.revision_number, r.id = b.active_revision_id, r.admitted_spec -> 'compute' ->> 'id',"    \
    " r.admitted_spec -> 'compute' ->> 'implementation' from (select a.id as agent_id,"                      \
    " a.active_revision_id, w.created_at" bounds " from occ.controller_work w"                               \
    " join occ.agents a on a.id = w.agent_id" from " where " WORK_GUARD " offset 0) b"                       \
    " join occ.agent_revisions r on r.agent_id = b.agent_id" range " order by r.revision_number desc"

/* The newest of `earlier` revisions whose deployment this Compute ($3, $4) completed, and so retired all
 * before it: what another one completed left what is here as it was. Found by walking downwards; 1: there is
 * none. */
#define BOTTOM(earlier)                                                                                      \
    "coalesce((select e.revision_number from occ.agent_revisions e where e.agent_id = a.id and " earlier     \
    " and " REVISION_COMPLETED("e.id") " and (e.admitted_spec -> 'compute' ->> 'id',"                        \
    " e.admitted_spec -> 'compute' ->> 'implementation') = ($3::text, $4::text)"                             \
    " order by e.revision_number desc limit 1), 1)"

/* A stop notes which revisions it has stopped, and a revision that a stop captured is never deployed after it.
 * Scalar, as in revision_sql.h. */
#define STOPPED(revision)                                                                                    \
    "coalesce((select true from occ.controller_work s where s.agent_id = " revision ".agent_id"              \
    " and s.agent_target = 'stopped' and s.state = 'succeeded'"                                              \
    " and s.result_data -> 'stopped' @> to_jsonb(" revision ".id::text) limit 1),"                           \
    " (select true from occ.controller_work d where d.idempotency_key = "                                    \
    WORK_DEPLOYMENT_KEY(revision ".id") " and d.state = 'succeeded'"                                         \
    " and d.reason_code = 'REVISION_STOPPED' limit 1), false)"

/* The item's own revision comes by a LIMIT, without which it may become a hash of all revisions. */
static const struct pg_statement list_statements[] = {
    [REVISIONS_ALL] = {"revision_list_all", ENTRIES("", "", ""), 2},
    [REVISIONS_CAPTURED] = {
        "revision_list_captured",
        ENTRIES(", " BOTTOM("e.admitted_at <= w.created_at") " as bottom, (select e.revision_number"
                " from occ.agent_revisions e where e.id = a.active_revision_id) as active",
                "", " and r.revision_number >= least(b.bottom, b.active) and r.admitted_at <= b.created_at"
                " and (r.id = b.active_revision_id or (r.revision_number >= b.bottom and not " STOPPED("r") "))"),
        4},
    [REVISIONS_LIVE] = {
        "revision_list_live",
        ENTRIES(", own.revision_number as top, " BOTTOM("e.revision_number < own.revision_number") " as bottom",
                " join lateral (select o.revision_number from occ.agent_revisions o"
                " where o.id = w.revision_id and o.agent_id = a.id limit 1) own on true",
                " and r.revision_number >= b.bottom and r.revision_number < b.top"),
        4},
};

static const struct pg_statement subject_statement = {
    "revision_subject",
    "select r.id, r.revision_number, not exists (select from occ.agent_revisions e where e.agent_id = r.agent_id"
    " and e.revision_number < r.revision_number), s.spec ->> 'configuration_id',"
    " s.spec ->> 'configuration_generation', s.spec ->> 'draft_spec', s.spec -> 'compute' ->> 'id',"
    " s.spec -> 'compute' ->> 'implementation', s.spec -> 'harness' ->> 'id', s.spec -> 'harness' ->> 'version',"
    " s.spec -> 'harness' ->> 'mode', s.spec ->> 'harness_auth', s.spec -> 'harness_auth' ->> 'serviceAccountId',"
    " s.spec ->> 'secret_driver_id', s.spec ->> 'sandbox_driver_id'"
    " from occ.controller_work w join occ.agent_revisions r"
    " on r.id = coalesce($3::text, w.revision_id) and r.agent_id = w.agent_id"
    " cross join lateral (select r.admitted_spec as spec offset 0) s where " WORK_GUARD,
    3,
};

static const struct pg_statement secrets_statement = {
    "revision_secrets",
    "select u.name, u.id, s.driver_id, s.namespace_id, s.backend_namespace_name, s.backend_name, s.backend_key,"
    " s.backend_uid from occ.controller_work w join occ.agent_revisions r"
    " on r.id = coalesce($3::text, w.revision_id) and r.agent_id = w.agent_id"
    " cross join lateral (select null::text as name, 0::bigint as place, coalesce("
    "r.admitted_spec -> 'harness_auth' -> 'source' ->> 'id', (select c.credential_secret_id"
    " from occ.service_accounts c where c.id = r.admitted_spec -> 'harness_auth' ->> 'serviceAccountId'"
    " and c.namespace_id = r.namespace_id)) as id union all"
    " select b.value ->> 'name', b.place, b.value -> 'source' ->> 'id'"
    " from jsonb_array_elements(r.admitted_spec -> 'secret_bindings') with ordinality b (value, place)) u"
    " left join occ.secrets s on s.id = u.id and s.namespace_id = r.namespace_id"
    " where " WORK_GUARD " and u.id is not null order by u.place",
    3,
};
/* clang-format on */

static const char *take(const void *context, const struct pg_result *result, size_t row, size_t column)
{
    const char *text = pg_text(result, row, column);

    return text ? mem_text(context, text) : NULL;
}

size_t agent_subject_add(struct pg_batch *batch, const char *key, const char *token)
{
    return pg_batch_add(batch, &agent_statement, (const char *[]){key, token});
}

bool agent_subject_read(const struct pg_result *result, const void *context, struct agent_subject *subject)
{
    if (pg_rows(result) == 0)
        return false;
    subject->namespace_id = take(context, result, 0, 0);
    subject->namespace_name = take(context, result, 0, 1);
    subject->existing_namespace = take(context, result, 0, 2);
    subject->id = take(context, result, 0, 3);
    subject->name = take(context, result, 0, 4);
    subject->service_principal_id = take(context, result, 0, 5);
    return true;
}

size_t revision_list_add(struct pg_batch *batch, const char *key, const char *token,
                         enum revision_choice choice, const char *compute_id, const char *implementation)
{
    return pg_batch_add(batch, &list_statements[choice],
                        (const char *[]){key, token, compute_id, implementation});
}

void revision_list_read(const struct pg_result *result, const void *context, struct revision_entry **list,
                        size_t *count)
{
    size_t rows = pg_rows(result);
    struct revision_entry *made = mem_array(context, struct revision_entry, rows + 1);

    for (size_t row = 0; row < rows; row++) {
        made[row].id = take(made, result, row, 0);
        made[row].number = pg_number(result, row, 1);
        made[row].active = pg_true(result, row, 2);
        made[row].compute_id = take(made, result, row, 3);
        made[row].compute_implementation = take(made, result, row, 4);
    }
    *list = made;
    *count = rows;
}

size_t revision_subject_add(struct pg_batch *batch, const char *key, const char *token,
                            const char *revision_id)
{
    return pg_batch_add(batch, &subject_statement, (const char *[]){key, token, revision_id});
}

bool revision_subject_read(const struct pg_result *result, const void *context,
                           struct revision_subject *subject)
{
    if (pg_rows(result) == 0)
        return false;
    subject->id = take(context, result, 0, 0);
    subject->number = pg_number(result, 0, 1);
    subject->first = pg_true(result, 0, 2);
    subject->configuration_id = take(context, result, 0, 3);
    subject->configuration_generation = pg_number(result, 0, 4);
    subject->document = take(context, result, 0, 5);
    subject->compute_id = take(context, result, 0, 6);
    subject->compute_implementation = take(context, result, 0, 7);
    subject->harness_id = take(context, result, 0, 8);
    subject->harness_version = take(context, result, 0, 9);
    subject->harness_mode = take(context, result, 0, 10);
    subject->harness_auth = take(context, result, 0, 11);
    subject->harness_service_account_id = take(context, result, 0, 12);
    subject->secret_driver_id = take(context, result, 0, 13);
    subject->sandbox_driver_id = take(context, result, 0, 14);
    return true;
}

size_t revision_secrets_add(struct pg_batch *batch, const char *key, const char *token,
                            const char *revision_id)
{
    return pg_batch_add(batch, &secrets_statement, (const char *[]){key, token, revision_id});
}

void revision_secrets_read(const struct pg_result *result, const void *context, struct revision_secret **list,
                           size_t *count)
{
    size_t rows = pg_rows(result);
    struct revision_secret *made = mem_array(context, struct revision_secret, rows + 1);

    for (size_t row = 0; row < rows; row++) {
        made[row].name = take(made, result, row, 0);
        made[row].id = take(made, result, row, 1);
        made[row].driver_id = take(made, result, row, 2);
        made[row].present = made[row].driver_id != NULL;
        made[row].namespace_id = take(made, result, row, 3);
        made[row].backend_namespace_name = take(made, result, row, 4);
        made[row].backend_name = take(made, result, row, 5);
        made[row].backend_key = take(made, result, row, 6);
        made[row].backend_uid = take(made, result, row, 7);
    }
    *list = made;
    *count = rows;
}
