/* SPDX-License-Identifier: MIT
 *
 * PostgreSQL (libpq), nonblocking, with a deadline on the client's side for each connect and each batch.
 *
 * Statements go as a batch: one pipeline with one Sync, which PostgreSQL runs as one transaction and commits
 * once (protocol 3.0, "Pipelining"); either all of a batch took effect or none. No session ever idles in a
 * transaction. Parameters are text, with explicit casts in the SQL; NULL is a NULL pointer.
 *
 * A fault here is about the connection or the server and is set with dependency "postgresql" and a cause; the
 * SQLSTATE stands in fault.origin where the server gave one. libpq's own messages are never passed on, as
 * they may hold what the URL holds; only the SQLSTATE, the server's primary message for configuration errors
 * that an operator must see (role or database missing), and our own words are.
 *
 * After any fault that broke the connection (pg_is_broken) the handle must be freed and a new one made:
 * nothing is repaired in place. Freeing never blocks: the socket is shut down first.
 */
#ifndef OCC_IO_PG_H
#define OCC_IO_PG_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"
#include "lib/io/watch.h"

struct pg;

/* The cause of a fault about a host name that name servers know nothing of: unlike one that was not resolved
 * for now, nothing says that it will be. */
#define PG_CAUSE_NO_SUCH_HOST "no-such-host"

struct pg_options {
    const struct secret *url;     /* postgresql:// or postgres:// URL; borrowed during the call */
    const char *application_name; /* shown in pg_stat_activity, such as "occ-worker dispatcher" */
    int timeout_ms;               /* bounds the connect and each batch, client side */
    bool read_only;               /* sessions default to READ ONLY transactions */
    /* For a session that sends the same few statements to a queue all its life: each is planned once, for all
     * parameters, and by index whatever the statistics say, which lag behind a queue that fills and empties.
     * Without effect behind a pooler, where nothing is prepared. */
    bool steady_plans;
    bool same_address; /* go to the address of this process's last connection: no name server is asked, which
                        * blocks (a claim is held). Where there is none yet, as without it. */
    const struct watch *watch; /* looked after while connecting; may be NULL */
};

/* Checks the URL's form without connecting: scheme, no empty URL, options libpq knows. Fault:
 * FAULT_CONFIGURATION DATABASE_CONFIGURATION_INVALID. */
bool pg_url_check(const struct secret *url, struct fault *fault) MUST_USE;

/* The parts of a URL that may be shown: host (or socket folder) with port, and database. Hang on `context`.
 */
void pg_url_describe(const void *context, const struct secret *url, const char **host, const char **database);

/* Connects, detects a transaction-mode pooler, and sets the session's limits: statement_timeout
 * and idle_in_transaction_session_timeout (nine tenths of timeout_ms, so that the server is the first to give
 * up), lock_timeout (half), client_connection_check_interval, jit = off, and search_path = pg_catalog,
 * pg_temp: SQL names its schemas. The handle hangs on `context`.
 *
 * Several hosts in the URL, and several addresses of a host, are tried in their order, each for its share of
 * the time. Unless the URL says otherwise (target_session_attrs), a connection that is not read_only goes to
 * a server that accepts writes. Name servers are asked once, for a second each.
 *
 * Faults: FAULT_CONFIGURATION DATABASE_CONFIGURATION_INVALID (malformed URL, or refused with another
 * SQLSTATE), DATABASE_AUTHENTICATION_FAILED (28P01, 28000), DATABASE_NOT_FOUND (3D000),
 * DATABASE_PERMISSION_DENIED (42501: no right to connect); FAULT_UNAVAILABLE
 * PERSISTENCE_UNAVAILABLE for what may pass (refused, timeout, name resolution, 57P03, 53300, 08xxx), with
 * the cause PG_CAUSE_NO_SUCH_HOST where none of the URL's host names exists; or the watch's fault. */
bool pg_connect(const void *context, const struct pg_options *options, struct pg **connection,
                struct fault *fault) MUST_USE;

/* True behind a transaction-mode pooler (PQbackendPID differs from pg_backend_pid(), or a later 26000/42P05):
 * no session state, no LISTEN, no named statements. */
bool pg_is_pooled(const struct pg *connection);

/* True when the connection cannot be used any more. */
bool pg_is_broken(const struct pg *connection);

int pg_socket(const struct pg *connection);

/* ---- Statements
 * --------------------------------------------------------------------------------------------- */

/* A statement's text, made once per program (static const). `name` is a short unique name under which it is
 * prepared on connections that keep a session; NULL: never prepared. */
struct pg_statement {
    const char *name;
    const char *sql;
    int parameters;
};

struct pg_batch;  /* statements that go out together */
struct pg_result; /* rows of one statement */

#define PG_PARAMETERS 32

/* An empty batch that hangs on `context`. */
struct pg_batch *pg_batch_new(const void *context) __attribute__((returns_nonnull)) MUST_USE;

/* Adds a statement; the parameter texts are copied. Returns its index in the batch. */
size_t pg_batch_add(struct pg_batch *batch, const struct pg_statement *statement,
                    const char *const *parameters);

/* Sends the batch as one transaction and waits for all results, looking after `watch`. True: all statements
 * succeeded and the transaction is committed. False: nothing took effect — except where pg_outcome_unknown()
 * says that the commit may have happened (the connection broke after the batch was sent).
 *
 * Faults: FAULT_UNAVAILABLE PERSISTENCE_UNAVAILABLE (connection broke, timeout, shutdown 57P01..57P03, 25006
 * …; the connection is then broken; also for want of resources 53xxx, 58xxx and statement_timeout 57014,
 * after which it lives), FAULT_RETRYABLE DATABASE_CONFLICT (40001, 40P01, 23505, 55P03: race; 26000, 42P05: a
 * pooler showed itself and the connection is now pooled; send again), FAULT_CONFIGURATION
 * DATABASE_PERMISSION_DENIED (42501), FAULT_BUG DATABASE_STATEMENT_FAILED (any other SQLSTATE), the watch's
 * fault (the connection is then broken, as the server's answer was left unread). */
bool pg_run(struct pg *connection, struct pg_batch *batch, const struct watch *watch,
            struct fault *fault) MUST_USE;

/* After a failed pg_run: whether the server may have committed all the same. */
bool pg_outcome_unknown(const struct pg *connection);

/* After a failed pg_run: the constraint that the server named (23505, 23503, 23514), or "". */
const char *pg_constraint(const struct pg *connection) __attribute__((returns_nonnull));

/* The result of statement `index` after a successful pg_run; owned by the batch. */
const struct pg_result *pg_batch_result(const struct pg_batch *batch, size_t index);

/* One statement as a batch of one; the result hangs on `context`. */
bool pg_query(struct pg *connection, const void *context, const struct pg_statement *statement,
              const char *const *parameters, const struct watch *watch, const struct pg_result **result,
              struct fault *fault) MUST_USE;

/* The same nonblocking, for the one statement that is under way while something else waits (a renewal): start
 * it, poll pg_socket() for POLLIN (and POLLOUT while pg_flush_pending()), and call pg_advance() until it is
 * done. Nothing else may use the connection meanwhile. The deadline of pg_options counts from the start. */
bool pg_start(struct pg *connection, struct pg_batch *batch, struct fault *fault) MUST_USE;
bool pg_flush_pending(const struct pg *connection);
/* False with pg_run's faults; *done tells that the batch's results are there. */
bool pg_advance(struct pg *connection, bool *done, struct fault *fault) MUST_USE;
/* Waits for what pg_start began. */
bool pg_finish(struct pg *connection, const struct watch *watch, struct fault *fault) MUST_USE;

/* ---- Results
 * ------------------------------------------------------------------------------------------------ */

size_t pg_rows(const struct pg_result *result);
/* Rows that a data-modifying statement touched. */
size_t pg_affected(const struct pg_result *result);
/* The text of a value, NULL for SQL NULL; owned by the result. A row or column that is not there ends the
 * process (a statement's shape is fixed by its text). */
const char *pg_text(const struct pg_result *result, size_t row, size_t column);
int64_t pg_number(const struct pg_result *result, size_t row,
                  size_t column); /* an integer column that is not NULL */
bool pg_true(const struct pg_result *result, size_t row, size_t column); /* boolean; NULL is false */

/* ---- Scripts (migrations only)
 * ------------------------------------------------------------------------------- */

/* Runs SQL text of several statements by the simple protocol, which is one transaction unless the text says
 * otherwise, within the timeout of pg_options. On failure fault.message carries the server's primary message
 * and the line in `sql`. */
bool pg_script(struct pg *connection, const char *sql, struct fault *fault) MUST_USE;

/* ---- Notifications
 * ------------------------------------------------------------------------------------------- */

/* LISTEN on a channel (an SQL identifier from the program's text), and a look in a second transaction whether
 * it lasted. Refused on a pooled connection (FAULT_BUG DATABASE_POOLED); when it did not last the connection
 * is pooled from then on: FAULT_RETRYABLE DATABASE_POOLED. */
bool pg_listen(struct pg *connection, const char *channel, const struct watch *watch,
               struct fault *fault) MUST_USE;

/* Reads what has arrived on the socket and returns how many notifications there were since the last call.
 * False when the connection broke. Also call it after pg_run, which may have read some. */
bool pg_notifications(struct pg *connection, size_t *count, struct fault *fault) MUST_USE;

#endif
