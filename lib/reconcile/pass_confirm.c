/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/pass.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"

#define AGAIN_MS 100
#define CONFLICTS_MOST 3

void pass_begin(struct pass *pass, struct reconciler *reconciler, const void *memory, const char *token,
                const struct claim *claim, int64_t sent_ms)
{
    memset(pass, 0, sizeof *pass);
    pass->reconciler = reconciler;
    pass->memory = memory;
    memcpy(pass->token, token, UUID_SIZE);
    pass->item = claim->item;
    pass->begun_ms = clock_now_ms();
    pass_set_mode(pass, PASS_TRIP);
    pass_confirmed(pass, sent_ms, claim->lease_ms);
}

static bool is_end(const struct fault *fault)
{
    return fault->class == FAULT_CLAIM_LOST || fault->class == FAULT_CANCELLED;
}

/* After a trip that failed: true to send it again. */
static bool again(struct pass *pass, unsigned *conflicts, struct fault *fault)
{
    struct fault why = *fault;
    bool ready;

    link_drop(pass->reconciler, false);
    if (fault->class == FAULT_RETRYABLE)
        return ++*conflicts < CONFLICTS_MOST;
    if (fault->class != FAULT_UNAVAILABLE)
        return false;
    pass->trouble = why;
    return watch_wait(&pass->watch, NULL, 0, clock_now_ms() + AGAIN_MS, &ready, fault);
}

static bool ask_once(struct pass *pass, struct pg_batch *batch, void (*fill)(struct pg_batch *, void *),
                     void *subject, int64_t *sent_ms, struct fault *fault)
{
    struct reconciler *reconciler = pass->reconciler;

    if (!link_open(reconciler, true, &pass->watch, fault))
        return false;
    *sent_ms = clock_now_ms();
    /* First: the reads after it see the new lease, or that the claim is gone. */
    if (*sent_ms >= pass_renewal_due_ms(pass))
        (void)claim_renew_add(batch, pass->item.key, pass->token, reconciler->options->lease_duration_ms);
    fill(batch, subject);
    return pg_run(reconciler->connection, batch, &pass->watch, fault);
}

bool pass_ask(struct pass *pass, void (*fill)(struct pg_batch *batch, void *subject), void *subject,
              struct pg_batch **batch, int64_t *sent_ms, struct fault *fault)
{
    unsigned conflicts = 0;

    pass_set_mode(pass, PASS_TRIP);
    for (;;) {
        struct pg_batch *made = pg_batch_new(pass->memory);

        if (ask_once(pass, made, fill, subject, sent_ms, fault)) {
            *batch = made;
            return true;
        }
        talloc_free(made);
        if (is_end(fault) || !again(pass, &conflicts, fault)) {
            link_drop(pass->reconciler, false);
            return false;
        }
    }
}
