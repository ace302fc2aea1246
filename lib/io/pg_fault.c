/* SPDX-License-Identifier: MIT
 *
 * libpq's messages are read here and nowhere else, and only to tell kinds apart: they may repeat parts of the
 * URL. What goes on is the SQLSTATE, words of ours, and — where an operator must act — the server's primary
 * message with the password masked.
 */
#include "lib/base/build.h"

#include "lib/base/text.h"
#include "lib/io/pg_private.h"

static const char unavailable_code[] = "PERSISTENCE_UNAVAILABLE";

struct reason {
    const char *needle; /* in libpq's message (C locale) */
    const char *cause;
    const char *words;
};

/* The first that matches counts. */
static const struct reason reasons[] = {
    {"Connection refused", "unreachable", "refused the connection"},
    {"No such file or directory", "unreachable", "has no socket there"},
    {"Permission denied", "unreachable", "does not let this user open its socket"},
    {"No route to host", "unreachable", "has no route to it"},
    {"Network is unreachable", "unreachable", "is on a network that is not reachable"},
    {"could not translate host name", "unreachable", "has a host name that was not resolved"},
    {"timed out", "timeout", "did not answer in time"},
    {"timeout expired", "timeout", "did not answer in time"},
    {"server does not support SSL", "unavailable", "does not offer TLS, which sslmode requires"},
    {"certificate verify failed", "unavailable", "showed a certificate that is not trusted"},
    {"does not match host name", "unavailable", "showed a certificate of another host"},
    {"root certificate file", "unavailable", "cannot be verified: the root certificate file is not usable"},
    {"certificate", "unavailable", "refused or failed TLS (certificate)"},
    {"SSL", "unavailable", "failed TLS"},
    {"session is read-only", "unavailable",
     "does not accept writes: it is a standby, or the role is read-only (as occ_metrics is)"},
    {"session is not read-only", "unavailable", "is not read-only as target_session_attrs asks"},
    {"server is in hot standby mode", "unavailable", "is a standby"},
    {"server is not in hot standby mode", "unavailable", "is not a standby as target_session_attrs asks"},
    {"server closed the connection", "unavailable", "closed the connection"},
    {"Connection reset", "unavailable", "closed the connection"},
    {"expected authentication request", "unavailable", "does not speak PostgreSQL's protocol"},
    {"received invalid response", "unavailable", "does not speak PostgreSQL's protocol"},
};

static bool unavailable(struct fault *fault, const char *cause, const char *state, const char *message)
{
    (void)fault_set(fault, FAULT_UNAVAILABLE, unavailable_code, "%s", message);
    text_copy(fault->origin, sizeof fault->origin, state);
    return fault_depends(fault, "postgresql", cause);
}

static bool is_state_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

/* Finds "SEVERITY:  XXXXX: primary message" as libpq writes it with PQERRORS_VERBOSE, the last of them. The
 * severity is in the server's language, so only the shape counts. */
static const char *find_state(const char *message, char state[SQLSTATE_SIZE])
{
    const char *found = NULL;

    for (const char *at = strstr(message, ":  "); at; at = strstr(at + 1, ":  ")) {
        const char *code = at + 3;
        size_t length = 0;

        while (length < 5 && is_state_character(code[length]))
            length++;
        if (length == 5 && code[5] == ':') {
            memcpy(state, code, 5);
            state[5] = '\0';
            found = code[6] == ' ' ? code + 7 : code + 6;
        }
    }
    return found;
}

/* The server's primary message, one line, with the password masked should it stand in there. */
static void copy_primary(char *target, size_t size, const char *primary, const char *password)
{
    size_t length = strcspn(primary, "\n");
    char *at;

    if (length >= size)
        length = size - 1;
    memcpy(target, primary, length);
    target[length] = '\0';
    if (text_is_empty(password))
        return;
    while ((at = strstr(target, password)))
        memset(at, '*', strlen(password));
}

static bool is_passing(const char *state)
{
    /* 08: connection; 53: resources; 57: operator intervention; 58: system; 25006: a standby; XX000 comes
     * from poolers for almost anything. */
    return strncmp(state, "08", 2) == 0 || strncmp(state, "53", 2) == 0 || strncmp(state, "57", 2) == 0 ||
           strncmp(state, "58", 2) == 0 || strcmp(state, "25006") == 0 || strncmp(state, "XX", 2) == 0;
}

static bool connect_state(const char *state, const char *primary, const struct pg_target *target,
                          const char *name, struct fault *fault)
{
    char words[256];
    char message[FAULT_MESSAGE_SIZE];

    copy_primary(words, sizeof words, primary, target->password);
    if (strncmp(state, "28", 2) == 0) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_AUTHENTICATION_FAILED",
                        "PostgreSQL at %s refused the role: %s (SQLSTATE %s)", name, words, state);
    } else if (strcmp(state, "3D000") == 0 || strstr(words, "no such database")) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_NOT_FOUND",
                        "PostgreSQL at %s does not have the database: %s (SQLSTATE %s)", name, words, state);
    } else if (strcmp(state, "42501") == 0) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_PERMISSION_DENIED",
                        "PostgreSQL at %s refused the connection: %s (SQLSTATE %s)", name, words, state);
    } else if (is_passing(state)) {
        (void)snprintf(message, sizeof message, "PostgreSQL at %s is not available: %s (SQLSTATE %s)", name,
                       words, state);
        return unavailable(fault, "unavailable", state, message);
    } else {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_CONFIGURATION_INVALID",
                        "PostgreSQL at %s refused the connection: %s (SQLSTATE %s)", name, words, state);
    }
    text_copy(fault->origin, sizeof fault->origin, state);
    return fault_depends(fault, "postgresql", "");
}

bool pg_fault_connect(PGconn *raw, const struct pg_target *target, const char *name, struct fault *fault)
{
    const char *message = PQerrorMessage(raw);
    char state[SQLSTATE_SIZE] = "";
    const char *primary = find_state(message, state);
    char words[FAULT_MESSAGE_SIZE];

    if (primary)
        return connect_state(state, primary, target, name, fault);
    if (PQconnectionNeedsPassword(raw)) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_AUTHENTICATION_FAILED",
                        "PostgreSQL at %s asks for a password, and the URL has none", name);
        return fault_depends(fault, "postgresql", "");
    }
    if (strncmp(message, "invalid ", 8) == 0 || strncmp(message, "could not match", 15) == 0) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_CONFIGURATION_INVALID",
                        "The PostgreSQL connection URL has an option with an invalid value.");
        return fault_depends(fault, "postgresql", "");
    }
    if (target->service && strstr(message, "service")) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_CONFIGURATION_INVALID",
                        "The PostgreSQL connection URL names the service %s (its option service), %s",
                        target->service,
                        strstr(message, "syntax error") || strstr(message, "nested")
                            ? "and the service file that defines it is malformed"
                            : "which no service file that the program reads defines");
        return fault_depends(fault, "postgresql", "");
    }
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (!strstr(message, reasons[i].needle))
            continue;
        (void)snprintf(words, sizeof words, "PostgreSQL at %s %s", name, reasons[i].words);
        return unavailable(fault, reasons[i].cause, "", words);
    }
    (void)snprintf(words, sizeof words, "PostgreSQL at %s could not be connected", name);
    return unavailable(fault, "unreachable", "", words);
}

/* ---- Statements */

static bool is_conflict(const char *state)
{
    return strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0 || strcmp(state, "23505") == 0 ||
           strcmp(state, "55P03") == 0;
}

/* A named statement that the server does not have or has already. */
static bool is_preparation(const char *state)
{
    return strcmp(state, "26000") == 0 || strcmp(state, "42P05") == 0;
}

/* A named statement whose result has another shape since a migration: "cached plan must not change result
 * type", which has no SQLSTATE of its own. A new session prepares it anew. */
static bool is_stale_plan(const PGresult *result, const char *state)
{
    const char *function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);

    return strcmp(state, "0A000") == 0 && function && strcmp(function, "RevalidateCachedQuery") == 0;
}

/* 57014 is statement_timeout (or somebody's cancel): the session lives on. */
static bool is_shortage(const char *state)
{
    return strncmp(state, "53", 2) == 0 || strncmp(state, "58", 2) == 0 || strcmp(state, "57014") == 0;
}

static bool is_connection_end(const char *state)
{
    return strncmp(state, "08", 2) == 0 || strncmp(state, "57P", 3) == 0 || strcmp(state, "25P03") == 0 ||
           strcmp(state, "25006") == 0 || strcmp(state, "40003") == 0;
}

bool pg_fault_result(const PGresult *result, const char *statement, bool *breaks, struct fault *fault)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
    bool fatal = severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
    char words[FAULT_MESSAGE_SIZE];

    if (!state) { /* libpq's own words: the connection is gone, or the answer made no sense */
        *breaks = true;
        return pg_fault_ended("", fault);
    }
    *breaks = fatal || is_connection_end(state) || is_stale_plan(result, state);
    if (is_connection_end(state) || fatal)
        return pg_fault_ended(state, fault);
    if (is_shortage(state)) {
        bool timeout = strcmp(state, "57014") == 0;

        (void)snprintf(words, sizeof words, "PostgreSQL %s statement %s (SQLSTATE %s)",
                       timeout ? "ran out of time for" : "had no resources for", statement, state);
        return unavailable(fault, timeout ? "timeout" : "unavailable", state, words);
    }
    if (is_conflict(state) || is_preparation(state) || is_stale_plan(result, state)) {
        (void)fault_set(fault, FAULT_RETRYABLE, "DATABASE_CONFLICT",
                        "statement %s met a conflict (SQLSTATE %s%s%s): send it again", statement, state,
                        constraint ? ", " : "", constraint ? constraint : "");
    } else if (strcmp(state, "42501") == 0) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DATABASE_PERMISSION_DENIED",
                        "the database role lacks a right that statement %s needs (SQLSTATE %s)", statement,
                        state);
    } else {
        (void)fault_set(fault, FAULT_BUG, "DATABASE_STATEMENT_FAILED",
                        "statement %s failed (SQLSTATE %s%s%s)", statement, state, constraint ? ", " : "",
                        constraint ? constraint : "");
    }
    text_copy(fault->origin, sizeof fault->origin, state);
    return fault_depends(fault, "postgresql", "");
}

bool pg_fault_ended(const char *state, struct fault *fault)
{
    char words[FAULT_MESSAGE_SIZE];

    if (!state[0])
        return unavailable(fault, "unavailable", "", "the connection to PostgreSQL was lost");
    (void)snprintf(words, sizeof words, "%s (SQLSTATE %s)",
                   strcmp(state, "25006") == 0 ? "this PostgreSQL server does not accept writes any more"
                                               : "PostgreSQL ended the connection",
                   state);
    return unavailable(fault, "unavailable", state, words);
}

bool pg_fault_timeout(const char *what, int timeout_ms, struct fault *fault)
{
    char words[FAULT_MESSAGE_SIZE];

    (void)snprintf(words, sizeof words, "PostgreSQL did not %s within %d ms", what, timeout_ms);
    return unavailable(fault, "timeout", "", words);
}
