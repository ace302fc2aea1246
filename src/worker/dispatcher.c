/* SPDX-License-Identifier: MIT
 *
 * The dispatcher owns the database's rhythm: it hears notifications, polls, tells how many reconcilers would
 * find work, and takes care of claims whose owners are gone. It survives any state of the database and tells
 * the supervisor each change of it once.
 */
#include "lib/base/build.h"

#include "src/worker/child.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/listener.h"
#include "lib/store/recovery.h"
#include "src/worker/backoff.h"
#include "src/worker/deaths.h"
#include "src/worker/rhythm.h"

/* A statement of the dispatcher takes milliseconds. A path that went silent must not stop the wake-ups for
 * the whole of the worker's database timeout. */
#define STATEMENT_MS 5000
#define BEACON_MS 3000
#define TROUBLED_MS 50
#define EXIT_AGAIN 75

struct dispatcher {
    struct child *child;
    struct pg *connection; /* NULL: none */
    bool pooled_told;
    bool down_told;
    int64_t connected_ms, retry_ms;
    struct backoff backoff;
    struct rhythm rhythm;
    unsigned resting;
    bool look;            /* at the queue, for a reconciler that is new */
    size_t notified;      /* notifications that were not acted on yet */
    struct deaths deaths; /* claims to release */
};

static void take(void *subject, const struct message *message)
{
    struct dispatcher *dispatcher = subject;

    if (message->type == MESSAGE_RESTING)
        dispatcher->resting = message->body.count.count;
    else if (message->type == MESSAGE_LOOK)
        dispatcher->look = true;
    else if (message->type == MESSAGE_RELEASE &&
             !deaths_find(&dispatcher->deaths, message->body.release.token))
        deaths_add(&dispatcher->deaths, &message->body.release, 0, 0);
}

static void tell_count(struct dispatcher *dispatcher, enum message_type type, size_t count)
{
    struct message message = message_new(type);

    message.body.count.count = (uint32_t)count;
    (void)!child_say(dispatcher->child, &message);
}

static void wake(struct dispatcher *dispatcher, size_t count)
{
    /* While the worker stops nothing more is offered. */
    if (count && dispatcher->child->order == HOST_CONTINUE)
        tell_count(dispatcher, MESSAGE_WAKE, count);
}

/* ---- The connection. */

static void tell_outage(struct dispatcher *dispatcher, const struct fault *fault)
{
    struct message message = message_new(MESSAGE_OUTAGE);

    child_fill_fault(&message.body.fault, fault);
    (void)!child_say(dispatcher->child, &message);
}

/* Nothing is repaired in place: the connection goes, and a new one is made after a while. */
static void disconnect(struct dispatcher *dispatcher, const struct fault *fault)
{
    int64_t now_ms = clock_now_ms();
    int64_t lived_ms = dispatcher->connection ? now_ms - dispatcher->connected_ms : 0;

    dispatcher->connection = (talloc_free(dispatcher->connection), NULL);
    dispatcher->rhythm.listening = false;
    dispatcher->retry_ms = now_ms + backoff_failed(&dispatcher->backoff, lived_ms);
    if (fault->class != FAULT_CANCELLED)
        tell_outage(dispatcher, fault);
}

static void tell_pooled(struct dispatcher *dispatcher)
{
    if (!dispatcher->pooled_told)
        log_event(LOG_WARN, "worker.warning", log_text("code", "DATABASE_POOLED"),
                  log_text("message", "the database is reached through a transaction-mode pooler: no "
                                      "notifications, new work is found by polling"));
    dispatcher->pooled_told = true;
}

/* LISTEN where the session is ours. Without it polling goes on: it is the base (K26). */
static bool listen_for_work(struct dispatcher *dispatcher, struct fault *fault)
{
    if (!pg_is_pooled(dispatcher->connection)) {
        dispatcher->rhythm.listening =
            pg_listen(dispatcher->connection, LISTENER_CHANNEL, &dispatcher->child->watch, fault);
        if (!dispatcher->rhythm.listening && !fault_is(fault, "DATABASE_POOLED"))
            return false;
    }
    if (!dispatcher->rhythm.listening)
        tell_pooled(dispatcher);
    return true;
}

static void open_connection(struct dispatcher *dispatcher)
{
    const struct child *child = dispatcher->child;
    const int timeout_ms = child->settings->database_timeout_ms;
    const struct pg_options options = {
        .url = child->settings->database.url,
        .application_name = "occ-worker dispatcher",
        .timeout_ms = timeout_ms < STATEMENT_MS ? timeout_ms : STATEMENT_MS,
        .steady_plans = true,
        .watch = &child->watch,
    };
    struct fault fault;

    if (!pg_connect(dispatcher, &options, &dispatcher->connection, &fault)) {
        dispatcher->connection = NULL;
        disconnect(dispatcher, &fault);
        return;
    }
    dispatcher->connected_ms = clock_now_ms();
    rhythm_begin(&dispatcher->rhythm, child->settings->poll_interval_ms, dispatcher->connected_ms);
    if (!listen_for_work(dispatcher, &fault))
        disconnect(dispatcher, &fault);
}

/* ---- Claims without an owner. */

static void tell_recovered(struct dispatcher *dispatcher, const char *token, const struct recovered *row)
{
    struct message message = message_new(MESSAGE_RECOVERED);
    struct pass_report *report = &message.body.report;

    (void)text_copy(report->token, sizeof report->token, token);
    (void)text_copy(report->key, sizeof report->key, row->item.key);
    (void)text_copy(report->namespace_id, sizeof report->namespace_id, row->item.namespace_id);
    (void)text_copy(report->agent_id, sizeof report->agent_id, row->item.agent_id);
    (void)text_copy(report->revision_id, sizeof report->revision_id, row->item.revision_id);
    (void)text_copy(report->code, sizeof report->code, row->code);
    report->kind = row->item.kind;
    report->outcome = row->failed                                ? PASS_PERMANENT
                      : text_equal(row->code, "WORKER_DRAINING") ? PASS_HANDED_BACK
                                                                 : PASS_ERROR;
    report->attempt = row->item.attempt;
    report->deployment = work_is_deployment(row->item.kind, row->item.key);
    if (report->deployment)
        report->elapsed_ms = row->item.age_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)row->item.age_ms;
    (void)!child_say(dispatcher->child, &message);
}

static bool release(struct dispatcher *dispatcher, const struct message_release *claim, struct fault *fault)
{
    void *scratch = talloc_new(dispatcher);
    struct message message = message_new(MESSAGE_RELEASED);
    struct recovered *list;
    size_t count = 0, index;
    bool done;

    done = recovery_release(dispatcher->connection, scratch, claim->token, claim->code, claim->message,
                            (unsigned)dispatcher->child->settings->max_attempts, &dispatcher->child->watch,
                            &list, &count, fault);
    if (done) {
        for (index = 0; index < count; index++)
            tell_recovered(dispatcher, claim->token, &list[index]);
        (void)text_copy(message.body.token.token, sizeof message.body.token.token, claim->token);
        done = child_say(dispatcher->child, &message);
        /* Queued again with a backoff that may be short. */
        rhythm_follow(&dispatcher->rhythm, clock_now_ms());
    }
    talloc_free(scratch);
    return done;
}

static bool release_all(struct dispatcher *dispatcher, struct fault *fault)
{
    struct death *death;
    char token[UUID_SIZE];

    while ((death = deaths_unsent(&dispatcher->deaths))) {
        if (!release(dispatcher, &death->release, fault))
            return false;
        (void)text_copy(token, sizeof token, death->release.token);
        deaths_remove(&dispatcher->deaths, token);
    }
    return true;
}

static bool sweep(struct dispatcher *dispatcher, struct fault *fault)
{
    size_t count = RECOVERY_BATCH, index;
    bool done = true;

    dispatcher->rhythm.recovery_due = false;
    while (done && count >= RECOVERY_BATCH) {
        void *scratch = talloc_new(dispatcher);
        struct recovered *list;

        done = recovery_sweep(dispatcher->connection, scratch,
                              (unsigned)dispatcher->child->settings->max_attempts, &dispatcher->child->watch,
                              &list, &count, fault);
        for (index = 0; done && index < count; index++)
            tell_recovered(dispatcher, "", &list[index]);
        talloc_free(scratch);
    }
    return done;
}

/* ---- A turn. */

static void tell_health(struct dispatcher *dispatcher, const struct survey *survey)
{
    struct message message = message_new(MESSAGE_HEALTH);

    message.body.health.pending = survey->pending;
    message.body.health.oldest_pending_age_ms = survey->oldest_pending_age_ms;
    message.body.health.pooled = pg_is_pooled(dispatcher->connection);
    (void)!child_say(dispatcher->child, &message);
}

/* `woken`: somebody was just told to claim, and what he will claim is still counted. */
static bool survey(struct dispatcher *dispatcher, bool woken, struct fault *fault)
{
    int64_t now_ms = clock_now_ms();
    struct survey seen;

    dispatcher->look = false;
    if (!survey_take(dispatcher->connection, dispatcher->resting,
                     (unsigned)dispatcher->child->settings->max_attempts,
                     dispatcher->rhythm.health_due_ms <= now_ms, &dispatcher->child->watch, &seen, fault)) {
        dispatcher->look = true;
        return false;
    }
    rhythm_surveyed(&dispatcher->rhythm, &seen, clock_now_ms());
    if (seen.counted)
        tell_health(dispatcher, &seen);
    if (woken && seen.eligible) {
        seen.eligible--;
        rhythm_follow(&dispatcher->rhythm, clock_now_ms());
    }
    wake(dispatcher, seen.eligible);
    return true;
}

static bool check_session(struct dispatcher *dispatcher, struct fault *fault)
{
    void *scratch = talloc_new(dispatcher);
    bool listening = false, done;

    done = listener_check(dispatcher->connection, scratch, &dispatcher->child->watch, &listening, fault);
    talloc_free(scratch);
    rhythm_checked(&dispatcher->rhythm, clock_now_ms());
    if (!done || listening)
        return done;
    (void)fault_set(fault, FAULT_UNAVAILABLE, "PERSISTENCE_UNAVAILABLE",
                    "the database session that listened for new work was replaced");
    return fault_depends(fault, "postgresql", "unavailable");
}

static bool turn(struct dispatcher *dispatcher, struct fault *fault)
{
    int64_t now_ms = clock_now_ms();
    size_t notified = 0;

    /* Also where nothing is listened for: it is how the end of the connection is read, and else it would be
     * polled without end (K25). */
    if (!pg_notifications(dispatcher->connection, &notified, fault))
        return false;
    /* First of all: to count before would cost a trip. */
    if (notified)
        wake(dispatcher, 1);
    if (!release_all(dispatcher, fault))
        return false;
    if (rhythm_checks(&dispatcher->rhythm, now_ms) && !check_session(dispatcher, fault))
        return false;
    if ((dispatcher->look || (notified && dispatcher->resting > 1) ||
         rhythm_surveys(&dispatcher->rhythm, now_ms)) &&
        !survey(dispatcher, notified > 0, fault))
        return false;
    if (dispatcher->rhythm.recovery_due && !sweep(dispatcher, fault))
        return false;
    /* A pooler may show itself late. */
    if (dispatcher->rhythm.listening && pg_is_pooled(dispatcher->connection)) {
        dispatcher->rhythm.listening = false;
        tell_pooled(dispatcher);
    }
    return true;
}

/* Waits for what is next. `troubled`: the turn lost a race, and is taken again soon. */
static void rest(struct dispatcher *dispatcher, bool troubled)
{
    int64_t now_ms = clock_now_ms(), until_ms = dispatcher->retry_ms;
    int socket = -1;

    /* Heard, and so read, while a statement or a connection was waited for. */
    if (dispatcher->child->order == HOST_ABORT)
        return;
    if (dispatcher->connection) {
        /* One that came while a statement was waited for. */
        if (!troubled && (deaths_unsent(&dispatcher->deaths) || dispatcher->look))
            return;
        until_ms = troubled ? now_ms + TROUBLED_MS : rhythm_due_ms(&dispatcher->rhythm);
        socket = pg_socket(dispatcher->connection);
    }
    child_wait(dispatcher->child, socket, until_ms);
}

int dispatcher_run(struct child *child)
{
    struct dispatcher *dispatcher = mem_new(child, struct dispatcher);
    struct fault fault;
    bool troubled;

    dispatcher->child = child;
    dispatcher->backoff = backoff_for_database();
    child->beacon_every_ms = BEACON_MS;
    child->take = take;
    child->subject = dispatcher;
    while (child_hear(child) != HOST_ABORT) {
        if (!dispatcher->connection && dispatcher->retry_ms <= clock_now_ms())
            open_connection(dispatcher);
        troubled = dispatcher->connection && !turn(dispatcher, &fault);
        /* A race that was lost is for the next turn; anything else ends the connection. */
        if (troubled && (fault.class != FAULT_RETRYABLE || pg_is_broken(dispatcher->connection)))
            disconnect(dispatcher, &fault);
        else if (dispatcher->connection && !troubled)
            backoff_worked(&dispatcher->backoff);
        rest(dispatcher, troubled);
    }
    talloc_free(dispatcher);
    return child->gone ? EXIT_AGAIN : 0;
}
