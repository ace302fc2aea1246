/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/bootstrap.h"

#include "lib/base/memory.h"
#include "lib/store/moment.h"

#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

/* The second number is this lock's; the first is the platform's, as in the schema. */
static const struct pg_statement lock_statement = {
    NULL,
    "select pg_catalog.pg_advisory_xact_lock(1329808215, 1)",
    0,
};

bool bootstrap_lock(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = pg_query(connection, scratch, &lock_statement, NULL, watch, &result, fault);

    talloc_free(scratch);
    return done;
}

/* clang-format off */
static const struct pg_statement inspect_statement = {
    NULL,
    "select (select id from occ.installation), (select name from occ.installation),"
    " (select string_agg(format('%s %s', part.number, case part.number when 1 then part.one else part.many end), ', '"
    "                    order by part.many) from ("
    "   select count(*) as number, 'Namespace' as one, 'Namespaces' as many from occ.namespaces"
    "   union all select count(*), 'identity', 'identities' from occ.iam_identities"
    "   union all select count(*), 'group', 'groups' from occ.iam_groups"
    "   union all select count(*), 'role', 'roles' from occ.iam_roles"
    "   union all select count(*), 'binding', 'bindings' from occ.iam_access_bindings"
    "   union all select count(*), 'restriction', 'restrictions' from occ.iam_restrictions"
    "   union all select count(*), 'user', 'users' from occ.\"user\""
    "   union all select count(*), 'service key', 'service keys' from occ.apikey"
    "   union all select count(*), 'bootstrap event', 'bootstrap events' from occ.audit_events"
    "              where kind = 'bootstrap'"
    "  ) as part where part.number > 0),"
    " exists (select from occ.\"user\" where lower(email) = lower($1::text)),"
    " exists (select from occ.\"user\" as person join occ.account on account.user_id = person.id"
    "          where lower(person.email) = lower($1::text) and account.provider = 'credential'),"
    " exists (select from occ.\"user\" as person"
    "          join occ.iam_identities as identity on identity.subject = person.id"
    "           and identity.issuer = '" BOOTSTRAP_ISSUER "' and identity.kind = 'principal'"
    "         where lower(person.email) = lower($1::text)),"
    " exists (select from occ.apikey join occ.iam_identities as identity"
    "           on identity.id = apikey.service_principal_id"
    "         where identity.kind = 'service_principal' and identity.agent_id is null),"
    " exists (select from occ.namespaces where name = '" BOOTSTRAP_NAMESPACE "'),"
    " exists (select from occ.audit_events where kind = 'bootstrap'),"
    " exists (select from occ.apikey where key_hash = $2::text)",
    2,
};
/* clang-format on */

bool bootstrap_inspect(struct pg *connection, const void *context, const char *email, const char *key_hash,
                       const struct watch *watch, struct bootstrap_state *state, struct fault *fault)
{
    const char *const parameters[] = {email, key_hash};
    const struct pg_result *result;

    if (!pg_query(connection, context, &inspect_statement, parameters, watch, &result, fault))
        return false;
    *state = (struct bootstrap_state){
        .installation_id = pg_text(result, 0, 0),
        .installation_name = pg_text(result, 0, 1),
        .remains = pg_text(result, 0, 2),
        .has_user = pg_true(result, 0, 3),
        .has_password = pg_true(result, 0, 4),
        .has_identity = pg_true(result, 0, 5),
        .has_service_key = pg_true(result, 0, 6),
        .has_namespace = pg_true(result, 0, 7),
        .has_audit = pg_true(result, 0, 8),
        .key_known = pg_true(result, 0, 9),
    };
    return true;
}

static const struct pg_statement installation_statement = {
    NULL,
    "insert into occ.installation (id, name) values ($1::text, $2::text)",
    2,
};

static const struct pg_statement user_statement = {
    NULL,
    "with person as (insert into occ.\"user\" (id, email, name) values ($1::text, $2::text, 'Administrator'))"
    " insert into occ.account (id, user_id, provider, password_hash)"
    " values ($3::text, $1::text, 'credential', $4::text)",
    4,
};

static const struct pg_statement identities_statement = {
    NULL,
    "insert into occ.iam_identities (id, kind, issuer, subject)"
    " values ($1::text, 'principal', '" BOOTSTRAP_ISSUER "', $2::text),"
    "        ($3::text, 'service_principal', null, null)",
    3,
};

static const struct pg_statement key_statement = {
    NULL,
    "insert into occ.apikey (id, name, key_hash, service_principal_id, expires_at)"
    " values ($1::text, $2::text, $3::text, $4::text, now() + interval '" TEXT_OF(
        SERVICE_KEY_DAYS) " days')"
                          " returning " MOMENT_SQL("expires_at"),
    4,
};

/* Every permission that the schema knows. */
static const struct pg_statement role_statement = {
    NULL,
    "insert into occ.iam_roles (id, name, permissions)"
    " select $1::text, '" BOOTSTRAP_ROLE "',"
    "        jsonb_agg(jsonb_build_object('action', action, 'resourceKind', resource_kind)"
    "                  order by resource_kind, action)"
    "   from occ.permissions()",
    1,
};

static const struct pg_statement bindings_statement = {
    NULL,
    "insert into occ.iam_access_bindings (id, identity_subject_id, role_id)"
    " values (gen_random_uuid()::text, $1::text, $3::text), (gen_random_uuid()::text, $2::text, $3::text)",
    3,
};

static const struct pg_statement namespace_statement = {
    NULL,
    "with space as (insert into occ.namespaces (id, name) values ($1::text, '" BOOTSTRAP_NAMESPACE "'))"
    " insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target)"
    " values ('namespace:' || $1::text || ':reconcile:ready', $1::text, $2::text, 'ready')",
    2,
};

static const struct pg_statement audit_statement = {
    NULL,
    "insert into occ.audit_events (kind, actor_id, action, namespace_id, resource_kind, resource_id, "
    "outcome, details)"
    " values ('bootstrap', $1::text, 'openclaw.installation.bootstrap', null, 'installation', $2::text, "
    "'success',"
    "         jsonb_build_object('installationName', $3::text, 'userId', $4::text, 'administratorId', "
    "$5::text,"
    "                            'servicePrincipalId', $1::text, 'serviceKeyId', $6::text, 'roleId', "
    "$7::text)),"
    "        ('mutation', $1::text, 'openclaw.namespaces.create', $8::text, 'namespace', $8::text, 'success',"
    "         jsonb_build_object('name', '" BOOTSTRAP_NAMESPACE "',"
    "                            'workId', 'namespace:' || $8::text || ':reconcile:ready'))",
    8,
};

#define ADD(batch, statement, ...) pg_batch_add((batch), &(statement), (const char *const[]){__VA_ARGS__})

bool bootstrap_write(struct pg *connection, const void *context, const struct bootstrap_plan *plan,
                     const struct watch *watch, const char **key_expires_at, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    size_t key;
    bool done;

    ADD(batch, installation_statement, plan->installation_id, plan->installation_name);
    ADD(batch, user_statement, plan->user_id, plan->email, plan->account_id, plan->password_hash);
    ADD(batch, identities_statement, plan->administrator_id, plan->user_id, plan->service_principal_id);
    key = ADD(batch, key_statement, plan->key_id, plan->key_name, plan->key_hash, plan->service_principal_id);
    ADD(batch, role_statement, plan->role_id);
    ADD(batch, bindings_statement, plan->administrator_id, plan->service_principal_id, plan->role_id);
    ADD(batch, namespace_statement, plan->namespace_id, plan->service_principal_id);
    ADD(batch, audit_statement, plan->service_principal_id, plan->installation_id, plan->installation_name,
        plan->user_id, plan->administrator_id, plan->key_id, plan->role_id, plan->namespace_id);
    done = pg_run(connection, batch, watch, fault);
    if (done)
        *key_expires_at = mem_text(context, pg_text(pg_batch_result(batch, key), 0, 0));
    talloc_free(batch);
    return done;
}
