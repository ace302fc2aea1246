/* SPDX-License-Identifier: MIT
 *
 * Several at once, and a disk that is full or read-only.
 */
#include "lib/base/build.h"

#include "tests/unit/filesystem/folder.h"

#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define ROUNDS 60
#define WRITERS 3

static char *long_text(char letter, size_t length)
{
    char *text = mem_array(context, char, length + 1);

    memset(text, letter, length);
    return text;
}

static bool is_one_text(const char *text)
{
    return text[0] && strspn(text, (const char[]){text[0], '\0'}) == strlen(text);
}

/* Writes, and reads what it or another has written, whole; and removes now and then, so that the folder comes
 * and goes. No assertion of cmocka's works in a child. */
static int write_and_read(unsigned number)
{
    const char *mine = long_text((char)('a' + number), 20000 + number * 7000), *text;
    struct fault fault;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        if (!try_store(FIRST, mine, &fault) || (round % 5 == 4 && !try_remove(FIRST, &fault)))
            break;
        if (try_read(FIRST, &text, &fault) ? !is_one_text(text)
                                           : !fault_is(&fault, "CONFIGURATION_DOCUMENT_MISSING"))
            break;
    }
    if (round < ROUNDS)
        print_error("writer %u, round %d: %s\n", number, round, fault.message);
    return round == ROUNDS ? 0 : 1;
}

static void writers_do_not_disturb_each_other(void **state)
{
    pid_t children[WRITERS];
    struct fault fault;
    unsigned index;
    int status;

    (void)state;
    for (index = 0; index < WRITERS; index++) {
        children[index] = fork();
        assert_true(children[index] >= 0);
        if (children[index] == 0)
            _exit(write_and_read(index));
    }
    for (index = 0; index < WRITERS; index++) {
        assert_int_equal(waitpid(children[index], &status, 0), children[index]);
        assert_int_equal(status, 0);
    }
    assert_true(try_remove(FIRST, &fault));
    assert_false(exists(SPACE)); /* nothing is left over */
}

static void a_lock_is_waited_for_until_the_deadline(void **state)
{
    struct fault fault;
    int fd;

    (void)state;
    store(FIRST, "{}");
    fd = open(in_root(SPACE), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    call.deadline_ms = clock_now_ms() + 50;
    assert_false(try_store(FIRST, "{\"a\":1}", &fault));
    fails(&fault, FAULT_RETRYABLE, "CONFIGURATION_STORAGE_UNAVAILABLE", SPACE, "is kept locked");
    holds(FIRST, "{}"); /* whoever reads waits for nobody */
    assert_int_equal(close(fd), 0);
}

static bool stop(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    (void)subject;
    (void)ready;
    (void)count;
    return fault_set(fault, FAULT_CANCELLED, "STOPPED", "stopped");
}

static size_t want_nothing(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    (void)subject;
    (void)room;
    (void)wake_ms;
    return 0;
}

static void a_wait_hears_its_watch(void **state)
{
    const struct watch watch = {.prepare = want_nothing, .turn = stop};
    struct fault fault;
    int fd;

    (void)state;
    store(FIRST, "{}");
    fd = open(in_root(SPACE), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    call.watch = &watch;
    assert_false(try_store(FIRST, "{\"a\":1}", &fault));
    assert_int_equal(fault.class, FAULT_CANCELLED);
    assert_int_equal(close(fd), 0);
}

/* A tiny file system as the root, in a mount namespace of our own: it goes with this process. */
static bool mount_root(const char *options)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("occ-test", root, "tmpfs", 0, options) == 0;
}

static void a_full_disk_is_told(void **state)
{
    struct fault fault;
    const char *text;

    (void)state;
    if (!mount_root("size=64k,mode=0700"))
        skip();
    store(FIRST, "{\"a\":1}");
    text = long_text('x', 200000);
    assert_false(try_store(FIRST, text, &fault));
    fails(&fault, FAULT_RETRYABLE, "CONFIGURATION_STORAGE_UNAVAILABLE", DOCUMENT, "the disk is full");
    holds(FIRST, "{\"a\":1}");
    assert_false(try_store(SECOND, text, &fault));
    assert_false(exists(LEFTOVER));
    assert_false(exists(SPACE "/" SECOND ".json"));
    assert_true(try_remove(FIRST, &fault));
    assert_false(try_store(FIRST, text, &fault));
    assert_false(exists(SPACE)); /* nothing of a first document that failed stays */
    assert_int_equal(mount(NULL, root, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_false(try_store(FIRST, "{}", &fault));
    fails(&fault, FAULT_RETRYABLE, "CONFIGURATION_STORAGE_UNAVAILABLE", SPACE, "read-only file system");
    assert_false(driver->operations->preflight(driver->self, &call, &fault));
    fails(&fault, FAULT_CONFIGURATION, "CONFIGURATION_ROOT_UNUSABLE", root, "read-only file system");
    assert_int_equal(umount(root), 0);
}

static void a_folder_without_inodes_is_told(void **state)
{
    struct fault fault;

    (void)state;
    if (!mount_root("nr_inodes=2,mode=0700"))
        skip();
    assert_false(try_store(FIRST, "{}", &fault));
    fails(&fault, FAULT_RETRYABLE, "CONFIGURATION_STORAGE_UNAVAILABLE", DOCUMENT, "the disk is full");
    assert_false(exists(SPACE));
    assert_int_equal(umount(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(writers_do_not_disturb_each_other),
        TEST(a_lock_is_waited_for_until_the_deadline),
        TEST(a_wait_hears_its_watch),
        TEST(a_full_disk_is_told),
        TEST(a_folder_without_inodes_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
