/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/store/migration.h"

static struct migration_status unsupported(const char *finding)
{
    return (struct migration_status){.state = MIGRATION_UNSUPPORTED, .finding = finding};
}

/* Catalogues only, so that a role which may not look into the schema, or a database without one, gets an
 * answer instead of an error. */
static const struct pg_statement look_for_history = {
    .sql = "SELECT count(*) > 0,"
           "       count(*) FILTER (WHERE c.relname = 'schema_migrations' AND c.relkind = 'r') > 0,"
           "       coalesce(bool_or(c.relname = 'schema_migrations' AND c.relkind = 'r'"
           "                        AND has_schema_privilege(n.oid, 'USAGE')"
           "                        AND has_table_privilege(c.oid, 'SELECT')), false)"
           "  FROM pg_catalog.pg_namespace AS n"
           "  JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid"
           " WHERE n.nspname = 'occ'",
};

static const struct pg_statement read_history = {
    .sql = "SELECT number, name, hash FROM occ.schema_migrations ORDER BY number",
};

bool migration_check(struct pg *connection, const void *context, const struct watch *watch,
                     struct migration_status *status, struct fault *fault)
{
    const struct pg_result *result;

    if (!pg_query(connection, context, &look_for_history, NULL, watch, &result, fault))
        return false;
    if (!pg_true(result, 0, 0)) {
        *status = (struct migration_status){.state = MIGRATION_EMPTY};
        return true;
    }
    if (!pg_true(result, 0, 1)) {
        *status = unsupported("The schema occ has objects, but no history of migrations.");
        return true;
    }
    if (!pg_true(result, 0, 2)) {
        *status = unsupported("The role may not read the history of migrations.");
        return true;
    }

    if (!pg_query(connection, context, &read_history, NULL, watch, &result, fault))
        return false;
    size_t length = pg_rows(result);
    if (length == 0) {
        *status = unsupported("The history of migrations has no rows, although its table is there.");
        return true;
    }
    struct migration_record *history = mem_array(context, struct migration_record, length);
    for (size_t i = 0; i < length; i++)
        history[i] = (struct migration_record){
            .number = (unsigned)pg_number(result, i, 0),
            .name = pg_text(result, i, 1),
            .hash = pg_text(result, i, 2),
        };
    *status = migration_compare(context, history, length);
    return true;
}

bool migration_require_current(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    void *context = talloc_new(NULL);
    struct migration_status status;
    bool done = false;

    if (context == NULL)
        mem_exhausted();
    if (!migration_check(connection, context, watch, &status, fault))
        goto out;
    switch (status.state) {
    case MIGRATION_CURRENT:
        done = true;
        break;
    case MIGRATION_EMPTY:
        fault_set(fault, FAULT_CONFIGURATION, "SCHEMA_EMPTY",
                  "The database has no schema yet. Run occ-migrate.");
        break;
    case MIGRATION_BEHIND:
        fault_set(fault, FAULT_CONFIGURATION, "SCHEMA_BEHIND",
                  "The database's schema is behind: %zu of %zu migrations were applied. Run occ-migrate.",
                  status.applied, migration_list_length);
        break;
    case MIGRATION_UNSUPPORTED:
        fault_set(fault, FAULT_CONFIGURATION, "SCHEMA_UNSUPPORTED",
                  "The database's schema is not of this program. %s", status.finding);
        break;
    }
out:
    talloc_free(context);
    return done;
}
