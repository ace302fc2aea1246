/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/link.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"

#define BACKOFF_FIRST_MS 100
#define BACKOFF_MOST_MS 5000
/* A path that comes and goes must not fill the log, once for each reconciler and each time (K66). */
#define SAY_AGAIN_MS 30000

enum host_order link_order(const struct reconciler *reconciler)
{
    return reconciler->host->order(reconciler->host->subject);
}

static size_t prepare(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    const struct reconciler *reconciler = subject;
    /* The host hears from us when it is asked for orders, so it is asked often enough. */
    int64_t ask_ms = clock_now_ms() + reconciler->options->lease_duration_ms / 8;

    room[0] = (struct pollfd){.fd = reconciler->host->descriptor, .events = POLLIN};
    if (ask_ms < *wake_ms)
        *wake_ms = ask_ms;
    return 1;
}

static bool cancelled(struct fault *fault)
{
    return fault_set(fault, FAULT_CANCELLED, "WORKER_DRAINING", "the worker is stopping");
}

static bool turn_abort(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    (void)ready;
    (void)count;
    return link_order(subject) != HOST_ABORT || cancelled(fault);
}

static bool turn_finish(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    (void)ready;
    (void)count;
    return link_order(subject) == HOST_CONTINUE || cancelled(fault);
}

struct watch link_watch_abort(struct reconciler *reconciler)
{
    return (struct watch){reconciler, prepare, turn_abort};
}

struct watch link_watch_finish(struct reconciler *reconciler)
{
    return (struct watch){reconciler, prepare, turn_finish};
}

bool link_open(struct reconciler *reconciler, bool held, const struct watch *watch, struct fault *fault)
{
    struct pg_options options = {
        .url = reconciler->options->database_url,
        .application_name = "occ-worker reconciler",
        .timeout_ms = reconciler->options->database_timeout_ms,
        .steady_plans = true,
        .same_address = held,
        .watch = watch,
    };

    link_drop(reconciler, false);
    if (reconciler->connection)
        return true;
    return pg_connect(reconciler, &options, &reconciler->connection, fault);
}

void link_drop(struct reconciler *reconciler, bool always)
{
    if (!reconciler->connection || (!always && !pg_is_broken(reconciler->connection)))
        return;
    talloc_free(reconciler->connection);
    reconciler->connection = NULL;
}

static void say_away(struct reconciler *reconciler, const struct fault *why)
{
    int64_t now_ms = clock_now_ms();

    if (reconciler->said_ms && now_ms - reconciler->said_ms < SAY_AGAIN_MS) {
        reconciler->unsaid++;
        return;
    }
    log_event(LOG_ERROR, "worker.error", log_text("code", "WORKER_UNAVAILABLE"),
              log_text("dependency", why->dependency), log_text("cause", why->cause),
              log_text("message", why->message),
              reconciler->unsaid ? log_number("suppressed", reconciler->unsaid)
                                 : log_text("suppressed", NULL));
    reconciler->said_ms = now_ms;
    reconciler->unsaid = 0;
}

bool link_back_off(struct reconciler *reconciler, const struct fault *why, const struct watch *watch,
                   struct fault *fault)
{
    bool ready;

    link_drop(reconciler, false);
    if (!reconciler->away)
        say_away(reconciler, why);
    reconciler->away = true;
    reconciler->backoff_ms = reconciler->backoff_ms ? reconciler->backoff_ms * 2 : BACKOFF_FIRST_MS;
    if (reconciler->backoff_ms > BACKOFF_MOST_MS)
        reconciler->backoff_ms = BACKOFF_MOST_MS;
    return watch_wait(watch, NULL, 0, clock_now_ms() + reconciler->backoff_ms, &ready, fault);
}

void link_up(struct reconciler *reconciler)
{
    reconciler->away = false;
    reconciler->backoff_ms = 0;
}
