/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/channel.h"

#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct pair {
    int ours, theirs;
};

static int open_pair(void **state)
{
    struct pair *pair = test_malloc(sizeof *pair);

    *state = pair;
    return channel_pair(&pair->ours, &pair->theirs) ? 0 : -1;
}

static int close_pair(void **state)
{
    struct pair *pair = *state;

    (void)close(pair->ours);
    (void)close(pair->theirs);
    test_free(pair);
    return 0;
}

static struct message token_message(const char *token)
{
    struct message message = message_new(MESSAGE_TOKEN);

    (void)text_copy(message.body.token.token, sizeof message.body.token.token, token);
    return message;
}

static void every_message_has_a_size_within_the_limit(void **state)
{
    unsigned type;

    (void)state;
    assert_int_equal(message_size(0), 0);
    assert_int_equal(message_size(MESSAGE_TYPES), 0);
    assert_int_equal(message_size(65535), 0);
    for (type = 1; type < MESSAGE_TYPES; type++) {
        assert_in_range(message_size(type), 8, MESSAGE_LIMIT);
        assert_string_not_equal(message_name(type), "unknown");
    }
}

static void a_message_arrives_as_it_was_sent(void **state)
{
    struct pair *pair = *state;
    struct message sent = token_message("abc"), got;

    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_LATER);
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_DONE);
    assert_int_equal(got.type, MESSAGE_TOKEN);
    assert_string_equal(got.body.token.token, "abc");
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_LATER);
}

static void a_message_is_wrong_from_another_role(void **state)
{
    struct pair *pair = *state;
    struct message sent = token_message("abc"), got;

    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_DISPATCHER, &got), CHANNEL_WRONG);
    sent = message_new(MESSAGE_GO);
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
}

/* Whatever a child that went mad writes: it is wrong, and nothing else happens. */
static void garbage_is_wrong(void **state)
{
    struct pair *pair = *state;
    unsigned char bytes[2 * MESSAGE_LIMIT];
    struct message got, sent;
    size_t length;
    unsigned seed = 1, round;

    for (round = 0; round < 2000; round++) {
        length = 1 + (seed = seed * 1103515245U + 12345U) / 65536U % sizeof bytes;
        memset(bytes, (int)(round & 0xff), length);
        assert_int_equal(send(pair->theirs, bytes, length, 0), length);
        assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
    }
    /* A known type of another length, shorter and longer, and one that lies about its size. */
    sent = message_new(MESSAGE_REPORT);
    assert_true(send(pair->theirs, &sent, (size_t)sent.size - 1, 0) > 0);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
    assert_true(send(pair->theirs, &sent, sizeof sent, 0) > 0);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got),
                     sent.size == sizeof sent ? CHANNEL_DONE : CHANNEL_WRONG);
    sent.size--;
    assert_true(send(pair->theirs, &sent, message_size(MESSAGE_REPORT), 0) > 0);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
}

static void a_longer_packet_is_wrong_and_does_not_hide_the_next(void **state)
{
    struct pair *pair = *state;
    struct message sent = message_new(MESSAGE_IDLE), got;
    char bytes[sizeof sent + 1] = {0};

    memcpy(bytes, &sent, sizeof sent);
    assert_true(send(pair->theirs, bytes, sizeof bytes, 0) > 0);
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_DONE);
}

static void enumerations_and_texts_are_checked(void **state)
{
    struct pair *pair = *state;
    struct message sent = message_new(MESSAGE_REPORT), got;

    sent.body.report.kind = (enum work_kind)99;
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
    sent = message_new(MESSAGE_REPORT);
    sent.body.report.outcome = (enum pass_outcome)99;
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
    sent = message_new(MESSAGE_REPORT);
    sent.body.report.deployment = 2;
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
    sent = message_new(MESSAGE_REPORT);
    sent.body.report.ready_ms = -1;
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_WRONG);
    sent = message_new(MESSAGE_REPORT);
    memset(sent.body.report.key, 'k', sizeof sent.body.report.key);
    memset(sent.body.report.code, 'c', sizeof sent.body.report.code);
    assert_int_equal(channel_send(pair->theirs, &sent), CHANNEL_DONE);
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_DONE);
    assert_int_equal(strlen(got.body.report.key), sizeof got.body.report.key - 1);
    assert_int_equal(strlen(got.body.report.code), sizeof got.body.report.code - 1);
}

/* The other side closes with a message unread: what it said before still arrives, then the end. */
static void a_reset_is_not_the_end(void **state)
{
    struct pair *pair = *state;
    struct message go = message_new(MESSAGE_GO), said = token_message("last"), got;

    assert_int_equal(channel_send(pair->ours, &go), CHANNEL_DONE);
    assert_int_equal(channel_send(pair->theirs, &said), CHANNEL_DONE);
    (void)close(pair->theirs);
    pair->theirs = -1;
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_DONE);
    assert_string_equal(got.body.token.token, "last");
    assert_int_equal(channel_receive(pair->ours, ROLE_RECONCILER, &got), CHANNEL_END);
    assert_int_equal(channel_send(pair->ours, &go), CHANNEL_END);
}

static void a_full_channel_never_blocks(void **state)
{
    struct pair *pair = *state;
    struct message go = message_new(MESSAGE_GO), got;
    enum channel_result result;
    unsigned sent = 0;

    while ((result = channel_send(pair->ours, &go)) == CHANNEL_DONE)
        assert_true(++sent < 100000);
    assert_int_equal(result, CHANNEL_LATER);
    /* Room for what a child is told in its whole life. */
    assert_true(sent > 50);
    while (channel_receive(pair->theirs, ROLE_SUPERVISOR, &got) == CHANNEL_DONE)
        sent--;
    assert_int_equal(sent, 0);
}

/* A child waits for room, and learns of the supervisor's end while it waits. */
static void waiting_for_room_ends_with_the_other_side(void **state)
{
    struct pair *pair = *state;
    struct message said = message_new(MESSAGE_IDLE);
    int status;
    pid_t pid;

    while (channel_send(pair->theirs, &said) == CHANNEL_DONE)
        continue;
    pid = fork();
    if (pid == 0) {
        (void)close(pair->ours);
        _exit(channel_put(pair->theirs, &said) ? 1 : 0);
    }
    (void)close(pair->ours);
    pair->ours = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void roles_have_names(void **state)
{
    enum role role = ROLE_SUPERVISOR;

    (void)state;
    assert_true(role_from_text("dispatcher", &role));
    assert_int_equal(role, ROLE_DISPATCHER);
    assert_false(role_from_text("supervisor", &role));
    assert_false(role_from_text("", &role));
    assert_string_equal(role_name(ROLE_RECONCILER), "reconciler");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_has_a_size_within_the_limit),
        cmocka_unit_test_setup_teardown(a_message_arrives_as_it_was_sent, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_message_is_wrong_from_another_role, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(garbage_is_wrong, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_longer_packet_is_wrong_and_does_not_hide_the_next, open_pair,
                                        close_pair),
        cmocka_unit_test_setup_teardown(enumerations_and_texts_are_checked, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_reset_is_not_the_end, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_full_channel_never_blocks, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(waiting_for_room_ends_with_the_other_side, open_pair, close_pair),
        cmocka_unit_test(roles_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
