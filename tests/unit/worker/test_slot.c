/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/slot.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <signal.h>

#define T0 100000

static struct slot live_slot(enum role role)
{
    struct slot slot;

    slot_init(&slot, role, 1, T0);
    slot_started(&slot, 4711, 9, 1, T0);
    return slot;
}

static void hear_type(struct slot *slot, enum message_type type, int64_t now_ms)
{
    const struct message message = message_new(type);

    slot_heard(slot, &message, now_ms);
}

static void hear_token(struct slot *slot, const char *token, int64_t now_ms)
{
    struct message message = message_new(MESSAGE_TOKEN);

    (void)text_copy(message.body.token.token, UUID_SIZE, token);
    slot_heard(slot, &message, now_ms);
}

static void hear_claimed(struct slot *slot, const char *token, int64_t now_ms)
{
    struct message message = message_new(MESSAGE_CLAIMED);

    (void)text_copy(message.body.claimed.token, UUID_SIZE, token);
    (void)text_copy(message.body.claimed.key, PASS_KEY_SIZE, "namespace:ns_1:reconcile:ready");
    slot_heard(slot, &message, now_ms);
}

static void hear_report(struct slot *slot, const char *token, int64_t now_ms)
{
    struct message message = message_new(MESSAGE_REPORT);

    (void)text_copy(message.body.report.token, UUID_SIZE, token);
    slot_heard(slot, &message, now_ms);
}

static void a_reconciler_goes_its_way(void **state)
{
    struct slot slot = live_slot(ROLE_RECONCILER);

    (void)state;
    assert_int_equal(slot.state, SLOT_STARTING);
    assert_string_equal(slot_doing(&slot), "starting");
    hear_type(&slot, MESSAGE_HELLO, T0 + 5);
    assert_int_equal(slot.state, SLOT_STARTING);
    hear_type(&slot, MESSAGE_IDLE, T0 + 6);
    assert_int_equal(slot.state, SLOT_IDLE);
    assert_string_equal(slot_doing(&slot), "idle");
    slot_become(&slot, SLOT_WORKING, T0 + 7);
    hear_token(&slot, "one", T0 + 8);
    assert_string_equal(slot_doing(&slot), "claiming");
    hear_claimed(&slot, "one", T0 + 9);
    assert_string_equal(slot_doing(&slot), "namespace.ensure");
    hear_report(&slot, "one", T0 + 10);
    hear_type(&slot, MESSAGE_IDLE, T0 + 11);
    assert_int_equal(slot.state, SLOT_IDLE);
    assert_string_equal(slot.current.item.token, "");
}

static void a_dispatcher_works_from_its_first_word(void **state)
{
    struct slot slot = live_slot(ROLE_DISPATCHER);

    (void)state;
    hear_type(&slot, MESSAGE_HELLO, T0 + 5);
    assert_int_equal(slot.state, SLOT_WORKING);
    assert_string_equal(slot_doing(&slot), "dispatcher");
}

/* An order to leave is not undone by a message that was on its way. */
static void idle_does_not_undo_an_order(void **state)
{
    struct slot slot = live_slot(ROLE_RECONCILER);

    (void)state;
    hear_type(&slot, MESSAGE_HELLO, T0);
    slot_become(&slot, SLOT_FINISHING, T0 + 1);
    hear_type(&slot, MESSAGE_IDLE, T0 + 2);
    assert_int_equal(slot.state, SLOT_FINISHING);
}

static void states_follow_the_table(void **state)
{
    static const enum slot_state ends[] = {SLOT_EMPTY, SLOT_WAITING, SLOT_CLOSED};
    enum slot_state from;
    size_t index;

    (void)state;
    for (from = SLOT_STARTING; from <= SLOT_KILLED; from++) {
        for (index = 0; index < COUNT_OF(ends); index++)
            assert_true(slot_may_become(from, ends[index]));
    }
    assert_false(slot_may_become(SLOT_KILLED, SLOT_IDLE));
    assert_false(slot_may_become(SLOT_KILLED, SLOT_KILLED));
    assert_false(slot_may_become(SLOT_ABORTING, SLOT_FINISHING));
    assert_false(slot_may_become(SLOT_CLOSED, SLOT_STARTING));
    assert_false(slot_may_become(SLOT_EMPTY, SLOT_IDLE));
    /* K56: a failed fork leaves no state of a child. */
    assert_true(slot_may_become(SLOT_EMPTY, SLOT_WAITING));
    assert_true(slot_may_become(SLOT_WAITING, SLOT_WAITING));
}

/* While one outcome and the next claim travel together, both tokens are at stake. */
static void both_tokens_are_handed_back(void **state)
{
    struct slot slot = live_slot(ROLE_RECONCILER);
    struct slot_end end;

    (void)state;
    hear_type(&slot, MESSAGE_IDLE, T0);
    slot_become(&slot, SLOT_WORKING, T0);
    hear_token(&slot, "one", T0);
    hear_claimed(&slot, "one", T0);
    hear_token(&slot, "two", T0 + 3);
    end = slot_judge(&slot, true, SIGKILL, T0 + 5000);
    assert_int_equal(end.token_count, 2);
    assert_string_equal(end.tokens[0], "one");
    assert_string_equal(end.tokens[1], "two");
    assert_string_equal(end.release_code, "WORKER_CRASHED");
    assert_int_equal(end.next, SLOT_RETRY);

    hear_report(&slot, "one", T0 + 6);
    end = slot_judge(&slot, true, SIGKILL, T0 + 5000);
    assert_int_equal(end.token_count, 1);
    assert_string_equal(end.tokens[0], "two");

    hear_claimed(&slot, "two", T0 + 7);
    end = slot_judge(&slot, true, SIGKILL, T0 + 5000);
    assert_int_equal(end.token_count, 1);
    hear_report(&slot, "two", T0 + 8);
    end = slot_judge(&slot, true, SIGKILL, T0 + 5000);
    assert_int_equal(end.token_count, 0);
    assert_null(end.release_code);
}

static void exit_statuses_are_a_contract(void **state)
{
    struct slot slot = live_slot(ROLE_RECONCILER);

    (void)state;
    assert_int_equal(slot_judge(&slot, false, 0, T0 + 5000).next, SLOT_REPLACE);
    assert_int_equal(slot_judge(&slot, false, 75, T0 + 5000).next, SLOT_RETRY);
    assert_int_equal(slot_judge(&slot, false, 69, T0 + 5000).next, SLOT_RETRY);
    assert_int_equal(slot_judge(&slot, false, 70, T0 + 5000).next, SLOT_RETRY);
    assert_int_equal(slot_judge(&slot, false, 127, T0 + 5000).next, SLOT_RETRY);
    assert_int_equal(slot_judge(&slot, false, 78, T0 + 5000).next, SLOT_GIVE_UP);
    assert_int_equal(slot_judge(&slot, true, 78, T0 + 5000).next, SLOT_RETRY);
    /* K51: leaving well at once and for ever is a loop, too. */
    assert_int_equal(slot_judge(&slot, false, 0, T0 + 10).next, SLOT_RETRY);
    slot_become(&slot, SLOT_FINISHING, T0 + 5);
    assert_int_equal(slot_judge(&slot, false, 0, T0 + 10).next, SLOT_REPLACE);
}

/* K39 */
static void a_pass_without_a_sign_hangs_before_its_lease_runs_out(void **state)
{
    const struct slot_limits limits = slot_limits_for(5000, 60000);
    struct slot slot = live_slot(ROLE_RECONCILER);
    struct message beacon = message_new(MESSAGE_BEACON);

    (void)state;
    assert_int_equal(slot_hung_at_ms(&slot, &limits), T0 + 30000);
    hear_type(&slot, MESSAGE_IDLE, T0);
    assert_int_equal(slot_hung_at_ms(&slot, &limits), CLOCK_NEVER);
    slot_become(&slot, SLOT_WORKING, T0);
    hear_token(&slot, "one", T0);
    assert_int_equal(slot_hung_at_ms(&slot, &limits), T0 + 90000);
    hear_claimed(&slot, "one", T0);
    assert_in_range(slot_hung_at_ms(&slot, &limits), T0 + 5000 * 2 / 3, T0 + 4999);
    /* Signs of life alone do not do for ever: the lease must be confirmed. */
    slot_heard(&slot, &beacon, T0 + 129000);
    assert_int_equal(slot_hung_at_ms(&slot, &limits), T0 + 130000);
    beacon.body.beacon.confirmed = 1;
    slot_heard(&slot, &beacon, T0 + 129000);
    assert_int_equal(slot_hung_at_ms(&slot, &limits), T0 + 133000);
}

/* The worker ends only when nothing of a kind can live: what failed once and is well now can. */
static void hope_is_lost_at_the_longest_delay(void **state)
{
    struct slot slot = live_slot(ROLE_RECONCILER);
    int index;

    (void)state;
    for (index = 0; index < 20; index++) {
        assert_true(slot_is_hopeless(&slot, T0 + 1) == (index >= 10));
        (void)backoff_failed(&slot.backoff, 10);
    }
    assert_false(slot_is_hopeless(&slot, T0 + 60000));
    slot_become(&slot, SLOT_WAITING, T0 + 60001);
    assert_true(slot_is_hopeless(&slot, T0 + 60001));
    backoff_reset(&slot.backoff);
    assert_false(slot_is_hopeless(&slot, T0 + 60001));
}

static void a_silent_dispatcher_hangs(void **state)
{
    const struct slot_limits limits = slot_limits_for(5000, 60000);
    struct slot slot = live_slot(ROLE_DISPATCHER);

    (void)state;
    hear_type(&slot, MESSAGE_HELLO, T0);
    assert_int_equal(slot_hung_at_ms(&slot, &limits), T0 + 12000);
    hear_type(&slot, MESSAGE_BEACON, T0 + 3000);
    assert_int_equal(slot_hung_at_ms(&slot, &limits), T0 + 15000);
}

static void a_hung_pass_is_told_as_such(void **state)
{
    struct slot slot = live_slot(ROLE_RECONCILER);
    struct slot_end end;

    (void)state;
    hear_type(&slot, MESSAGE_IDLE, T0);
    slot_become(&slot, SLOT_WORKING, T0);
    hear_token(&slot, "one", T0);
    hear_claimed(&slot, "one", T0);
    slot.kill_reason = "WORKER_HUNG";
    slot_become(&slot, SLOT_KILLED, T0 + 4000);
    end = slot_judge(&slot, true, SIGKILL, T0 + 4001);
    assert_string_equal(end.release_code, "WORKER_HUNG");
}

/* Who left in order, without its database, does not know whether it has the claim. */
static void an_announced_claim_is_handed_back_after_a_clean_exit(void **state)
{
    struct slot slot = live_slot(ROLE_RECONCILER);
    struct slot_end end;

    (void)state;
    hear_type(&slot, MESSAGE_IDLE, T0);
    slot_become(&slot, SLOT_WORKING, T0);
    hear_token(&slot, "one", T0);
    slot_become(&slot, SLOT_ABORTING, T0 + 1);
    end = slot_judge(&slot, false, 0, T0 + 2);
    assert_int_equal(end.next, SLOT_REPLACE);
    assert_int_equal(end.token_count, 1);
    assert_string_equal(end.release_code, "WORKER_DRAINING");
}

/* A Driver that calls exit() neither ends the worker nor gets its attempt back. */
static void a_clean_exit_within_a_pass_is_a_crash(void **state)
{
    static const int statuses[] = {0, 78};
    struct slot slot = live_slot(ROLE_RECONCILER);
    struct slot_end end;
    size_t index;

    (void)state;
    hear_type(&slot, MESSAGE_IDLE, T0);
    slot_become(&slot, SLOT_WORKING, T0);
    hear_token(&slot, "one", T0);
    hear_claimed(&slot, "one", T0);
    for (index = 0; index < COUNT_OF(statuses); index++) {
        end = slot_judge(&slot, false, statuses[index], T0 + 5000);
        assert_int_equal(end.next, SLOT_RETRY);
        assert_string_equal(end.release_code, "WORKER_CRASHED");
    }
    slot_become(&slot, SLOT_ABORTING, T0 + 1);
    end = slot_judge(&slot, false, 0, T0 + 5000);
    assert_int_equal(end.next, SLOT_REPLACE);
    assert_string_equal(end.release_code, "WORKER_DRAINING");
}

static void a_closed_channel_must_be_followed_by_the_end(void **state)
{
    const struct slot_limits limits = slot_limits_for(5000, 60000);
    struct slot slot = live_slot(ROLE_RECONCILER);

    (void)state;
    hear_type(&slot, MESSAGE_IDLE, T0);
    slot.channel = -1;
    assert_int_equal(slot_hung_at_ms(&slot, &limits), T0 + 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reconciler_goes_its_way),
        cmocka_unit_test(a_dispatcher_works_from_its_first_word),
        cmocka_unit_test(idle_does_not_undo_an_order),
        cmocka_unit_test(states_follow_the_table),
        cmocka_unit_test(both_tokens_are_handed_back),
        cmocka_unit_test(exit_statuses_are_a_contract),
        cmocka_unit_test(a_pass_without_a_sign_hangs_before_its_lease_runs_out),
        cmocka_unit_test(hope_is_lost_at_the_longest_delay),
        cmocka_unit_test(a_silent_dispatcher_hangs),
        cmocka_unit_test(a_hung_pass_is_told_as_such),
        cmocka_unit_test(an_announced_claim_is_handed_back_after_a_clean_exit),
        cmocka_unit_test(a_clean_exit_within_a_pass_is_a_crash),
        cmocka_unit_test(a_closed_channel_must_be_followed_by_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
