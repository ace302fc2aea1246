/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/io/pg_private.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

/* What the kernel does about a peer that went silent: a sign of life after 10 s without traffic, given up
 * after three unanswered, and unacknowledged data given up after 15 s. */
#define KEEPALIVE_IDLE "10"
#define KEEPALIVE_INTERVAL "5"
#define KEEPALIVE_COUNT "3"
#define USER_TIMEOUT_MS 15000

/* Where the last connection of this process went, for a caller which may not wait for a name server. */
static struct pg_place last_place;

/* ---- The handle */

void pg_break(struct pg *connection)
{
    int fd;

    connection->broken = true;
    if (!connection->raw)
        return;
    fd = PQsocket(connection->raw);
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
}

bool pg_consume(struct pg *connection)
{
    SSL *tls = PQsslStruct(connection->raw, "OpenSSL");

    do {
        if (!PQconsumeInput(connection->raw))
            return false;
    } while (tls && PQsocket(connection->raw) >= 0 && SSL_pending(tls) > 0);
    return true;
}

static void keep_state(void *subject, const PGresult *notice)
{
    struct pg *connection = subject;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);

    /* Notices are nobody's business here, but for the reason that a server gives when it ends an idle
     * session. */
    if (severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        text_copy(connection->state, sizeof connection->state, PQresultErrorField(notice, PG_DIAG_SQLSTATE));
}

static void close_raw(struct pg *connection)
{
    if (!connection->raw)
        return;
    /* PQfinish sends a farewell, for which it would wait on a peer that takes nothing. */
    if (connection->broken || connection->active || connection->script ||
        PQstatus(connection->raw) != CONNECTION_OK || PQflush(connection->raw) != 0)
        pg_break(connection);
    PQfinish(connection->raw);
    connection->raw = NULL;
}

static int pg_free(struct pg *connection)
{
    if (connection->active)
        connection->active->connection = NULL;
    close_raw(connection);
    return 0;
}

bool pg_is_pooled(const struct pg *connection)
{
    return connection->pooled;
}

bool pg_is_broken(const struct pg *connection)
{
    return connection->broken;
}

int pg_socket(const struct pg *connection)
{
    return connection->raw ? PQsocket(connection->raw) : -1;
}

bool pg_outcome_unknown(const struct pg *connection)
{
    return connection->outcome_unknown;
}

const char *pg_constraint(const struct pg *connection)
{
    return connection->constraint;
}

/* ---- Connecting */

enum attempt { ATTEMPT_DONE, ATTEMPT_NEXT, ATTEMPT_OVER };

struct dial {
    const struct pg_options *options;
    struct pg *connection;
    struct pg_target *target;
    const struct pg_place *place;
    const char *address; /* numeric, or NULL */
    const char *session; /* target_session_attrs */
    int64_t deadline_ms; /* of this attempt */
};

static PGconn *dial_start(const struct dial *dial)
{
    int user_timeout =
        dial->options->timeout_ms < USER_TIMEOUT_MS ? dial->options->timeout_ms : USER_TIMEOUT_MS;
    const char *keywords[20] = {0};
    const char *values[20] = {0};
    char user_timeout_text[16];
    size_t count = 0;

    (void)snprintf(user_timeout_text, sizeof user_timeout_text, "%d", user_timeout);
#define ADD(keyword, value) (keywords[count] = (keyword), values[count++] = (value))
    /* What stands before the URL are defaults, what stands after it prevails. */
    ADD("keepalives", "1");
    ADD("keepalives_idle", KEEPALIVE_IDLE);
    ADD("keepalives_interval", KEEPALIVE_INTERVAL);
    ADD("keepalives_count", KEEPALIVE_COUNT);
    ADD("tcp_user_timeout", user_timeout_text);
    ADD("dbname", secret_expose(dial->options->url));
    ADD("gssencmode", "disable"); /* its negotiation blocks */
    ADD("client_encoding", "UTF8");
    ADD("application_name", dial->options->application_name);
    ADD("target_session_attrs", dial->session);
    if (dial->place->host[0])
        ADD("host", dial->place->host);
    if (dial->address)
        ADD("hostaddr", dial->address);
    if (dial->place->port[0] || dial->target->count > 1)
        ADD("port", dial->place->port);
#undef ADD
    return PQconnectStartParams(keywords, values, 1);
}

static enum attempt dial_failed(const struct dial *dial, struct fault *fault)
{
    const char *name = pg_url_name(dial->target, dial->place);

    (void)pg_fault_connect(dial->connection->raw, dial->target, name, fault);
    /* As libpq does: a server that was reached and says no for good ends the search. */
    return fault->class == FAULT_CONFIGURATION ? ATTEMPT_OVER : ATTEMPT_NEXT;
}

static enum attempt dial_timeout(const struct dial *dial, struct fault *fault)
{
    (void)fault_set(fault, FAULT_UNAVAILABLE, "PERSISTENCE_UNAVAILABLE",
                    "PostgreSQL at %s did not answer in time", pg_url_name(dial->target, dial->place));
    (void)fault_depends(fault, "postgresql", "timeout");
    return ATTEMPT_NEXT;
}

static enum attempt dial_poll(const struct dial *dial, struct fault *fault)
{
    PGconn *raw = dial->connection->raw;
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status != PGRES_POLLING_OK) {
        struct pollfd own = {.fd = PQsocket(raw),
                             .events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        bool ready;

        if (own.fd < 0)
            return dial_failed(dial, fault);
        if (!watch_wait(dial->options->watch, &own, 1, dial->deadline_ms, &ready, fault))
            return ATTEMPT_OVER;
        if (!ready)
            return dial_timeout(dial, fault);
        status = PQconnectPoll(raw);
        if (status == PGRES_POLLING_FAILED)
            return dial_failed(dial, fault);
    }
    return ATTEMPT_DONE;
}

/* One attempt at one address. */
static enum attempt dial_once(const struct dial *dial, struct fault *fault)
{
    struct pg *connection = dial->connection;
    enum attempt attempt;

    connection->raw = dial_start(dial);
    if (!connection->raw)
        mem_exhausted();
    (void)PQsetNoticeReceiver(connection->raw, keep_state, connection);
    (void)PQsetErrorVerbosity(connection->raw, PQERRORS_VERBOSE); /* which tells the SQLSTATE */
    if (PQstatus(connection->raw) == CONNECTION_BAD)
        attempt = dial_failed(dial, fault);
    else
        attempt = dial_poll(dial, fault);
    if (attempt != ATTEMPT_DONE) {
        close_raw(connection);
        connection->broken = false; /* that was only this attempt */
    }
    return attempt;
}

static int64_t share(int64_t deadline_ms, size_t attempts_left)
{
    int64_t now_ms = clock_now_ms();

    return deadline_ms <= now_ms ? now_ms : now_ms + (deadline_ms - now_ms) / (int64_t)attempts_left;
}

/* All addresses of one place; each gets its share of the time, so that a silent one does not keep the others
 * from their turn. */
static enum attempt dial_place(struct dial *dial, int64_t deadline_ms, struct fault *fault)
{
    enum attempt attempt = ATTEMPT_NEXT;
    const char **addresses;
    size_t count;

    if (!pg_url_resolve(dial->target, dial->place, &addresses, &count, fault))
        return ATTEMPT_NEXT;
    for (size_t i = 0; i < count && attempt == ATTEMPT_NEXT; i++) {
        dial->address = addresses[i];
        if (!dial->address && dial->place->address[0])
            dial->address = dial->place->address;
        dial->deadline_ms = share(deadline_ms, count - i);
        attempt = dial_once(dial, fault);
    }
    return attempt;
}

static void remember(const struct dial *dial)
{
    last_place = *dial->place;
    text_copy(last_place.address, sizeof last_place.address, dial->address);
}

/* The place of the last connection, if the URL still names it. */
static bool recall(const struct pg_target *target, struct pg_place *place)
{
    for (size_t i = 0; i < target->count; i++) {
        if (strcmp(target->places[i].host, last_place.host) == 0 &&
            strcmp(target->places[i].port, last_place.port) == 0 && last_place.address[0]) {
            *place = last_place;
            return true;
        }
    }
    return false;
}

/* A host name that does not exist is the whole trouble only where no other place may come back. */
static void keep_passing(const struct fault *fault, struct fault *passing)
{
    if (!text_equal(fault->cause, PG_CAUSE_NO_SUCH_HOST))
        *passing = *fault;
}

/* Servers in the URL's order, as libpq takes them. Each gets its share of the time. */
static enum attempt dial_all(struct dial *dial, int64_t deadline_ms, struct fault *fault)
{
    /* K41: a demoted primary must not be taken again, so writers ask for a server that takes writes. */
    const char *session = dial->target->session      ? dial->target->session
                          : dial->options->read_only ? "any"
                                                     : "read-write";
    const char *rounds[2] = {session, NULL};
    size_t left = dial->target->count;
    enum attempt attempt = ATTEMPT_NEXT;
    struct fault passing = {.class = FAULT_NONE};
    struct pg_place known;

    if (strcmp(session, "prefer-standby") == 0) {
        rounds[0] = "standby";
        rounds[1] = "any";
        left *= 2;
    }
    if (dial->options->same_address && recall(dial->target, &known)) {
        dial->place = &known;
        dial->session = session;
        return dial_place(dial, deadline_ms, fault);
    }
    for (size_t round = 0; round < COUNT_OF(rounds) && rounds[round]; round++) {
        for (size_t i = 0; i < dial->target->count && attempt == ATTEMPT_NEXT; i++) {
            dial->place = &dial->target->places[i];
            dial->session = rounds[round];
            attempt = dial_place(dial, share(deadline_ms, left--), fault);
            if (attempt != ATTEMPT_DONE)
                keep_passing(fault, &passing);
        }
    }
    if (attempt == ATTEMPT_NEXT && passing.class != FAULT_NONE)
        *fault = passing;
    if (attempt == ATTEMPT_DONE)
        remember(dial);
    return attempt;
}

static bool pg_dial(struct pg *connection, const struct pg_options *options, int64_t deadline_ms,
                    struct fault *fault)
{
    struct dial dial = {.options = options, .connection = connection};
    enum attempt attempt;

    if (!pg_url_parse(connection, options->url, &dial.target, fault))
        return false;
    attempt = dial_all(&dial, deadline_ms, fault);
    talloc_free(dial.target);
    return attempt == ATTEMPT_DONE;
}

bool pg_connect(const void *context, const struct pg_options *options, struct pg **connection,
                struct fault *fault)
{
    struct pg *made = mem_new(context, struct pg);
    int64_t deadline_ms = clock_now_ms() + options->timeout_ms;
    int64_t left_ms;

    talloc_set_destructor(made, pg_free);
    made->read_only = options->read_only;
    made->steady_plans = options->steady_plans;
    if (!pg_dial(made, options, deadline_ms, fault)) {
        talloc_free(made);
        return false;
    }
    (void)PQsetErrorVerbosity(made->raw, PQERRORS_DEFAULT);
    left_ms = deadline_ms - clock_now_ms();
    made->timeout_ms = left_ms > 1 ? (int)left_ms : 1;
    if (PQsetnonblocking(made->raw, 1) != 0 || !PQenterPipelineMode(made->raw)) {
        talloc_free(made);
        return pg_fault_ended("", fault);
    }
    made->limit_ms = options->timeout_ms;
    if (!pg_session_open(made, options->watch, fault)) {
        talloc_free(made);
        return false;
    }
    made->timeout_ms = options->timeout_ms;
    *connection = made;
    return true;
}
