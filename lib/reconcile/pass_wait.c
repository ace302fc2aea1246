/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/pass.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"

/* Between attempts to reach a database that went away while a claim is held. */
#define RECONNECT_MS 100

int64_t pass_renewal_due_ms(const struct pass *pass)
{
    return pass->lease_end_ms - (int64_t)pass->reconciler->options->lease_duration_ms * 2 / 3;
}

void pass_confirmed(struct pass *pass, int64_t sent_ms, int64_t lease_ms)
{
    pass->lease_end_ms = sent_ms + lease_ms;
    pass->trouble.class = FAULT_NONE;
    link_up(pass->reconciler);
    pass->reconciler->host->renewed(pass->reconciler->host->subject);
}

bool pass_lost(const struct pass *pass, const char *why, struct fault *fault)
{
    (void)fault_set(fault, FAULT_CLAIM_LOST, "CLAIM_LOST", "%s", why);
    if (pass->trouble.class != FAULT_NONE)
        (void)fault_depends(fault, pass->trouble.dependency, pass->trouble.cause);
    return false;
}

static size_t prepare(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    const struct pass *pass = subject;
    const struct reconciler *reconciler = pass->reconciler;
    int64_t now_ms = clock_now_ms();
    int64_t wake = pass->lease_end_ms;
    size_t count = 0;

    if (pass->mode != PASS_COMMIT)
        room[count++] = (struct pollfd){.fd = reconciler->host->descriptor, .events = POLLIN};
    /* The host hears from us when it is asked for orders, also where none is obeyed. */
    if (now_ms + reconciler->options->lease_duration_ms / 8 < wake)
        wake = now_ms + reconciler->options->lease_duration_ms / 8;
    if (pass->mode == PASS_EFFECT) {
        int64_t renewal = pass_renewal_due_ms(pass);

        if (pass->renewal_retry_ms > renewal)
            renewal = pass->renewal_retry_ms;
        if (pass->renewal)
            room[count++] = (struct pollfd){
                .fd = pg_socket(reconciler->connection),
                .events = (short)(POLLIN | (pg_flush_pending(reconciler->connection) ? POLLOUT : 0))};
        else if (renewal < wake)
            wake = renewal;
        if (pass->effect_end_ms < wake)
            wake = pass->effect_end_ms;
    }
    if (wake < *wake_ms)
        *wake_ms = wake;
    return count;
}

/* The renewal did not come through. That is no loss yet: the lease lasts, so it is tried again. */
static void renewal_failed(struct pass *pass, const struct fault *why)
{
    talloc_free(pass->renewal);
    pass->renewal = NULL;
    pass->trouble = *why;
    pass->renewal_retry_ms = clock_now_ms() + RECONNECT_MS;
    link_drop(pass->reconciler, false);
}

static bool renewal_done(struct pass *pass, struct fault *fault)
{
    size_t renewed = pg_affected(pg_batch_result(pass->renewal, 0));

    talloc_free(pass->renewal);
    pass->renewal = NULL;
    if (renewed != 1)
        return pass_lost(pass, "the renewal found the claim gone", fault);
    pass_confirmed(pass, pass->renewal_sent_ms, pass->reconciler->options->lease_duration_ms);
    return true;
}

/* A new connection is waited for inside the Driver's wait, which stands still meanwhile. Nothing is lost by
 * that: without the connection the claim, and so the Driver's work, would end with the lease anyway, which
 * also bounds this wait. */
static bool renewal_connect(struct pass *pass, bool *connected, struct fault *fault)
{
    struct fault why;

    pass_set_mode(pass, PASS_TRIP);
    *connected = link_open(pass->reconciler, true, &pass->watch, &why);
    pass_set_mode(pass, PASS_EFFECT);
    if (*connected)
        return true;
    if (why.class == FAULT_CANCELLED || why.class == FAULT_CLAIM_LOST) {
        *fault = why;
        return false;
    }
    renewal_failed(pass, &why);
    return true;
}

static bool renewal_start(struct pass *pass, struct fault *fault)
{
    struct fault why;
    bool connected;

    if (!renewal_connect(pass, &connected, fault))
        return false;
    if (!connected)
        return true;
    pass->renewal = pg_batch_new(pass->memory);
    (void)claim_renew_add(pass->renewal, pass->item.key, pass->token,
                          pass->reconciler->options->lease_duration_ms);
    pass->renewal_sent_ms = clock_now_ms();
    if (!pg_start(pass->reconciler->connection, pass->renewal, &why))
        renewal_failed(pass, &why);
    return true;
}

static bool renewal_turn(struct pass *pass, int64_t now_ms, struct fault *fault)
{
    struct fault why;
    bool done;

    if (pass->renewal) {
        if (!pg_advance(pass->reconciler->connection, &done, &why))
            renewal_failed(pass, &why);
        else if (done)
            return renewal_done(pass, fault);
        return true;
    }
    if (now_ms < pass_renewal_due_ms(pass) || now_ms < pass->renewal_retry_ms)
        return true;
    return renewal_start(pass, fault);
}

static bool turn(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    struct pass *pass = subject;
    int64_t now_ms = clock_now_ms();

    (void)ready;
    (void)count;
    if (link_order(pass->reconciler) == HOST_ABORT && pass->mode != PASS_COMMIT)
        return fault_set(fault, FAULT_CANCELLED, "WORKER_DRAINING", "the worker is stopping");
    if (pass->mode == PASS_EFFECT && !renewal_turn(pass, now_ms, fault))
        return false;
    if (now_ms >= pass->lease_end_ms)
        return pass_lost(pass, "the lease ran out before it could be renewed", fault);
    if (pass->mode == PASS_EFFECT && now_ms >= pass->effect_end_ms)
        return fault_set(fault, FAULT_RETRYABLE, "COMPUTE_TIMEOUT", "the Driver's operation took too long");
    return true;
}

void pass_set_mode(struct pass *pass, enum pass_mode mode)
{
    pass->mode = mode;
    pass->watch = (struct watch){pass, prepare, turn};
}

void pass_effect_begin(struct pass *pass, int64_t limit_ms)
{
    pass->effect_end_ms = clock_now_ms() + limit_ms;
    pass_set_mode(pass, PASS_EFFECT);
}

bool pass_effect_end(struct pass *pass, struct fault *fault)
{
    struct fault why;

    pass_set_mode(pass, PASS_TRIP);
    if (!pass->renewal)
        return true;
    /* The host's abort is heard after this: the connection is needed to hand the claim back. */
    pass_set_mode(pass, PASS_COMMIT);
    if (pg_finish(pass->reconciler->connection, &pass->watch, &why)) {
        pass_set_mode(pass, PASS_TRIP);
        return renewal_done(pass, fault);
    }
    renewal_failed(pass, &why);
    pass_set_mode(pass, PASS_TRIP);
    if (why.class == FAULT_CLAIM_LOST) {
        *fault = why;
        return false;
    }
    return true;
}
