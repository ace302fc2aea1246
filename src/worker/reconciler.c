/* SPDX-License-Identifier: MIT
 *
 * A reconciler's process: waits for "go", claims and works until nothing is left, and leaves for a fresh
 * process after a number of passes or an age.
 */
#include "lib/base/build.h"

#include "src/worker/child.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/reconcile/reconciler.h"

#define EXIT_AGAIN 75
/* So many passes before the age is looked at. */
#define PASSES_A_RUN 500

struct host {
    struct child *child;
    char installation_id[IDENTIFIER_SIZE];
    int64_t beacon_every_ms, beacon_ms;
    int64_t confirmed_ms; /* when the supervisor last heard that the lease is confirmed */
};

static void take(void *subject, const struct message *message)
{
    struct host *host = subject;

    if (message->type == MESSAGE_WELCOME)
        (void)text_copy(host->installation_id, sizeof host->installation_id,
                        message->body.welcome.installation_id);
}

static enum host_order hear_order(void *subject)
{
    struct host *host = subject;
    int64_t now_ms = clock_now_ms();

    /* A pass asks for orders in every wait: that it does is the sign that it does not hang. */
    if (now_ms - host->beacon_ms >= host->beacon_every_ms) {
        host->beacon_ms = now_ms;
        child_beacon(host->child, false);
    }
    return child_hear(host->child);
}

static bool tell_token(void *subject, const char token[UUID_SIZE])
{
    struct host *host = subject;
    struct message message = message_new(MESSAGE_TOKEN);

    (void)text_copy(message.body.token.token, sizeof message.body.token.token, token);
    return child_say(host->child, &message);
}

static bool tell_claimed(void *subject, const char token[UUID_SIZE], const struct work_item *item)
{
    struct host *host = subject;
    struct message message = message_new(MESSAGE_CLAIMED);
    struct message_claimed *claimed = &message.body.claimed;

    (void)text_copy(claimed->token, sizeof claimed->token, token);
    (void)text_copy(claimed->key, sizeof claimed->key, item->key);
    (void)text_copy(claimed->namespace_id, sizeof claimed->namespace_id, item->namespace_id);
    (void)text_copy(claimed->agent_id, sizeof claimed->agent_id, item->agent_id);
    (void)text_copy(claimed->revision_id, sizeof claimed->revision_id, item->revision_id);
    claimed->kind = item->kind;
    claimed->attempt = item->attempt;
    host->beacon_ms = host->confirmed_ms = clock_now_ms();
    return child_say(host->child, &message);
}

/* A short pass confirms its lease with every trip; the supervisor need not hear of each. */
static void tell_renewed(void *subject)
{
    struct host *host = subject;
    int64_t now_ms = clock_now_ms();

    if (now_ms - host->confirmed_ms < host->beacon_every_ms)
        return;
    host->beacon_ms = host->confirmed_ms = now_ms;
    child_beacon(host->child, true);
}

static bool tell_report(void *subject, const struct pass_report *report)
{
    struct host *host = subject;
    struct message message = message_new(MESSAGE_REPORT);

    message.body.report = *report;
    return child_say(host->child, &message);
}

/* The end that a fault means for this process. What is wrong with the database is never the end of the
 * worker: a password that was changed is given to it by a reload. */
static int fail(struct child *child, const struct fault *fault)
{
    int status = child_fail(child, fault);

    return text_equal(fault->dependency, "postgresql") || status == 2 ? EXIT_AGAIN : status;
}

static int work(struct child *child, struct reconciler *reconciler)
{
    /* Not all at once: a tenth of the age is spread over the slots. */
    const int64_t age_ms = child->settings->recycle_age_ms;
    const int64_t leave_ms = clock_now_ms() + age_ms - (child->slot % 8) * (age_ms / 80);
    const uint64_t most = (uint64_t)child->settings->recycle_passes;
    enum reconciler_rest rest = RECONCILER_IDLE;
    uint64_t passes = 0, limit;
    struct fault fault;

    while (passes < most && clock_now_ms() < leave_ms) {
        if (rest == RECONCILER_IDLE) {
            if (!child_say_type(child, MESSAGE_IDLE))
                return EXIT_AGAIN;
            while (!child->go && child->order == HOST_CONTINUE && clock_now_ms() < leave_ms)
                child_wait(child, -1, leave_ms);
            if (!child->go || child->order != HOST_CONTINUE)
                break;
            child->go = false;
        }
        limit = most - passes < PASSES_A_RUN ? most : passes + PASSES_A_RUN;
        if (!reconciler_run(reconciler, limit, &passes, &rest, &fault))
            return fail(child, &fault);
        if (rest == RECONCILER_STOPPED)
            break;
    }
    return child->gone ? EXIT_AGAIN : 0;
}

static bool open_drivers(struct child *child, struct reconciler_options *options, struct fault *fault)
{
    const struct catalog_settings settings = child_catalog_settings(child);
    const struct driver_call call = child_driver_call(child, options->installation_id);
    const struct startup *startup = child->startup;
    const struct sandbox_driver *sandbox;

    if (!catalog_open_sandbox(child, &settings, startup, &call, &sandbox, fault) ||
        !catalog_open_compute(child, &settings, startup, sandbox, &call, &options->compute, fault) ||
        !catalog_open_secret(child, &settings, startup, &call, &options->secrets, fault) ||
        !catalog_open_authority(child, &settings, startup, &call, &options->authority, fault))
        return false;
    child_harden(); /* whatever the code of a package did */
    if (sandbox) {
        options->sandbox_driver_id = sandbox->id;
        options->sandbox_provisions =
            sandbox->operations->provision_harness && sandbox->facets == SANDBOX_ALL;
    }
    return true;
}

int reconciler_run_role(struct child *child)
{
    const struct worker_settings *settings = child->settings;
    struct host *self = mem_new(child, struct host);
    const struct reconcile_host host = {self,         child->channel, hear_order, tell_token,
                                        tell_claimed, tell_renewed,   tell_report};
    struct reconciler_options options = {
        .database_url = settings->database.url,
        .installation_id = self->installation_id,
        .production = settings->mode == MODE_PRODUCTION,
        .max_attempts = (unsigned)settings->max_attempts,
        .lease_duration_ms = settings->lease_duration_ms,
        .convergence_timeout_ms = settings->convergence_timeout_ms,
        .database_timeout_ms = settings->database_timeout_ms,
    };
    struct fault fault;

    self->child = child;
    self->beacon_every_ms = settings->lease_duration_ms / 8 > 20 ? settings->lease_duration_ms / 8 : 20;
    child->take = take;
    child->subject = self;
    while (child_hear(child) == HOST_CONTINUE && !self->installation_id[0])
        child_wait(child, -1, CLOCK_NEVER);
    if (child->order != HOST_CONTINUE)
        return child->gone ? EXIT_AGAIN : 0;
    if (!open_drivers(child, &options, &fault))
        return fail(child, &fault);
    return work(child, reconciler_new(child, &options, &host));
}
