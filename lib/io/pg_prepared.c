/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/pg_private.h"

struct pg_prepared *pg_prepared_find(struct pg *connection, const struct pg_statement *statement)
{
    for (size_t i = 0; i < connection->prepared_count; i++) {
        const struct pg_statement *known = connection->prepared[i].statement;

        if (known == statement || strcmp(known->name, statement->name) == 0)
            return &connection->prepared[i];
    }
    return NULL;
}

void pg_prepared_add(struct pg *connection, const struct pg_statement *statement)
{
    size_t count = connection->prepared_count++;

    if (count % 16 == 0)
        connection->prepared = mem_grow(connection, connection->prepared, struct pg_prepared, count + 16);
    connection->prepared[count] = (struct pg_prepared){.statement = statement};
}

void pg_prepared_settle(struct pg *connection)
{
    size_t kept = 0;

    for (size_t i = 0; i < connection->prepared_count; i++) {
        if (connection->prepared[i].sure)
            connection->prepared[kept++] = connection->prepared[i];
    }
    connection->prepared_count = kept;
    if (kept == 0) {
        talloc_free(connection->prepared);
        connection->prepared = NULL;
    } else {
        connection->prepared =
            mem_grow(connection, connection->prepared, struct pg_prepared, (kept + 15) / 16 * 16);
    }
}

void pg_prepared_confirm(struct pg *connection, const struct pg_statement *statement)
{
    struct pg_prepared *prepared = pg_prepared_find(connection, statement);

    if (prepared)
        prepared->sure = true;
}
