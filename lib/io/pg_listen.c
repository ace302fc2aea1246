/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/pg_private.h"

/* K29: a pooler takes LISTEN without a word and moves the session away; only a later transaction shows it. */
static const struct pg_statement listening_statement = {
    .name = NULL,
    .parameters = 1,
    .sql =
        "select exists (select from pg_catalog.pg_listening_channels() as channel where channel = $1::text)",
};

bool pg_listen(struct pg *connection, const char *channel, const struct watch *watch, struct fault *fault)
{
    char *identifier = PQescapeIdentifier(connection->raw, channel, strlen(channel));
    void *scratch = talloc_new(connection);
    const struct pg_result *result;
    struct pg_statement listen = {0};
    bool listening;

    if (!identifier || !scratch)
        mem_exhausted();
    listen.sql = mem_format(scratch, "listen %s", identifier);
    PQfreemem(identifier);
    if (connection->pooled) {
        talloc_free(scratch);
        return fault_set(fault, FAULT_BUG, "DATABASE_POOLED", "LISTEN on a pooled connection");
    }
    if (!pg_query(connection, scratch, &listen, NULL, watch, &result, fault) ||
        !pg_query(connection, scratch, &listening_statement, &channel, watch, &result, fault)) {
        talloc_free(scratch);
        return false;
    }
    listening = pg_true(result, 0, 0);
    talloc_free(scratch);
    if (listening)
        return true;
    connection->pooled = true;
    (void)fault_set(fault, FAULT_RETRYABLE, "DATABASE_POOLED",
                    "LISTEN did not last: a pooler stands before PostgreSQL");
    return fault_depends(fault, "postgresql", "");
}

bool pg_notifications(struct pg *connection, size_t *count, struct fault *fault)
{
    PGnotify *notification;
    size_t found = 0;
    bool ended;

    if (connection->broken)
        return pg_fault_ended(connection->state, fault);
    ended = !pg_consume(connection);
    while ((notification = PQnotifies(connection->raw))) {
        found++;
        PQfreemem(notification);
    }
    if (ended || PQstatus(connection->raw) != CONNECTION_OK) {
        pg_break(connection);
        return pg_fault_ended(connection->state, fault);
    }
    *count = found;
    return true;
}
