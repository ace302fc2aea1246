/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/notify.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A service manager on an abstract socket of our own. */
static int manager_open(char *name, size_t size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(name, size, "@occ-test-notify-%d", (int)getpid());
    memcpy(address.sun_path, name, strlen(name));
    address.sun_path[0] = '\0';
    assert_int_equal(bind(manager, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    return manager;
}

static const char *heard(int manager)
{
    static char text[1024];
    ssize_t length = recv(manager, text, sizeof text - 1, MSG_DONTWAIT);

    text[length > 0 ? length : 0] = '\0';
    return text;
}

static void the_manager_hears_and_the_children_do_not(void **state)
{
    char name[64];
    int manager = manager_open(name, sizeof name);
    struct notify *notify;

    (void)state;
    (void)setenv("NOTIFY_SOCKET", name, 1);
    (void)setenv("WATCHDOG_USEC", "3000000", 1);
    (void)unsetenv("WATCHDOG_PID");
    notify = notify_open(NULL);
    /* K62 */
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_int_equal(notify_watchdog_ms(notify), 3000);
    notify_send(notify, "READY=1");
    assert_string_equal(heard(manager), "READY=1");
    notify_status(notify, "%u of %u\nnice", 3U, 4U);
    assert_string_equal(heard(manager), "STATUS=3 of 4 nice");
    notify_status(notify, "%s", "3 of 4 nice");
    assert_string_equal(heard(manager), "");
    notify_extend(notify, 1500);
    assert_string_equal(heard(manager), "EXTEND_TIMEOUT_USEC=1500000");
    notify_reloading(notify);
    assert_non_null(strstr(heard(manager), "RELOADING=1\nMONOTONIC_USEC="));
    talloc_free(notify);
    (void)close(manager);
}

/* A manager that does not read must not hold the worker up. */
static void a_manager_that_does_not_read_is_not_waited_for(void **state)
{
    char name[64];
    int manager = manager_open(name, sizeof name);
    struct notify *notify;
    int index;

    (void)state;
    (void)setenv("NOTIFY_SOCKET", name, 1);
    notify = notify_open(NULL);
    for (index = 0; index < 100000; index++)
        notify_send(notify, "WATCHDOG=1");
    (void)close(manager);
    notify_send(notify, "WATCHDOG=1");
    talloc_free(notify);
}

/* What the manager waits for reaches it once it reads again, and only the latest of it. */
static void readiness_is_owed(void **state)
{
    char name[64];
    int manager = manager_open(name, sizeof name);
    struct notify *notify;
    int index;

    (void)state;
    (void)setenv("NOTIFY_SOCKET", name, 1);
    notify = notify_open(NULL);
    for (index = 0; index < 100000; index++)
        notify_send(notify, "WATCHDOG=1");
    notify_reloading(notify);
    notify_status(notify, "reloading");
    notify_phase(notify, "READY=1");
    notify_owed(notify);
    while (strcmp(heard(manager), "WATCHDOG=1") == 0)
        continue;
    assert_string_equal(heard(manager), "");
    notify_owed(notify);
    assert_string_equal(heard(manager), "READY=1");
    notify_owed(notify);
    assert_string_equal(heard(manager), "");
    notify_status(notify, "reloading");
    assert_string_equal(heard(manager), "STATUS=reloading");
    talloc_free(notify);
    (void)close(manager);
}

static void without_a_manager_nothing_happens(void **state)
{
    struct notify *notify;

    (void)state;
    (void)unsetenv("NOTIFY_SOCKET");
    (void)setenv("WATCHDOG_USEC", "3000000", 1);
    (void)setenv("WATCHDOG_PID", "1", 1);
    notify = notify_open(NULL);
    assert_int_equal(notify_watchdog_ms(notify), 0);
    notify_send(notify, "READY=1");
    notify_status(notify, "fine");
    talloc_free(notify);
    (void)setenv("NOTIFY_SOCKET", "relative/path", 1);
    notify = notify_open(NULL);
    notify_send(notify, "READY=1");
    talloc_free(notify);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manager_hears_and_the_children_do_not),
        cmocka_unit_test(a_manager_that_does_not_read_is_not_waited_for),
        cmocka_unit_test(readiness_is_owed),
        cmocka_unit_test(without_a_manager_nothing_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
