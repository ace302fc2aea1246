/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/io/pg_private.h"

/* ---- The batch */

void pg_batch_clear(struct pg_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        PQclear(batch->entries[i].result.raw);
        batch->entries[i].result.raw = NULL;
    }
    PQclear(batch->failed);
    batch->failed = NULL;
    batch->failed_name = "";
    batch->step = 0;
    batch->step_count = 0;
}

static int pg_batch_free(struct pg_batch *batch)
{
    /* Whoever drops a batch that is under way drops the connection's place in the protocol. */
    if (batch->connection) {
        batch->connection->active = NULL;
        batch->connection->outcome_unknown = batch->connection->flushed;
        pg_break(batch->connection);
    }
    pg_batch_clear(batch);
    return 0;
}

struct pg_batch *pg_batch_new(const void *context)
{
    struct pg_batch *batch = mem_new(context, struct pg_batch);

    batch->failed_name = "";
    talloc_set_destructor(batch, pg_batch_free);
    return batch;
}

size_t pg_batch_add(struct pg_batch *batch, const struct pg_statement *statement,
                    const char *const *parameters)
{
    size_t index = batch->count++;
    struct pg_batch_entry *entry;
    size_t count = (size_t)statement->parameters;

    if (statement->parameters < 0 || count > PG_PARAMETERS)
        abort(); /* fixed by the statement's text */
    batch->entries = mem_grow(batch, batch->entries, struct pg_batch_entry, batch->count);
    entry = &batch->entries[index];
    *entry = (struct pg_batch_entry){.statement = statement};
    if (count > 0)
        entry->values = mem_array(batch, const char *, count);
    for (size_t i = 0; i < count; i++)
        entry->values[i] = parameters[i] ? mem_text(entry->values, parameters[i]) : NULL;
    return index;
}

const struct pg_result *pg_batch_result(const struct pg_batch *batch, size_t index)
{
    if (index >= batch->count || !batch->entries[index].result.raw)
        abort(); /* asked before success, or beyond the end */
    return &batch->entries[index].result;
}

/* ---- Sending */

static void add_step(struct pg_batch *batch, enum pg_step_kind kind, size_t index)
{
    batch->steps[batch->step_count++] = (struct pg_step){.kind = kind, .index = index};
}

static bool send_statement(struct pg *connection, struct pg_batch *batch, size_t index)
{
    const struct pg_batch_entry *entry = &batch->entries[index];
    const struct pg_statement *statement = entry->statement;
    const struct pg_prepared *prepared;
    bool named = statement->name && !connection->pooled;

    if (named) {
        prepared = pg_prepared_find(connection, statement);
        if (!prepared) {
            add_step(batch, PG_STEP_PREPARE, index);
            if (!PQsendPrepare(connection->raw, statement->name, statement->sql, 0, NULL))
                return false;
            pg_prepared_add(connection, statement);
        } else if (prepared->statement != statement &&
                   strcmp(prepared->statement->sql, statement->sql) != 0) {
            named = false; /* two texts under one name: the first keeps it */
        }
    }
    add_step(batch, PG_STEP_EXECUTE, index);
    if (named)
        return PQsendQueryPrepared(connection->raw, statement->name, statement->parameters, entry->values,
                                   NULL, NULL, 0) == 1;
    return PQsendQueryParams(connection->raw, statement->sql, statement->parameters, NULL, entry->values,
                             NULL, NULL, 0) == 1;
}

static bool send_all(struct pg *connection, struct pg_batch *batch)
{
    if (connection->pooled) {
        add_step(batch, PG_STEP_SESSION, 0);
        if (!pg_session_send_local(connection))
            return false;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (!send_statement(connection, batch, i))
            return false;
    }
    return PQpipelineSync(connection->raw) == 1;
}

void pg_flush(struct pg *connection)
{
    if (!connection->flushed && PQflush(connection->raw) <= 0)
        connection->flushed = true;
}

bool pg_start(struct pg *connection, struct pg_batch *batch, struct fault *fault)
{
    connection->outcome_unknown = false;
    if (connection->active || connection->script)
        return fault_set(fault, FAULT_BUG, "DATABASE_BUSY", "a batch is under way on this connection");
    if (connection->broken)
        return pg_fault_ended(connection->state, fault);
    pg_batch_clear(batch);
    connection->constraint[0] = '\0';
    connection->flushed = false;
    connection->deadline_ms = clock_now_ms() + connection->timeout_ms;
    batch->steps = mem_grow(batch, batch->steps, struct pg_step, 2 * batch->count + 2);
    if (!send_all(connection, batch)) {
        pg_break(connection);
        return pg_fault_ended(connection->state, fault);
    }
    connection->active = batch;
    batch->connection = connection;
    pg_flush(connection);
    return true;
}

bool pg_flush_pending(const struct pg *connection)
{
    return (connection->active || connection->script) && !connection->flushed;
}
