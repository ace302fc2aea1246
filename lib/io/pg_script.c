/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/io/pg_private.h"

/* The line in which character `position` (from 1, counted in characters) of the text stands. */
static unsigned line_of(const char *sql, const char *position)
{
    unsigned long left = position ? strtoul(position, NULL, 10) : 0;
    unsigned line = 1;

    for (; *sql && left > 1; sql++) {
        if (*sql == '\n')
            line++;
        if (((unsigned char)*sql & 0xc0) != 0x80)
            left--;
    }
    return line;
}

static bool script_failed(struct pg *connection, const char *sql, const PGresult *result, struct fault *fault)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *position = PQresultErrorField(result, PG_DIAG_STATEMENT_POSITION);
    struct fault told;
    bool breaks;

    (void)pg_fault_result(result, "script", &breaks, &told);
    if (breaks) {
        connection->outcome_unknown = true;
        pg_break(connection);
    }
    *fault = told;
    if (told.class == FAULT_UNAVAILABLE)
        return false;
    if (position)
        (void)fault_set(fault, told.class, told.code, "%s (SQLSTATE %s, line %u)", primary, state,
                        line_of(sql, position));
    else
        (void)fault_set(fault, told.class, told.code, "%s (SQLSTATE %s)", primary, state);
    text_copy(fault->origin, sizeof fault->origin, state);
    return fault_depends(fault, told.dependency, told.cause);
}

static bool script_lost(struct pg *connection, struct fault *fault)
{
    connection->outcome_unknown = true;
    pg_break(connection);
    return pg_fault_ended(connection->state, fault);
}

/* Reads all results. The first error is kept in *failed. */
static bool script_wait(struct pg *connection, PGresult **failed, struct fault *fault)
{
    for (;;) {
        struct pollfd own = {.fd = PQsocket(connection->raw),
                             .events = (short)(connection->flushed ? POLLIN : POLLIN | POLLOUT)};
        PGresult *result = NULL;
        bool ready;
        bool ended;

        if (!watch_wait(NULL, &own, 1, connection->deadline_ms, &ready, fault))
            return false;
        if (!ready) {
            connection->outcome_unknown = true;
            pg_break(connection);
            return pg_fault_timeout("finish a script", connection->timeout_ms, fault);
        }
        connection->flushed = connection->flushed || PQflush(connection->raw) <= 0;
        ended = !pg_consume(connection);
        while (!PQisBusy(connection->raw)) {
            ExecStatusType status;

            result = PQgetResult(connection->raw);
            if (!result)
                return true;
            status = PQresultStatus(result);
            if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY &&
                !*failed)
                *failed = result;
            else
                PQclear(result);
            if (PQstatus(connection->raw) == CONNECTION_BAD)
                return *failed ? true : script_lost(connection, fault);
        }
        if (ended)
            return script_lost(connection, fault);
    }
}

bool pg_script(struct pg *connection, const char *sql, struct fault *fault)
{
    PGresult *failed = NULL;
    bool read;

    connection->outcome_unknown = false;
    connection->constraint[0] = '\0';
    if (connection->active)
        return fault_set(fault, FAULT_BUG, "DATABASE_BUSY", "a batch is under way on this connection");
    if (connection->broken)
        return pg_fault_ended(connection->state, fault);
    if (!PQexitPipelineMode(connection->raw) || !PQsendQuery(connection->raw, sql)) {
        pg_break(connection);
        return pg_fault_ended(connection->state, fault);
    }
    connection->script = true;
    connection->deadline_ms = clock_now_ms() + connection->timeout_ms;
    connection->flushed = PQflush(connection->raw) <= 0;
    read = script_wait(connection, &failed, fault);
    connection->script = false;
    if (read && failed)
        read = script_failed(connection, sql, failed, fault);
    PQclear(failed);
    if (!connection->broken && !PQenterPipelineMode(connection->raw))
        pg_break(connection);
    return read;
}
