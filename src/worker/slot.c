/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/slot.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

#define SHORTEST_LIFE_MS 1000
#define CLOSED_CHANNEL_MS 2000

#define EXIT_DEPENDENCY 69
#define EXIT_AGAIN 75
#define EXIT_CONFIGURATION 78

static const char *const state_names[] = {
    [SLOT_EMPTY] = "empty",       [SLOT_WAITING] = "waiting", [SLOT_STARTING] = "starting",
    [SLOT_IDLE] = "idle",         [SLOT_WORKING] = "working", [SLOT_FINISHING] = "finishing",
    [SLOT_ABORTING] = "aborting", [SLOT_KILLED] = "killed",   [SLOT_CLOSED] = "closed",
};

#define TO(state) (1u << (state))
#define TO_ENDS (TO(SLOT_EMPTY) | TO(SLOT_WAITING) | TO(SLOT_CLOSED))

static const unsigned changes[] = {
    [SLOT_EMPTY] = TO(SLOT_STARTING) | TO(SLOT_WAITING) | TO(SLOT_CLOSED),
    [SLOT_WAITING] = TO(SLOT_STARTING) | TO(SLOT_WAITING) | TO(SLOT_EMPTY) | TO(SLOT_CLOSED),
    [SLOT_STARTING] =
        TO(SLOT_IDLE) | TO(SLOT_WORKING) | TO(SLOT_FINISHING) | TO(SLOT_ABORTING) | TO(SLOT_KILLED) | TO_ENDS,
    [SLOT_IDLE] = TO(SLOT_WORKING) | TO(SLOT_FINISHING) | TO(SLOT_ABORTING) | TO(SLOT_KILLED) | TO_ENDS,
    [SLOT_WORKING] = TO(SLOT_IDLE) | TO(SLOT_FINISHING) | TO(SLOT_ABORTING) | TO(SLOT_KILLED) | TO_ENDS,
    [SLOT_FINISHING] = TO(SLOT_ABORTING) | TO(SLOT_KILLED) | TO_ENDS,
    [SLOT_ABORTING] = TO(SLOT_KILLED) | TO_ENDS,
    [SLOT_KILLED] = TO_ENDS,
    [SLOT_CLOSED] = 0,
};

const char *slot_state_name(enum slot_state state)
{
    return state < COUNT_OF(state_names) ? state_names[state] : "unknown";
}

void slot_init(struct slot *slot, enum role role, unsigned number, int64_t now_ms)
{
    *slot = (struct slot){.role = role, .number = number, .state = SLOT_EMPTY, .since_ms = now_ms};
    slot->backoff = backoff_for_children();
    slot->channel = -1;
}

bool slot_may_become(enum slot_state from, enum slot_state to)
{
    return (changes[from] & TO(to)) != 0;
}

void slot_become(struct slot *slot, enum slot_state state, int64_t now_ms)
{
    enum log_severity severity = slot_may_become(slot->state, state) ? LOG_DEBUG : LOG_ERROR;

    if (slot->state == state && severity == LOG_ERROR)
        return;
    log_event(severity, "worker.child-state", log_text("role", role_name(slot->role)),
              log_number("slot", slot->number), log_text("from", slot_state_name(slot->state)),
              log_text("to", slot_state_name(state)), log_number("heldMs", now_ms - slot->since_ms));
    slot->state = state;
    slot->since_ms = now_ms;
}

bool slot_is_live(const struct slot *slot)
{
    return slot->state >= SLOT_STARTING && slot->state <= SLOT_KILLED;
}

void slot_started(struct slot *slot, pid_t pid, int channel, unsigned generation, int64_t now_ms)
{
    slot->pid = pid;
    slot->channel = channel;
    slot->generation = generation;
    slot->started_ms = slot->heard_ms = now_ms;
    slot_become(slot, SLOT_STARTING, now_ms);
}

static void forget_claims(struct slot *slot)
{
    slot->current = slot->next = (struct slot_claim){.claimed = false};
}

static void heard_token(struct slot *slot, const char *token, int64_t now_ms)
{
    struct slot_claim *claim = slot->current.claimed ? &slot->next : &slot->current;

    *claim = (struct slot_claim){.since_ms = now_ms};
    (void)text_copy(claim->item.token, sizeof claim->item.token, token);
}

static void heard_claimed(struct slot *slot, const struct message_claimed *item, int64_t now_ms)
{
    /* A claim of the next item tells that the outcome before it was committed, too. */
    slot->current = (struct slot_claim){.item = *item, .claimed = true, .since_ms = now_ms};
    if (text_equal(slot->next.item.token, item->token))
        slot->next = (struct slot_claim){.claimed = false};
    slot->confirmed_ms = now_ms;
}

static void heard_report(struct slot *slot, const struct pass_report *report)
{
    if (text_equal(slot->current.item.token, report->token)) {
        slot->current = slot->next;
        slot->next = (struct slot_claim){.claimed = false};
    }
}

void slot_heard(struct slot *slot, const struct message *message, int64_t now_ms)
{
    slot->heard_ms = now_ms;
    switch ((enum message_type)message->type) {
    case MESSAGE_HELLO:
        slot->greeted = true;
        if (slot->role != ROLE_RECONCILER && slot->state == SLOT_STARTING)
            slot_become(slot, SLOT_WORKING, now_ms);
        break;
    case MESSAGE_FAULT:
        slot->fault = message->body.fault;
        break;
    case MESSAGE_BEACON:
        if (message->body.beacon.confirmed)
            slot->confirmed_ms = now_ms;
        break;
    case MESSAGE_IDLE:
        forget_claims(slot);
        if (slot->state == SLOT_STARTING || slot->state == SLOT_WORKING)
            slot_become(slot, SLOT_IDLE, now_ms);
        break;
    case MESSAGE_TOKEN:
        heard_token(slot, message->body.token.token, now_ms);
        break;
    case MESSAGE_CLAIMED:
        heard_claimed(slot, &message->body.claimed, now_ms);
        break;
    case MESSAGE_REPORT:
        heard_report(slot, &message->body.report);
        break;
    default:
        break;
    }
}

const char *slot_doing(const struct slot *slot)
{
    if (slot->role != ROLE_RECONCILER)
        return slot->greeted ? role_name(slot->role) : "starting";
    if (slot->current.claimed)
        return work_kind_operation((enum work_kind)slot->current.item.kind);
    if (slot->current.item.token[0])
        return "claiming";
    if (!slot->greeted)
        return "starting";
    return slot->state == SLOT_WORKING ? "working" : "idle";
}

struct slot_limits slot_limits_for(int64_t lease_ms, int64_t database_timeout_ms)
{
    return (struct slot_limits){
        .start_ms = 30000,
        /* Two renewals missed, and a rest in which the claim is taken back. A very short lease must not make
         * a busy machine look hung. */
        .pass_ms = lease_ms * 4 / 5 > 500 ? lease_ms * 4 / 5 : 500,
        .claim_ms = 2 * lease_ms + 2 * database_timeout_ms,
        .rest_ms = database_timeout_ms + 30000,
        .dispatcher_ms = 12000,
    };
}

int64_t slot_hung_at_ms(const struct slot *slot, const struct slot_limits *limits)
{
    int64_t silent, unconfirmed;

    if (slot->state == SLOT_STARTING)
        return slot->started_ms + limits->start_ms;
    if ((slot->state == SLOT_IDLE && slot->channel >= 0) || slot->state == SLOT_KILLED || !slot_is_live(slot))
        return CLOCK_NEVER;
    /* It closed its channel: it should have ended by now. */
    if (slot->channel < 0)
        return slot->heard_ms + CLOSED_CHANNEL_MS;
    if (slot->role == ROLE_DISPATCHER)
        return slot->heard_ms + limits->dispatcher_ms;
    if (!slot->current.claimed)
        return slot->heard_ms + limits->rest_ms;
    silent = slot->heard_ms + limits->pass_ms;
    unconfirmed = slot->confirmed_ms + limits->claim_ms;
    return silent < unconfirmed ? silent : unconfirmed;
}

bool slot_is_hopeless(const struct slot *slot, int64_t now_ms)
{
    return backoff_is_exhausted(&slot->backoff) &&
           !(slot_is_live(slot) && now_ms - slot->started_ms >= slot->backoff.healthy_ms);
}

/* It ended within a pass, and nobody had told it to: whatever its status says, that is no child's own
 * decision but a call of exit() in a Driver. */
static bool is_cut_off(const struct slot *slot, bool told_to_leave)
{
    return slot->current.claimed && !told_to_leave;
}

static void judge_claims(const struct slot *slot, bool told_to_leave, struct slot_end *end)
{
    const struct slot_claim *const claims[] = {&slot->current, &slot->next};
    size_t index;

    /* Also those that were announced and perhaps not had: to hand back what is not there does nothing. */
    for (index = 0; index < COUNT_OF(claims); index++) {
        if (claims[index]->item.token[0])
            end->tokens[end->token_count++] = claims[index]->item.token;
    }
    if (!end->token_count)
        return;
    if (text_equal(slot->kill_reason, "WORKER_HUNG"))
        end->release_code = "WORKER_HUNG";
    else
        end->release_code = !end->by_signal && end->number == 0 && !is_cut_off(slot, told_to_leave)
                                ? "WORKER_DRAINING"
                                : "WORKER_CRASHED";
}

struct slot_end slot_judge(const struct slot *slot, bool by_signal, int number, int64_t now_ms)
{
    struct slot_end end = {.next = SLOT_RETRY, .by_signal = by_signal, .number = number};
    bool told_to_leave = slot->state == SLOT_FINISHING || slot->state == SLOT_ABORTING;

    if (by_signal || is_cut_off(slot, told_to_leave))
        end.next = SLOT_RETRY;
    else if (number == EXIT_CONFIGURATION)
        end.next = SLOT_GIVE_UP;
    else if (number == 0 && (told_to_leave || now_ms - slot->started_ms >= SHORTEST_LIFE_MS))
        end.next = SLOT_REPLACE;
    judge_claims(slot, told_to_leave, &end);
    return end;
}

void slot_vacate(struct slot *slot)
{
    slot->pid = 0;
    slot->channel = -1;
    slot->channel_source = slot->child_source = NULL;
    slot->greeted = slot->was_idle = false;
    slot->kill_reason = NULL;
    slot->fault = (struct message_fault){.class = FAULT_NONE};
    forget_claims(slot);
}
