/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/migrate.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define MIGRATOR "occ_migrator"

static const struct pg_statement look_at_roles = {
    NULL,
    "select current_user::text,"
    "       (select rolsuper from pg_catalog.pg_roles where rolname = current_user),"
    "       (select string_agg('\"' || wanted || '\"', ', ' order by wanted)"
    "          from unnest(array['occ_app', 'occ_metrics', 'occ_migrator']) as wanted"
    "         where not exists (select from pg_catalog.pg_roles where rolname = wanted)),"
    "       (select pg_catalog.pg_has_role(oid, 'MEMBER') from pg_catalog.pg_roles where rolname = '" MIGRATOR
    "')",
    0,
};

static const struct pg_statement become_migrator = {NULL, "set role " MIGRATOR, 0};

bool migrate_verify(struct pg *connection, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = false;

    if (!scratch)
        mem_exhausted();
    if (pg_is_pooled(connection)) {
        talloc_free(scratch);
        return fault_set(fault, FAULT_CONFIGURATION, "DATABASE_CONNECTION_POOLED",
                         "The connection goes through a pooler. Migrations need a direct connection to "
                         "PostgreSQL.");
    }
    if (!pg_query(connection, scratch, &look_at_roles, NULL, NULL, &result, fault)) {
        talloc_free(scratch);
        return false;
    }
    const char *role = pg_text(result, 0, 0);
    const char *missing = pg_text(result, 0, 2);
    if (missing)
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_ROLE_MISSING",
                        "The database role %s is missing. Run contrib/postgresql/roles.sql once as an "
                        "administrator.",
                        missing);
    else if (pg_true(result, 0, 1))
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_ROLE_REFUSED",
                        "The role \"%s\" is a superuser. Migrations run as " MIGRATOR ".", role);
    else if (!pg_true(result, 0, 3))
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_ROLE_REFUSED",
                        "The role \"%s\" may not migrate. Migrations run as " MIGRATOR ".", role);
    else
        /* What is made must belong to the migrator, whoever signed in. */
        done = text_equal(role, MIGRATOR) ||
               pg_query(connection, scratch, &become_migrator, NULL, NULL, &result, fault);
    talloc_free(scratch);
    return done;
}

/* "occ" and "migrate" in ASCII; one-argument advisory locks are a space of their own. */
static const struct pg_statement take_lock = {
    NULL,
    "select pg_catalog.pg_advisory_lock(31371187951)",
    0,
};

static bool lock(struct pg *connection, const void *context, struct fault *fault)
{
    const struct pg_result *result;

    if (pg_query(connection, context, &take_lock, NULL, NULL, &result, fault))
        return true;
    /* lock_timeout and statement_timeout: the server's answer, on a connection that is well. */
    if (text_equal(fault->origin, "55P03") || text_equal(fault->origin, "57014"))
        return fault_set(fault, FAULT_UNAVAILABLE, "MIGRATION_LOCK_HELD",
                         "Another occ-migrate works on this database and did not end in time.");
    return false;
}

static bool apply_one(struct pg *connection, const void *context, const struct migration *migration,
                      struct fault *fault)
{
    char hash[MIGRATION_HASH_SIZE];
    struct fault cause;
    char *script;

    migration_hash(migration, hash);
    /* Sent as one text, this is one transaction. Name and hash are our own and hold nothing to quote. */
    script = mem_format(
        context, "%s\ninsert into occ.schema_migrations (number, name, hash) values (%u, '%s', '%s');\n",
        migration->sql, migration->number, migration->name, hash);
    if (pg_script(connection, script, &cause))
        return true;
    if (cause.class == FAULT_UNAVAILABLE)
        (void)fault_set(fault, FAULT_UNAVAILABLE, cause.code,
                        "Migration %s: %s. Run occ-migrate --check to see whether it was applied.",
                        migration->name, cause.message);
    else if (cause.class == FAULT_CONFIGURATION)
        (void)fault_set(fault, FAULT_CONFIGURATION, cause.code, "Migration %s was not applied: %s",
                        migration->name, cause.message);
    else
        (void)fault_set(fault, FAULT_PERMANENT, "MIGRATION_FAILED",
                        "Migration %s failed, and nothing of it was kept: %s", migration->name,
                        cause.message);
    text_copy(fault->origin, sizeof fault->origin, cause.origin);
    return fault_depends(fault, cause.dependency, cause.cause);
}

bool migrate_apply(struct pg *connection, const void *context, struct migration_status *before,
                   struct fault *fault)
{
    struct migration_status found;

    if (!lock(connection, context, fault) || !migration_check(connection, context, NULL, &found, fault))
        return false;
    if (found.state == MIGRATION_UNSUPPORTED)
        return fault_set(fault, FAULT_CONFLICT, "SCHEMA_UNSUPPORTED",
                         "The database's schema is not of this program, and was left alone. %s",
                         found.finding);
    for (size_t i = found.applied; i < migration_list_length; i++)
        if (!apply_one(connection, context, &migration_list[i], fault))
            return false;
    *before = found;
    return true;
}
