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
        pg_prepared_confirm(connection, batch->entries[step->index].statement);
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
    pg_prepared_settle(connection);
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
    pg_flush(connection);
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
