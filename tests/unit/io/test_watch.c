/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/io/watch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

struct looking {
    int fd;
    int64_t every_ms; /* 0: only its descriptor wakes it */
    int64_t next_ms;
    int turns;
    int end_at;
    short seen;
};

static size_t prepare(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    struct looking *looking = subject;

    if (looking->every_ms && looking->next_ms < *wake_ms)
        *wake_ms = looking->next_ms;
    if (looking->fd < 0)
        return 0;
    room[0] = (struct pollfd){.fd = looking->fd, .events = POLLIN, .revents = 0x7f};
    return 1;
}

static bool turn(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    struct looking *looking = subject;

    looking->turns++;
    looking->next_ms = clock_now_ms() + looking->every_ms;
    if (count > 0)
        looking->seen = ready[0].revents;
    if (looking->end_at && looking->turns >= looking->end_at)
        return fault_set(fault, FAULT_CANCELLED, "STOP", "stop");
    return true;
}

static struct watch watch_of(struct looking *looking)
{
    return (struct watch){.subject = looking, .prepare = prepare, .turn = turn};
}

static int pipes[2][2];

static int set_up(void **state)
{
    (void)state;
    return pipe(pipes[0]) == 0 && pipe(pipes[1]) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        (void)close(pipes[i / 2][i % 2]);
    return 0;
}

static void nothing_happens_until_the_deadline(void **state)
{
    struct pollfd own = {.fd = pipes[0][0], .events = POLLIN};
    int64_t start_ms = clock_now_ms();
    struct fault fault;
    bool ready = true;

    (void)state;
    assert_true(watch_wait(NULL, &own, 1, start_ms + 50, &ready, &fault));
    assert_false(ready);
    assert_in_range(clock_now_ms() - start_ms, 50, 2000);
    ready = true;
    assert_true(watch_wait(NULL, NULL, 0, start_ms, &ready, &fault)); /* passed already */
    assert_false(ready);
}

static void ones_own_descriptor_ends_the_wait(void **state)
{
    struct looking looking = {.fd = pipes[1][0]};
    struct watch watch = watch_of(&looking);
    struct pollfd own[2] = {{.fd = pipes[1][0], .events = POLLIN}, {.fd = pipes[0][0], .events = POLLIN}};
    struct fault fault;
    bool ready;

    (void)state;
    assert_int_equal(write(pipes[0][1], "x", 1), 1);
    assert_true(watch_wait(&watch, own, 2, CLOCK_NEVER, &ready, &fault));
    assert_true(ready);
    assert_int_equal(own[0].revents, 0);
    assert_int_equal(own[1].revents, POLLIN);
    assert_int_equal(looking.turns, 1); /* the watch comes first, however busy the caller is */
    assert_int_equal(looking.seen, 0);
}

static void a_hang_up_is_ready_too(void **state)
{
    struct pollfd own = {.fd = pipes[0][0], .events = POLLIN};
    struct fault fault;
    bool ready;

    (void)state;
    assert_int_equal(close(pipes[0][1]), 0);
    pipes[0][1] = -1;
    assert_true(watch_wait(NULL, &own, 1, CLOCK_NEVER, &ready, &fault));
    assert_true(ready);
    assert_true(own.revents & POLLHUP);
}

static void the_watch_has_its_times(void **state)
{
    struct looking looking = {.fd = -1, .every_ms = 10};
    struct watch watch = watch_of(&looking);
    int64_t start_ms = clock_now_ms();
    struct fault fault;
    bool ready;

    (void)state;
    assert_true(watch_wait(&watch, NULL, 0, start_ms + 200, &ready, &fault));
    assert_false(ready);
    assert_in_range(clock_now_ms() - start_ms, 200, 3000);
    assert_in_range(looking.turns, 3, 25);
}

static void the_watch_ends_the_wait(void **state)
{
    struct looking looking = {.fd = pipes[1][0], .end_at = 1};
    struct watch watch = watch_of(&looking);
    struct pollfd own = {.fd = pipes[0][0], .events = POLLIN};
    struct fault fault;
    bool ready;

    (void)state;
    assert_int_equal(write(pipes[1][1], "x", 1), 1);
    assert_false(watch_wait(&watch, &own, 1, CLOCK_NEVER, &ready, &fault));
    assert_string_equal(fault.code, "STOP");
    assert_int_equal(looking.seen, POLLIN);
}

static void ignore(int number)
{
    (void)number;
}

static void a_signal_does_not_end_it(void **state)
{
    struct sigaction action = {.sa_handler = ignore};
    struct itimerval often = {.it_interval = {.tv_usec = 5000}, .it_value = {.tv_usec = 5000}};
    struct itimerval never = {.it_value = {.tv_sec = 0}};
    struct looking looking = {.fd = pipes[1][0]};
    struct watch watch = watch_of(&looking);
    int64_t start_ms = clock_now_ms();
    struct pollfd own = {.fd = pipes[0][0], .events = POLLIN};
    struct fault fault;
    bool ready;

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_true(watch_wait(&watch, &own, 1, start_ms + 100, &ready, &fault));
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_false(ready);
    assert_in_range(clock_now_ms() - start_ms, 100, 3000);
    assert_int_equal(looking.seen, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(nothing_happens_until_the_deadline),
        TEST(ones_own_descriptor_ends_the_wait),
        TEST(a_hang_up_is_ready_too),
        TEST(the_watch_has_its_times),
        TEST(the_watch_ends_the_wait),
        TEST(a_signal_does_not_end_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
