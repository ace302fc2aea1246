/* SPDX-License-Identifier: MIT
 *
 * A child is this very program in a hidden role: here the test itself, which then looks at what it was given.
 */
#include "lib/base/build.h"

#include "src/worker/spawn.h"

#include "src/worker/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SNAPSHOT "what preflight verified"

/* ---- In the child: the number of the first thing that is not as it should be, or 0. */

static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static bool only_known_descriptors(void)
{
    int descriptor;

    for (descriptor = SNAPSHOT_DESCRIPTOR + 1; descriptor < 256; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0)
            return false;
    }
    return true;
}

static int look_around(int argc, char **argv)
{
    char content[sizeof SNAPSHOT] = "";
    struct rlimit core;
    sigset_t mask;
    int death = 0;

    if (argc != 3 || strcmp(argv[1], "--role=preflight") != 0 || strcmp(argv[2], "--slot=7") != 0)
        return 1;
    if (getenv("NOTIFY_SOCKET") || getenv("OCC_DATABASE_URL") || getenv("PGPASSWORD") ||
        getenv("https_proxy"))
        return 2;
    if (!getenv("RES_OPTIONS") || strcmp(getenv("RES_OPTIONS"), "timeout:1 attempts:1") != 0 ||
        !getenv("PATH"))
        return 3;
    if (prctl(PR_GET_PDEATHSIG, &death) != 0 || death != SIGKILL)
        return 4;
    if (!is_ignored(SIGTERM) || !is_ignored(SIGINT) || !is_ignored(SIGHUP) || !is_ignored(SIGPIPE) ||
        is_ignored(SIGUSR1) || is_ignored(SIGCHLD))
        return 5;
    if (sigprocmask(SIG_BLOCK, NULL, &mask) != 0 || !sigisemptyset(&mask))
        return 6;
    if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_cur != 0 || core.rlim_max != 0)
        return 7;
    if (pread(SNAPSHOT_DESCRIPTOR, content, sizeof content - 1, 0) < 0 || strcmp(content, SNAPSHOT) != 0)
        return 8;
    return only_known_descriptors() ? 0 : 9;
}

static int child(int argc, char **argv)
{
    const struct message hello = message_new(MESSAGE_HELLO);
    int found = look_around(argc, argv);

    return channel_put(CHANNEL_DESCRIPTOR, &hello) ? found : 10;
}

/* ---- In the test. */

static int snapshot_open(void)
{
    int snapshot = memfd_create("test", MFD_CLOEXEC);

    assert_int_equal(write(snapshot, SNAPSHOT, strlen(SNAPSHOT)), strlen(SNAPSHOT));
    return snapshot;
}

static int end_of(const struct spawned *spawned)
{
    int status;

    assert_int_equal(waitpid(spawned->pid, &status, 0), spawned->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* K48, K62 */
static void a_child_has_what_it_needs_and_no_more(void **state)
{
    struct pollfd said = {.events = POLLIN};
    int snapshot = snapshot_open();
    struct spawned spawned;
    struct message message;
    struct fault fault;
    sigset_t mask;

    (void)state;
    (void)setenv("NOTIFY_SOCKET", "/run/nowhere", 1);
    (void)setenv("OCC_DATABASE_URL", "postgresql://u:secret@h/d", 1);
    (void)setenv("PGPASSWORD", "secret", 1);
    (void)setenv("https_proxy", "http://u:secret@h", 1);
    /* What the supervisor's own signals are like must not be inherited, nor any of its descriptors. */
    (void)sigfillset(&mask);
    (void)sigprocmask(SIG_BLOCK, &mask, NULL);
    (void)signal(SIGUSR1, SIG_IGN);
    assert_true(fcntl(snapshot, F_DUPFD, 100) >= 100);
    assert_true(spawn(ROLE_PREFLIGHT, 7, snapshot, &spawned, &fault));
    (void)sigprocmask(SIG_UNBLOCK, &mask, NULL);
    said.fd = spawned.channel;
    assert_int_equal(poll(&said, 1, 20000), 1);
    assert_int_equal(channel_receive(spawned.channel, ROLE_PREFLIGHT, &message), CHANNEL_DONE);
    assert_int_equal(message.type, MESSAGE_HELLO);
    assert_int_equal(end_of(&spawned), 0);
    assert_int_equal(channel_receive(spawned.channel, ROLE_PREFLIGHT, &message), CHANNEL_END);
    (void)close(spawned.channel);
    (void)close(spawned.pidfd);
    (void)close(snapshot);
}

/* K56 */
static void a_failed_start_leaves_nothing(void **state)
{
    struct rlimit before, none;
    struct spawned spawned;
    struct fault fault;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_false(spawn(ROLE_RECONCILER, 1, 0, &spawned, &fault));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_string_equal(fault.code, "WORKER_SPAWN_FAILED");
    assert_int_equal(fault.class, FAULT_RETRYABLE);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_what_it_needs_and_no_more),
        cmocka_unit_test(a_failed_start_leaves_nothing),
    };

    if (argc > 1)
        return child(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
