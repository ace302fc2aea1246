/* SPDX-License-Identifier: MIT
 *
 * The commit of an outcome, together with the claim of the next item where that is wanted: one transaction.
 *
 * An answer that does not come leaves the commit unknown. Nothing is then repeated blindly: the row is read
 * back, on a new connection, by the claim's token, and tells whether the outcome happened; only where it did
 * not, and the claim is live, is it sent again.
 */
#include "lib/base/build.h"

#include "lib/reconcile/pass.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/reconcile/effect.h"
#include "lib/store/agent_target.h"

#define AGAIN_MS 50
#define CONFLICTS_MOST 10

enum answer {
    ANSWER_RECORDED, /* the outcome is published */
    ANSWER_REFUSED,  /* the claim was not live: nothing is */
    ANSWER_FAULT,    /* see the fault; perhaps unknown */
};

struct settling {
    struct pass *pass;
    struct verdict verdict; /* as asked, or what replaced it */
    struct outcome outcome; /* the same for the database */
    struct outcome_record record;
    const char *next_token; /* NULL: no claim was ever sent along */
    const void *next_memory;
    bool with_next; /* send the claim along */
    bool next_sent; /* it was sent at least once */
    bool unknown;   /* the commit of an attempt is not known */
    bool replaced;  /* the database refused the verdict as it was */
    unsigned conflicts;
    struct settled *settled;
};

static void take_verdict(struct settling *settling, const struct verdict *verdict)
{
    struct pass *pass = settling->pass;
    const struct reconciler_options *options = pass->reconciler->options;

    settling->verdict = *verdict;
    settling->verdict.evidence = effect_evidence(pass, verdict->evidence);
    settling->outcome = (struct outcome){
        .kind = verdict->kind,
        .item = &pass->item,
        .token = pass->token,
        .code = settling->verdict.code,
        .denied = verdict->denied,
        .evidence = settling->verdict.evidence,
        .retry_after_ms = verdict->retry_after_ms,
        .convergence_timeout_ms = options->convergence_timeout_ms,
        .max_attempts = options->max_attempts,
        .stopped_active_id = verdict->stopped_active_id,
        .stopped = verdict->stopped,
        .candidate = verdict->candidate,
        .lifecycle = verdict->lifecycle,
        .refusal = verdict->refusal,
        .maintenance_interval_ms = options->compute->maintenance_interval_ms,
    };
}

/* ---- Sending */

static size_t add_outcome(struct settling *settling, struct pg_batch *batch)
{
    if (settling->verdict.removes_agent)
        return agent_remove_add(batch, settling->pass->item.key, settling->pass->token,
                                settling->verdict.evidence);
    return outcome_add(batch, &settling->outcome);
}

static bool read_outcome(struct settling *settling, const struct pg_result *result)
{
    if (!settling->verdict.removes_agent)
        return outcome_read(result, &settling->record);
    settling->record.state = OUTCOME_SUCCEEDED;
    (void)text_copy(settling->record.code, sizeof settling->record.code, settling->verdict.code);
    return agent_remove_read(result);
}

static bool read_next(struct settling *settling, const struct pg_result *result, struct fault *fault)
{
    struct settled *settled = settling->settled;
    struct claim_search *search = &settling->pass->reconciler->search;

    if (!claim_read(result, settling->next_memory, &settled->next, &settled->claimed, fault))
        return false;
    settled->searched = true;
    settled->exhaustive = claim_search_end(search, settled->claimed ? &settled->next : NULL, clock_now_us());
    return true;
}

static enum answer send_batch(struct settling *settling, struct pg_batch *batch, struct fault *fault)
{
    struct pass *pass = settling->pass;
    struct reconciler *reconciler = pass->reconciler;
    const struct reconciler_options *options = reconciler->options;
    size_t outcome = add_outcome(settling, batch);
    size_t next = 0;
    bool recorded;

    if (settling->with_next) {
        next = claim_add(batch, settling->next_token, options->lease_duration_ms, options->max_attempts,
                         claim_search_start(&reconciler->search, clock_now_us()));
        settling->next_sent = true;
    }
    settling->settled->next_sent_ms = clock_now_ms();
    if (!pg_run(reconciler->connection, batch, &pass->watch, fault)) {
        settling->unknown = settling->unknown || pg_outcome_unknown(reconciler->connection);
        return ANSWER_FAULT;
    }
    link_up(reconciler);
    recorded = read_outcome(settling, pg_batch_result(batch, outcome));
    if (settling->with_next && !read_next(settling, pg_batch_result(batch, next), fault))
        return ANSWER_FAULT;
    return recorded ? ANSWER_RECORDED : ANSWER_REFUSED;
}

static enum answer send_once(struct settling *settling, struct fault *fault)
{
    struct pass *pass = settling->pass;
    struct pg_batch *batch;
    enum answer answer;

    if (clock_now_ms() >= pass->lease_end_ms) {
        (void)pass_lost(pass, "the lease ran out before the outcome was stored", fault);
        return ANSWER_FAULT;
    }
    if (!link_open(pass->reconciler, true, &pass->watch, fault))
        return ANSWER_FAULT;
    batch = pg_batch_new(pass->memory);
    answer = send_batch(settling, batch, fault);
    talloc_free(batch);
    link_drop(pass->reconciler, false);
    return answer;
}

/* ---- Reading back */

static bool find_fate(struct settling *settling, const struct watch *watch, enum outcome_fate *fate,
                      struct fault *fault)
{
    struct pass *pass = settling->pass;
    struct pg *connection = pass->reconciler->connection;
    int64_t sent_ms = clock_now_ms();
    int64_t lease_ms = 0;
    bool removed = false;

    if (settling->verdict.removes_agent &&
        !agent_removed_find(connection, pass->item.key, watch, &removed, fault))
        return false;
    if (removed) {
        settling->record.state = OUTCOME_SUCCEEDED;
        (void)text_copy(settling->record.code, sizeof settling->record.code, settling->verdict.code);
        *fate = FATE_DONE;
        return true;
    }
    if (!outcome_find(connection, &settling->outcome, watch, fate, &settling->record, &lease_ms, fault))
        return false;
    if (*fate == FATE_PENDING)
        pass->lease_end_ms = sent_ms + lease_ms;
    return true;
}

/* The next item may be ours although no answer said so: it was claimed in the transaction that is unknown. */
static bool find_next(struct settling *settling, const struct watch *watch, struct fault *fault)
{
    struct settled *settled = settling->settled;

    if (!settling->next_sent || settled->claimed)
        return true;
    settled->next_sent_ms = clock_now_ms();
    return claim_find(settling->pass->reconciler->connection, settling->next_memory, settling->next_token,
                      watch, &settled->next, &settled->claimed, fault);
}

/* Waits for the database as long as the host lets it: what happened is in the row, however long that takes.
 * False: the host said abort, or the database refuses to tell. */
static bool read_back(struct settling *settling, enum outcome_fate *fate, struct fault *fault)
{
    struct reconciler *reconciler = settling->pass->reconciler;
    struct watch watch = link_watch_abort(reconciler);
    struct fault why;

    for (;;) {
        if (link_open(reconciler, true, &watch, fault) && find_fate(settling, &watch, fate, fault) &&
            (*fate == FATE_PENDING || find_next(settling, &watch, fault))) {
            link_up(reconciler);
            return true;
        }
        why = *fault;
        if (why.class != FAULT_UNAVAILABLE && why.class != FAULT_RETRYABLE)
            return false;
        if (!link_back_off(reconciler, &why, &watch, fault))
            return false;
    }
}

/* ---- Telling */

static enum pass_outcome told(const struct settling *settling)
{
    switch (settling->record.state) {
    case OUTCOME_SUCCEEDED:
        return PASS_SUCCESS;
    case OUTCOME_FAILED:
        return PASS_PERMANENT;
    case OUTCOME_QUEUED:
    default:
        return settling->outcome.kind == OUTCOME_DEFER || settling->outcome.kind == OUTCOME_HOLD
                   ? PASS_PENDING
               : settling->outcome.kind == OUTCOME_HAND_BACK ? PASS_HANDED_BACK
                                                             : PASS_RETRY;
    }
}

static void tell(struct settling *settling, enum pass_outcome outcome, const char *code)
{
    settling->settled->outcome = outcome;
    (void)text_copy(settling->settled->code, sizeof settling->settled->code, code);
}

static void tell_recorded(struct settling *settling)
{
    /* A Namespace's row says RECONCILE_SUCCEEDED, and the report says what was reconciled. */
    bool own = text_equal(settling->record.code, "RECONCILE_SUCCEEDED");

    tell(settling, told(settling), own ? settling->verdict.code : settling->record.code);
}

/* ---- The loop */

/* After a read-back: true when there is nothing more to do. */
static bool end_by_fate(struct settling *settling)
{
    enum outcome_fate fate;
    struct fault fault;

    if (!read_back(settling, &fate, &fault)) {
        tell(settling, PASS_ERROR, fault.code);
        return true;
    }
    /* The claim of the next item does not travel again: the transaction that is unknown may still end. */
    settling->with_next = false;
    switch (fate) {
    case FATE_PENDING:
        return false;
    case FATE_DONE:
        tell_recorded(settling);
        return true;
    case FATE_LOST:
        tell(settling, PASS_CLAIM_LOST, "CLAIM_LOST");
        return true;
    case FATE_UNKNOWN:
    default:
        tell(settling, PASS_ERROR, "OUTCOME_UNKNOWN");
        return true;
    }
}

/* The database refuses what was asked, which no repetition changes: the attempt ends as a failure, so that
 * the item ends with its attempts. */
static bool replace(struct settling *settling, const struct fault *fault)
{
    struct verdict verdict = verdict_of(OUTCOME_RETRY, "OUTCOME_REFUSED");

    if (settling->replaced) {
        tell(settling, PASS_ERROR, fault->code);
        return true;
    }
    settling->replaced = true;
    settling->with_next = false;
    settling->pass->warnings = NULL; /* they may be why */
    (void)text_copy(verdict.dependency, sizeof verdict.dependency, fault->dependency);
    take_verdict(settling, &verdict);
    return false;
}

/* After an attempt that ended in a fault: true when there is nothing more to do. */
static bool end_by_fault(struct settling *settling, struct fault *fault)
{
    struct pass *pass = settling->pass;
    struct fault why = *fault;
    bool ready;

    if (settling->unknown)
        return end_by_fate(settling);
    switch (fault->class) {
    case FAULT_RETRYABLE:
        /* The other half of the transaction may be what met the conflict. */
        settling->with_next = false;
        if (++settling->conflicts < CONFLICTS_MOST)
            return false;
        tell(settling, PASS_ERROR, why.code);
        return true;
    case FAULT_UNAVAILABLE:
        pass->trouble = why;
        if (watch_wait(&pass->watch, NULL, 0, clock_now_ms() + AGAIN_MS, &ready, fault))
            return false;
        tell(settling, PASS_CLAIM_LOST, "CLAIM_LOST");
        return true;
    case FAULT_CLAIM_LOST:
        tell(settling, PASS_CLAIM_LOST, "CLAIM_LOST");
        return true;
    default:
        return replace(settling, fault);
    }
}

void settle(struct pass *pass, const struct verdict *verdict, const char *next_token, const void *next_memory,
            struct settled *settled)
{
    struct settling settling = {.pass = pass,
                                .next_token = next_token,
                                .next_memory = next_memory,
                                .with_next = next_token != NULL,
                                .settled = settled};
    struct fault fault;
    bool over = false;

    memset(settled, 0, sizeof *settled);
    take_verdict(&settling, verdict);
    if (verdict->lost) {
        tell(&settling, PASS_CLAIM_LOST, "CLAIM_LOST");
        return;
    }
    pass_set_mode(pass, PASS_COMMIT);
    while (!over) {
        enum answer answer = send_once(&settling, &fault);

        if (answer == ANSWER_RECORDED) {
            tell_recorded(&settling);
            over = true;
        } else if (answer == ANSWER_FAULT) {
            over = end_by_fault(&settling, &fault);
        } else if (settling.unknown) {
            /* Refused perhaps because the earlier attempt went through after all. */
            over = end_by_fate(&settling);
        } else {
            tell(&settling, PASS_CLAIM_LOST, "CLAIM_LOST");
            over = true;
        }
    }
}
