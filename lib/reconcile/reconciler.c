/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/pass.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define RACES_MOST 3

/* What the reconciler holds from one pass to the next. */
struct turn {
    struct reconciler *reconciler;
    void *memory; /* of the claim that is held or looked for */
    char token[UUID_SIZE];
    struct claim claim;
    int64_t sent_ms; /* the statement that confirmed the claim */
};

enum claimed { CLAIMED, CLAIMED_NONE, CLAIMED_NOT_YET, CLAIMED_STOPPED, CLAIMED_FATAL };

struct reconciler *reconciler_new(const void *context, const struct reconciler_options *options,
                                  const struct reconcile_host *host)
{
    struct reconciler *reconciler = mem_new(context, struct reconciler);

    reconciler->options = options;
    reconciler->host = host;
    return reconciler;
}

/* ---- Claiming by itself: at the start of a run, and after an outcome that took no claim along */

static void turn_begin(struct turn *turn)
{
    talloc_free(turn->memory);
    turn->memory = mem_context(turn->reconciler);
    uuid_new(turn->token);
}

/* Whether the claim that got no answer took place: its token is in a claimed row, or nowhere. */
static enum claimed claim_read_back(struct turn *turn, struct fault *fault)
{
    struct reconciler *reconciler = turn->reconciler;
    struct watch watch = link_watch_abort(reconciler);
    struct fault why;
    bool found;

    for (;;) {
        turn->sent_ms = clock_now_ms();
        if (link_open(reconciler, false, &watch, fault) &&
            claim_find(reconciler->connection, turn->memory, turn->token, &watch, &turn->claim, &found,
                       fault)) {
            link_up(reconciler);
            return found ? CLAIMED : CLAIMED_NOT_YET;
        }
        why = *fault;
        if (why.class == FAULT_CANCELLED)
            return CLAIMED_STOPPED;
        if (why.class != FAULT_UNAVAILABLE && why.class != FAULT_RETRYABLE)
            return CLAIMED_FATAL;
        if (!link_back_off(reconciler, &why, &watch, fault))
            return CLAIMED_STOPPED;
    }
}

static enum claimed claim_failed(struct turn *turn, bool unknown, struct fault *fault)
{
    struct watch watch = link_watch_finish(turn->reconciler);
    struct fault why = *fault;

    link_drop(turn->reconciler, false);
    switch (fault->class) {
    case FAULT_RETRYABLE:
        return CLAIMED_NOT_YET;
    case FAULT_CANCELLED:
        return CLAIMED_STOPPED;
    case FAULT_UNAVAILABLE:
        if (unknown)
            return claim_read_back(turn, fault);
        return link_back_off(turn->reconciler, &why, &watch, fault) ? CLAIMED_NOT_YET : CLAIMED_STOPPED;
    default:
        return CLAIMED_FATAL;
    }
}

static enum claimed claim_send(struct turn *turn, bool *raced, struct fault *fault)
{
    struct reconciler *reconciler = turn->reconciler;
    const struct reconciler_options *options = reconciler->options;
    struct watch watch = link_watch_abort(reconciler);
    struct pg_batch *batch = pg_batch_new(turn->memory);
    size_t index = claim_add(batch, turn->token, options->lease_duration_ms, options->max_attempts,
                             claim_search_start(&reconciler->search, clock_now_us()));
    bool found;

    turn->sent_ms = clock_now_ms();
    if (!pg_run(reconciler->connection, batch, &watch, fault)) {
        *raced = fault->class == FAULT_RETRYABLE;
        return claim_failed(turn, pg_outcome_unknown(reconciler->connection), fault);
    }
    link_up(reconciler);
    if (!claim_read(pg_batch_result(batch, index), turn->memory, &turn->claim, &found, fault))
        return CLAIMED_FATAL;
    if (!claim_search_end(&reconciler->search, found ? &turn->claim : NULL, clock_now_us()))
        return CLAIMED_NOT_YET;
    return found ? CLAIMED : CLAIMED_NONE;
}

/* 23505, 40001 and 40P01 are races: again at once, a few times, and then it is somebody else's turn. */
static enum claimed claim_alone(struct turn *turn, struct fault *fault)
{
    const struct reconcile_host *host = turn->reconciler->host;
    struct watch watch = link_watch_finish(turn->reconciler);
    enum claimed claimed = CLAIMED_NOT_YET;
    unsigned races = 0;

    while (claimed == CLAIMED_NOT_YET && races < RACES_MOST) {
        bool raced = false;

        if (link_order(turn->reconciler) != HOST_CONTINUE)
            return CLAIMED_STOPPED;
        if (!link_open(turn->reconciler, false, &watch, fault)) {
            claimed = claim_failed(turn, false, fault);
            continue;
        }
        turn_begin(turn);
        if (!host->token(host->subject, turn->token))
            return CLAIMED_STOPPED;
        claimed = claim_send(turn, &raced, fault);
        races += raced;
    }
    return claimed == CLAIMED_NOT_YET ? CLAIMED_NONE : claimed;
}

/* ---- One pass */

static struct verdict carry_out(struct pass *pass)
{
    switch (pass->item.kind) {
    case WORK_NAMESPACE_ENSURE:
    case WORK_NAMESPACE_DELETE:
        return namespace_pass(pass);
    case WORK_AGENT_STOP:
        return agent_stop_pass(pass);
    case WORK_AGENT_DELETE:
        return agent_delete_pass(pass);
    case WORK_AGENT_REVISION:
    default:
        return revision_pass(pass);
    }
}

static void make_report(const struct pass *pass, const struct verdict *verdict, const struct settled *settled,
                        struct pass_report *report)
{
    const struct work_item *item = &pass->item;
    bool troubled = !verdict->dependency[0] && pass->trouble.class != FAULT_NONE;

    memset(report, 0, sizeof *report);
    (void)text_copy(report->token, sizeof report->token, pass->token);
    (void)text_copy(report->key, sizeof report->key, item->key);
    (void)text_copy(report->namespace_id, sizeof report->namespace_id, item->namespace_id);
    (void)text_copy(report->agent_id, sizeof report->agent_id, item->agent_id);
    (void)text_copy(report->revision_id, sizeof report->revision_id, item->revision_id);
    (void)text_copy(report->code, sizeof report->code, settled->code);
    (void)text_copy(report->dependency, sizeof report->dependency,
                    troubled ? pass->trouble.dependency : verdict->dependency);
    (void)text_copy(report->cause, sizeof report->cause, troubled ? pass->trouble.cause : verdict->cause);
    report->kind = item->kind;
    report->outcome = settled->outcome;
    report->attempt = item->attempt;
    pass_tell_times(pass, report);
}

/* The one place where a lost claim is told, once a claim (K15). */
static void say_lost(const struct pass_report *report)
{
    log_event(LOG_ERROR, "worker.error", log_text("code", "CLAIM_LOST"),
              log_text("namespaceId", report->namespace_id), log_text("agentId", report->agent_id),
              log_text("revisionId", report->revision_id), log_text("workId", report->key),
              log_text("operation", work_kind_operation(report->kind)),
              log_number("attempt", report->attempt), log_text("dependency", report->dependency),
              log_text("cause", report->cause));
}

static bool may_claim_next(const struct turn *turn, uint64_t passes, uint64_t pass_limit)
{
    return passes + 1 < pass_limit && link_order(turn->reconciler) == HOST_CONTINUE;
}

/* Carries out the claim that is held. On return `turn` holds the next one, if *held. False: the host is gone.
 */
static bool pass_once(struct turn *turn, uint64_t pass_limit, uint64_t *passes, bool *held, bool *idle)
{
    const struct reconcile_host *host = turn->reconciler->host;
    struct turn next = {.reconciler = turn->reconciler};
    struct pass_report report;
    struct settled settled;
    struct verdict verdict;
    struct pass pass;
    bool wants_next;
    bool there;

    pass_begin(&pass, turn->reconciler, turn->memory, turn->token, &turn->claim, turn->sent_ms);
    there = host->claimed(host->subject, turn->token, &pass.item);
    verdict = there ? carry_out(&pass) : verdict_of(OUTCOME_HAND_BACK, "WORKER_DRAINING");
    wants_next = there && !verdict.lost && may_claim_next(turn, *passes, pass_limit);
    turn_begin(&next);
    wants_next = wants_next && host->token(host->subject, next.token);
    settle(&pass, &verdict, wants_next ? next.token : NULL, next.memory, &settled);
    make_report(&pass, &verdict, &settled, &report);
    if (settled.outcome == PASS_CLAIM_LOST)
        say_lost(&report);
    there = there && host->report(host->subject, &report);
    ++*passes;
    *held = settled.claimed;
    *idle = settled.searched && settled.exhaustive && !settled.claimed;
    talloc_free(turn->memory);
    *turn = next;
    turn->claim = settled.next;
    turn->sent_ms = settled.next_sent_ms;
    /* A claim that came along is carried out even so: its pass hears the host, and hands it back. */
    return there || *held;
}

/* ---- The run */

static bool rests(struct turn *turn, uint64_t pass_limit, uint64_t passes, enum reconciler_rest *rest)
{
    if (link_order(turn->reconciler) != HOST_CONTINUE)
        *rest = RECONCILER_STOPPED;
    else if (passes >= pass_limit)
        *rest = RECONCILER_LIMIT;
    else
        return false;
    return true;
}

static bool run(struct turn *turn, uint64_t pass_limit, uint64_t *passes, enum reconciler_rest *rest,
                struct fault *fault)
{
    bool held;
    bool idle;

    while (!rests(turn, pass_limit, *passes, rest)) {
        enum claimed claimed = claim_alone(turn, fault);

        if (claimed == CLAIMED_FATAL)
            return false;
        held = claimed == CLAIMED;
        idle = claimed == CLAIMED_NONE;
        *rest = claimed == CLAIMED_STOPPED ? RECONCILER_STOPPED : RECONCILER_IDLE;
        if (claimed == CLAIMED_STOPPED)
            return true;
        while (held) {
            if (!pass_once(turn, pass_limit, passes, &held, &idle)) {
                *rest = RECONCILER_STOPPED;
                return true;
            }
        }
        if (idle && !rests(turn, pass_limit, *passes, rest))
            return true;
    }
    return true;
}

bool reconciler_run(struct reconciler *reconciler, uint64_t pass_limit, uint64_t *passes,
                    enum reconciler_rest *rest, struct fault *fault)
{
    struct turn turn = {.reconciler = reconciler};
    bool ran = run(&turn, pass_limit, passes, rest, fault);

    talloc_free(turn.memory);
    return ran;
}
