/* SPDX-License-Identifier: MIT
 *
 * The protocol's facts: PostgreSQL documentation, "Pipeline Mode" of libpq and "Extended Query" of the
 * frontend/backend protocol. All statements between two Syncs are one transaction; after an error the server
 * skips to the Sync. Each command is answered by one result and a NULL, the Sync by PGRES_PIPELINE_SYNC; an
 * error of the commit itself (deferred constraints) comes in the Sync's place, before it.
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
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

/* ---- Prepared statements */

static struct pg_prepared *find_prepared(struct pg *connection, const struct pg_statement *statement)
{
    for (size_t i = 0; i < connection->prepared_count; i++) {
        const struct pg_statement *known = connection->prepared[i].statement;

        if (known == statement || strcmp(known->name, statement->name) == 0)
            return &connection->prepared[i];
    }
    return NULL;
}

static void add_prepared(struct pg *connection, const struct pg_statement *statement)
{
    size_t count = connection->prepared_count++;

    if (count % 16 == 0)
        connection->prepared = mem_grow(connection, connection->prepared, struct pg_prepared, count + 16);
    connection->prepared[count] = (struct pg_prepared){.statement = statement};
}

/* After a failure, what the server did not confirm is not there. */
static void drop_unsure(struct pg *connection)
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

static void confirm_prepared(struct pg *connection, const struct pg_statement *statement)
{
    struct pg_prepared *prepared = find_prepared(connection, statement);

    if (prepared)
        prepared->sure = true;
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
        prepared = find_prepared(connection, statement);
        if (!prepared) {
            add_step(batch, PG_STEP_PREPARE, index);
            if (!PQsendPrepare(connection->raw, statement->name, statement->sql, 0, NULL))
                return false;
            add_prepared(connection, statement);
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

/* PQflush is -1 when the connection is gone; then the answers that are already here must still be read. */
static void flush(struct pg *connection)
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
    flush(connection);
    return true;
}

bool pg_flush_pending(const struct pg *connection)
{
    return (connection->active || connection->script) && !connection->flushed;
}

/* ---- Answers */

static void take_failure(struct pg_batch *batch, PGresult *result)
{
    const struct pg_step *step = batch->step < batch->step_count ? &batch->steps[batch->step] : NULL;

    if (batch->failed) { /* the first says what was wrong */
        PQclear(result);
        return;
    }
    batch->failed = result;
    if (!step)
        batch->failed_name = "commit";
    else if (step->kind == PG_STEP_SESSION)
        batch->failed_name = "session";
    else
        batch->failed_name = batch->entries[step->index].statement->name;
    if (!batch->failed_name)
        batch->failed_name = "(unnamed)";
}

static void take_success(struct pg *connection, struct pg_batch *batch, PGresult *result)
{
    const struct pg_step *step = batch->step < batch->step_count ? &batch->steps[batch->step] : NULL;

    if (step && step->kind == PG_STEP_PREPARE)
        confirm_prepared(connection, batch->entries[step->index].statement);
    if (step && step->kind == PG_STEP_EXECUTE && !batch->entries[step->index].result.raw)
        batch->entries[step->index].result.raw = result;
    else
        PQclear(result);
}

/* Takes one result. True when it was the Sync's. */
static bool take(struct pg *connection, struct pg_batch *batch, PGresult *result)
{
    switch (PQresultStatus(result)) {
    case PGRES_PIPELINE_SYNC:
        PQclear(result);
        return true;
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
        take_success(connection, batch, result);
        return false;
    case PGRES_PIPELINE_ABORTED:
        PQclear(result);
        return false;
    default: /* an error, or COPY, which no batch may hold */
        take_failure(batch, result);
        return false;
    }
}

/* Takes what has arrived. *done: the Sync has come. False when the answers make no sense any more. */
static bool drain(struct pg *connection, struct pg_batch *batch, bool *done)
{
    *done = false;
    while (!PQisBusy(connection->raw)) {
        PGresult *result = PQgetResult(connection->raw);

        if (!result) {
            /* Past the last command only the Sync is left; an error in its place ends with a NULL too. */
            if (++batch->step > batch->step_count + 1)
                return false;
            continue;
        }
        if (take(connection, batch, result)) {
            *done = true;
            return true;
        }
        if (PQstatus(connection->raw) == CONNECTION_BAD && batch->failed)
            return false;
    }
    return true;
}

static void end_batch(struct pg *connection)
{
    connection->active->connection = NULL;
    connection->active = NULL;
}

/* A failure after which the server's decision may never come. */
static bool break_batch(struct pg *connection)
{
    struct pg_batch *batch = connection->active;
    const char *severity =
        batch->failed ? PQresultErrorField(batch->failed, PG_DIAG_SEVERITY_NONLOCALIZED) : NULL;

    /* A plain ERROR rolled the transaction back, whatever happened afterwards; a FATAL may be a pooler's word
     * about a server which it lost after the commit. */
    connection->outcome_unknown = connection->flushed && !(severity && strcmp(severity, "ERROR") == 0);
    end_batch(connection);
    pg_break(connection);
    return false;
}

static bool fail_batch(struct pg *connection, struct fault *fault)
{
    struct pg_batch *batch = connection->active;
    const char *state = PQresultErrorField(batch->failed, PG_DIAG_SQLSTATE);
    bool breaks;

    text_copy(connection->constraint, sizeof connection->constraint,
              PQresultErrorField(batch->failed, PG_DIAG_CONSTRAINT_NAME));
    (void)pg_fault_result(batch->failed, batch->failed_name, &breaks, fault);
    /* Our statements are unknown or known already in a session that we thought was ours: it is not. */
    if (state && (strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0)) {
        connection->pooled = true;
        connection->prepared_count = 0;
    }
    drop_unsure(connection);
    if (breaks)
        (void)break_batch(connection);
    else
        end_batch(connection);
    pg_batch_clear(batch);
    return false;
}

static bool lose_batch(struct pg *connection, struct fault *fault)
{
    struct pg_batch *batch = connection->active;

    if (batch->failed && PQresultErrorField(batch->failed, PG_DIAG_SQLSTATE)) {
        connection->broken = true;
        return fail_batch(connection, fault);
    }
    (void)break_batch(connection);
    pg_batch_clear(batch);
    return pg_fault_ended(connection->state, fault);
}

bool pg_advance(struct pg *connection, bool *done, struct fault *fault)
{
    struct pg_batch *batch = connection->active;
    bool ended;
    bool synced;

    if (!batch)
        return fault_set(fault, FAULT_BUG, "DATABASE_IDLE", "no batch is under way on this connection");
    flush(connection);
    ended = !pg_consume(connection);
    if (!drain(connection, batch, &synced) || (ended && !synced))
        return lose_batch(connection, fault);
    if (ended)
        pg_break(connection);
    if (synced && batch->failed)
        return fail_batch(connection, fault);
    if (!synced && clock_now_ms() >= connection->deadline_ms) {
        (void)break_batch(connection);
        pg_batch_clear(batch);
        return pg_fault_timeout("answer a statement", connection->timeout_ms, fault);
    }
    if (synced)
        end_batch(connection);
    *done = synced;
    return true;
}

bool pg_finish(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    struct pg_batch *batch = connection->active;
    bool done = false;

    if (!batch)
        return fault_set(fault, FAULT_BUG, "DATABASE_IDLE", "no batch is under way on this connection");
    do {
        struct pollfd own = {.fd = PQsocket(connection->raw),
                             .events = (short)(connection->flushed ? POLLIN : POLLIN | POLLOUT)};
        bool ready;

        if (!watch_wait(watch, &own, 1, connection->deadline_ms, &ready, fault)) {
            (void)break_batch(connection);
            pg_batch_clear(batch);
            return false;
        }
        if (!pg_advance(connection, &done, fault))
            return false;
    } while (!done);
    return true;
}

bool pg_run(struct pg *connection, struct pg_batch *batch, const struct watch *watch, struct fault *fault)
{
    return pg_start(connection, batch, fault) && pg_finish(connection, watch, fault);
}

bool pg_query(struct pg *connection, const void *context, const struct pg_statement *statement,
              const char *const *parameters, const struct watch *watch, const struct pg_result **result,
              struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(context);
    size_t index = pg_batch_add(batch, statement, parameters);

    if (!pg_run(connection, batch, watch, fault)) {
        talloc_free(batch);
        return false;
    }
    *result = pg_batch_result(batch, index);
    return true;
}
