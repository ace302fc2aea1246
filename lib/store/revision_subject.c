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

/* A stop notes which revisions it has stopped, and a revision that a stop captured is never deployed after it. */
#define STOPPED(revision)                                                                                    \
    "exists (select from occ.controller_work s where s.agent_id = " revision ".agent_id"                     \
    " and s.state = 'succeeded' and ((s.agent_target = 'stopped'"                                            \
    " and s.result_data -> 'stopped' @> to_jsonb(" revision ".id::text))"                                    \
    " or (s.idempotency_key = 'agent_revision:' || " revision ".id || ':reconcile'"                          \
    " and s.reason_code = 'REVISION_STOPPED')))"

/* The bound below is found by walking the Agent's revisions downwards until one is completed. The item's own
 * revision comes by a LIMIT, without which it may become a hash of all revisions. */
static const struct pg_statement list_statement = {
    "revision_list",
    "select r.id, r.revision_number, r.id = a.active_revision_id, r.admitted_spec -> 'compute' ->> 'id',"
    " r.admitted_spec -> 'compute' ->> 'implementation'"
    " from occ.controller_work w join occ.agents a on a.id = w.agent_id"
    " left join lateral (select o.revision_number from occ.agent_revisions o where o.id = w.revision_id"
    " and o.agent_id = a.id limit 1) own on true"
    " join occ.agent_revisions r on r.agent_id = a.id"
    " where " WORK_GUARD " and case $3::text when 'captured' then r.admitted_at <= w.created_at"
    " and (r.id = a.active_revision_id or (r.revision_number >= coalesce("
    "(select e.revision_number from occ.agent_revisions e where e.agent_id = a.id"
    " and e.admitted_at <= w.created_at and " REVISION_COMPLETED("e.id")
    " order by e.revision_number desc limit 1), 1) and not " STOPPED("r") "))"
    " when 'live' then r.revision_number < own.revision_number and r.revision_number >= coalesce("
    "(select e.revision_number from occ.agent_revisions e where e.agent_id = a.id"
    " and e.revision_number < own.revision_number and " REVISION_COMPLETED("e.id")
    " order by e.revision_number desc limit 1), 1)"
    " else true end order by r.revision_number desc",
    3,
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
                         enum revision_choice choice)
{
    static const char *const names[] = {
        [REVISIONS_ALL] = "all", [REVISIONS_CAPTURED] = "captured", [REVISIONS_LIVE] = "live"};

    return pg_batch_add(batch, &list_statement, (const char *[]){key, token, names[choice]});
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
