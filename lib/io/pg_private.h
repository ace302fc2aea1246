/* SPDX-License-Identifier: MIT
 *
 * What the files of lib/io/pg*.c share; nobody else includes this.
 */
#ifndef OCC_IO_PG_PRIVATE_H
#define OCC_IO_PG_PRIVATE_H

#include "lib/base/memory.h"
#include "lib/io/pg.h"

#include <libpq-fe.h>

#define SQLSTATE_SIZE 6
#define PG_HOST_SIZE 256
#define DEFAULT_SOCKET_FOLDER "/var/run/postgresql" /* Debian's and Fedora's libpq */

struct pg_prepared {
    const struct pg_statement *statement;
    bool sure; /* the server has confirmed it */
};

struct pg {
    PGconn *raw;
    int timeout_ms; /* for each batch */
    int limit_ms;   /* that the server keeps */
    bool read_only;
    bool steady_plans;
    bool pooled;
    bool broken;
    bool outcome_unknown;
    char state[SQLSTATE_SIZE]; /* of the last FATAL message that came as a notice, while idle */
    char constraint[64];       /* named by the last server error */
    const char *limits[4];     /* the session's limits as texts, see pg_session.c */

    struct pg_prepared *prepared;
    size_t prepared_count;

    struct pg_batch *active; /* sent, not yet answered */
    int64_t deadline_ms;
    bool flushed; /* the batch's Sync went to the kernel: from here the server may commit */
    bool ended;   /* the socket gave its end */
    bool script;  /* the simple protocol is under way */
};

/* What one answer of the pipeline belongs to. */
enum pg_step_kind { PG_STEP_SESSION, PG_STEP_PREPARE, PG_STEP_EXECUTE };

struct pg_step {
    enum pg_step_kind kind;
    size_t index; /* of the statement */
};

struct pg_result {
    PGresult *raw;
};

struct pg_batch_entry {
    const struct pg_statement *statement;
    const char **values;
    struct pg_result result;
};

struct pg_batch {
    struct pg *connection; /* while it is under way */
    struct pg_batch_entry *entries;
    size_t count;
    struct pg_step *steps;
    size_t step_count;
    size_t step; /* the next answer's */
    PGresult *failed;
    enum pg_step_kind failed_kind;
    const char *failed_name; /* of the statement, "" where there is none */
};

/* ---- pg.c */

/* Marks the connection unusable and shuts its socket down, so that nothing later can block on it. */
void pg_break(struct pg *connection);
/* PQconsumeInput, again while TLS holds bytes which poll(2) cannot see. False at the socket's end. */
bool pg_consume(struct pg *connection);

/* ---- pg_session.c */

/* Detects a pooler and sets the session's limits, in one trip. */
bool pg_session_open(struct pg *connection, const struct watch *watch, struct fault *fault) MUST_USE;
/* Sends the statement that sets the limits for one transaction, which precedes each batch behind a pooler. */
bool pg_session_send_local(struct pg *connection);

/* ---- pg_url.c */

struct pg_place {
    char host[PG_HOST_SIZE];
    char address[PG_HOST_SIZE];
    char port[16];
};

struct pg_target {
    struct pg_place *places;
    size_t count;         /* at least one; a place without host and address is libpq's default */
    const char *session;  /* target_session_attrs of the URL, NULL when it names none */
    const char *password; /* NULL when the URL has none */
    const char *user;
    const char *service; /* an entry of PostgreSQL's service files, NULL when the URL names none */
};

/* Takes a URL apart; what it returns hangs on `context` and holds the password. */
bool pg_url_parse(const void *context, const struct secret *url, struct pg_target **target,
                  struct fault *fault) MUST_USE;
/* Resolves a place's host; *addresses has `count` numeric texts, or one NULL where there is nothing to
 * resolve. */
bool pg_url_resolve(const void *context, const struct pg_place *place, const char ***addresses, size_t *count,
                    struct fault *fault) MUST_USE;
/* "host:port" for messages. */
const char *pg_url_name(const void *context, const struct pg_place *place);

/* ---- pg_fault.c */

/* The fault of a failed connection attempt, from libpq's message, which is not passed on. */
bool pg_fault_connect(PGconn *raw, const struct pg_target *target, const char *name, struct fault *fault);
/* The fault of a server's error; *breaks tells that the connection is of no more use. */
bool pg_fault_result(const PGresult *result, const char *statement, bool *breaks, struct fault *fault);
/* A connection that ended, with the SQLSTATE the server gave last ("" for none). */
bool pg_fault_ended(const char *state, struct fault *fault);
bool pg_fault_timeout(const char *what, int timeout_ms, struct fault *fault);

/* ---- pg_batch.c */

void pg_batch_clear(struct pg_batch *batch);
/* Hands what is unsent to the kernel. A connection that is gone counts as flushed: then the answers which are
 * here already must still be read. */
void pg_flush(struct pg *connection);

/* ---- pg_prepared.c: which named statements the session has */

struct pg_prepared *pg_prepared_find(struct pg *connection, const struct pg_statement *statement);
void pg_prepared_add(struct pg *connection, const struct pg_statement *statement);
void pg_prepared_confirm(struct pg *connection, const struct pg_statement *statement);
/* After a failure: forgets what the server did not confirm. */
void pg_prepared_settle(struct pg *connection);

#endif
