/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "tests/unit/filesystem/folder.h"

static void make_file(const char *name, const char *text)
{
    int fd = open(in_root(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static mode_t mode_of(const char *name)
{
    struct stat status;

    assert_int_equal(lstat(in_root(name), &status), 0);
    return status.st_mode & 07777;
}

static void documents_are_kept_as_they_are(void **state)
{
    const mode_t mask = umask(0177);
    struct fault fault;
    const char *text;

    (void)state;
    store(FIRST, "{\"a\": 1.10}\n");
    (void)umask(0);
    store(SECOND, "{}");
    (void)umask(mask);
    assert_int_equal(mode_of(SPACE), 0700);
    assert_int_equal(mode_of(DOCUMENT), 0600);
    assert_int_equal(mode_of(SPACE "/" SECOND ".json"), 0600);
    holds(FIRST, "{\"a\": 1.10}\n");
    store(FIRST, "{\"b\":2}");
    holds(FIRST, "{\"b\":2}");
    holds(SECOND, "{}");
    assert_true(try_remove(FIRST, &fault));
    assert_true(exists(SPACE));
    assert_true(try_remove(SECOND, &fault));
    assert_false(exists(SPACE)); /* it goes with the last one */
    assert_true(try_remove(SECOND, &fault));
    assert_false(try_read(FIRST, &text, &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_MISSING", FIRST ".json", "does not exist");
}

static void sizes_are_bounded(void **state)
{
    const size_t limit = CONFIGURATION_DOCUMENT_LIMIT;
    char *text = mem_array(context, char, limit + 2);
    const char *found;
    size_t length;
    struct fault fault;
    int fd;

    (void)state;
    memset(text, 'x', limit + 1);
    assert_true(driver->operations->store(driver->self, &call, &space, FIRST, text, limit, &fault));
    assert_true(driver->operations->read(driver->self, &call, &space, FIRST, &found, &length, &fault));
    assert_int_equal(length, limit);
    assert_memory_equal(found, text, limit);
    assert_false(driver->operations->store(driver->self, &call, &space, FIRST, text, limit + 1, &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_TOO_LARGE", DOCUMENT, "1048576");
    assert_true(driver->operations->read(driver->self, &call, &space, FIRST, &found, &length, &fault));
    fd = open(in_root(DOCUMENT), O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(close(fd), 0);
    assert_false(driver->operations->read(driver->self, &call, &space, FIRST, &found, &length, &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_TOO_LARGE", DOCUMENT, "1048576");
}

static void ids_are_ids(void **state)
{
    static const char *const wrong[] = {"", "..", "../" FIRST, FIRST "/x", "cfg_1", SPACE, FIRST ".json"};
    static const struct subject_namespace outside = {.id = "../..", .name = "acme"};
    struct fault fault;
    const char *text;
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(wrong); index++) {
        assert_false(try_store(wrong[index], "{}", &fault));
        fails(&fault, FAULT_PERMANENT, "CONFIGURATION_IDENTIFIER_INVALID", "", "ID");
        assert_false(try_read(wrong[index], &text, &fault));
        fails(&fault, FAULT_PERMANENT, "CONFIGURATION_IDENTIFIER_INVALID", "", "ID");
        assert_false(try_remove(wrong[index], &fault));
        fails(&fault, FAULT_PERMANENT, "CONFIGURATION_IDENTIFIER_INVALID", "", "ID");
    }
    assert_false(driver->operations->store(driver->self, &call, &outside, FIRST, "{}", 2, &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_IDENTIFIER_INVALID", "", "ID");
    assert_false(exists(SPACE));
}

/* Every operation refuses what stands there, and leaves it as it is. */
static void all_refuse(const char *name, const char *why)
{
    struct fault fault;
    const char *text;

    assert_false(try_store(FIRST, "{\"mine\":1}", &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_PATH_REFUSED", in_root(name), why);
    assert_false(try_read(FIRST, &text, &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_PATH_REFUSED", in_root(name), why);
    assert_false(try_remove(FIRST, &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_PATH_REFUSED", in_root(name), why);
    assert_true(exists(name));
}

static void links_below_the_root_are_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_root("elsewhere"), 0700), 0);
    make_file("elsewhere/" FIRST ".json", "{\"theirs\":1}");
    assert_int_equal(symlink("elsewhere", in_root(SPACE)), 0);
    all_refuse(SPACE, "is a link");
    assert_int_equal(unlink(in_root(SPACE)), 0);
    assert_int_equal(symlink("nowhere", in_root(SPACE)), 0);
    all_refuse(SPACE, "is a link");
    assert_int_equal(unlink(in_root(SPACE)), 0);
    assert_int_equal(mkdir(in_root(SPACE), 0700), 0);
    assert_int_equal(symlink("../elsewhere/" FIRST ".json", in_root(DOCUMENT)), 0);
    all_refuse(DOCUMENT, "is a link");
    assert_int_equal(unlink(in_root(DOCUMENT)), 0);
    /* A link where the temporary file goes is a leftover like any other: it goes, and what it names stays. */
    assert_int_equal(symlink("../elsewhere/" FIRST ".json", in_root(SPACE "/." FIRST ".tmp")), 0);
    store(FIRST, "{\"mine\":1}");
    assert_int_equal(rename(in_root("elsewhere/" FIRST ".json"), in_root(DOCUMENT)), 0);
    holds(FIRST, "{\"theirs\":1}");
}

static void other_things_in_the_way_are_refused(void **state)
{
    (void)state;
    make_file(SPACE, "");
    all_refuse(SPACE, "is not a folder");
    assert_int_equal(unlink(in_root(SPACE)), 0);
    assert_int_equal(mkdir(in_root(SPACE), 0700), 0);
    assert_int_equal(mkdir(in_root(DOCUMENT), 0700), 0);
    all_refuse(DOCUMENT, "is not a regular file");
    assert_int_equal(rmdir(in_root(DOCUMENT)), 0);
    assert_int_equal(mkfifo(in_root(DOCUMENT), 0600), 0); /* nobody waits for its other end */
    all_refuse(DOCUMENT, "is not a regular file");
    assert_int_equal(unlink(in_root(DOCUMENT)), 0);
    assert_int_equal(chmod(in_root(SPACE), 0770), 0);
    all_refuse(SPACE, "can be written by other users");
    if (geteuid() == 0) {
        assert_int_equal(chmod(in_root(SPACE), 0700), 0);
        assert_int_equal(chown(in_root(SPACE), 12345, 12345), 0);
        all_refuse(SPACE, "owned by neither root nor this user");
    }
}

static void a_document_that_others_write_is_refused(void **state)
{
    struct fault fault;
    const char *text;

    (void)state;
    store(FIRST, "{}");
    assert_int_equal(chmod(in_root(DOCUMENT), 0620), 0);
    assert_false(try_read(FIRST, &text, &fault));
    fails(&fault, FAULT_PERMANENT, "CONFIGURATION_PATH_REFUSED", DOCUMENT,
          "only root or this user can write");
    store(FIRST, "{}");
    assert_int_equal(mode_of(DOCUMENT), 0600);
    holds(FIRST, "{}");
}

static void root_is_unusable(const char *path, const char *why)
{
    struct fault fault;
    const char *text;

    open_driver(path);
    assert_false(driver->operations->preflight(driver->self, &call, &fault));
    fails(&fault, FAULT_CONFIGURATION, "CONFIGURATION_ROOT_UNUSABLE", path, why);
    assert_memory_equal(fault.message, "OCC_DEVELOPMENT_CONFIGURATION_ROOT: ", 36);
    assert_false(try_store(FIRST, "{}", &fault));
    fails(&fault, FAULT_RETRYABLE, "CONFIGURATION_ROOT_UNUSABLE", path, why);
    assert_false(try_read(FIRST, &text, &fault));
    fails(&fault, FAULT_RETRYABLE, "CONFIGURATION_ROOT_UNUSABLE", path, why);
    assert_false(try_remove(FIRST, &fault));
    fails(&fault, FAULT_RETRYABLE, "CONFIGURATION_ROOT_UNUSABLE", path, why);
}

static void roots(void **state)
{
    struct fault fault;

    (void)state;
    assert_true(driver->operations->preflight(driver->self, &call, &fault));
    root_is_unusable(in_root("absent"), "does not exist");
    assert_false(exists("absent")); /* a mistyped root is not made */
    make_file("file", "");
    root_is_unusable(in_root("file"), "is not a folder");
    root_is_unusable(in_root("file/below"), "is not a folder");
    assert_int_equal(mkdir(in_root("shared"), 0700), 0);
    assert_int_equal(chmod(in_root("shared"), 01777), 0);
    root_is_unusable(in_root("shared"), "can be written by other users");
    /* The root may be reached through links. */
    assert_int_equal(mkdir(in_root("real"), 0755), 0);
    assert_int_equal(symlink("real", in_root("link")), 0);
    open_driver(in_root("link"));
    assert_true(driver->operations->preflight(driver->self, &call, &fault));
    store(FIRST, "{}");
    assert_true(exists("real/" DOCUMENT));
    assert_false(filesystem_open_configuration(context, NULL, &driver, &fault));
    fails(&fault, FAULT_CONFIGURATION, "CONFIGURATION_ROOT_REQUIRED", "OCC_DEVELOPMENT_CONFIGURATION_ROOT",
          "absolute path");
    assert_false(filesystem_open_configuration(context, "relative", &driver, &fault));
}

/* Where a crash came between the steps of a write. */
static void leftovers_do_no_harm(void **state)
{
    struct fault fault;

    (void)state;
    assert_int_equal(mkdir(in_root(SPACE), 0700), 0); /* after the folder was made */
    store(FIRST, "{\"a\":1}");
    make_file(SPACE "/." FIRST ".tmp", "{\"a\":"); /* in the middle of the text */
    make_file(LEFTOVER, "{\"whole\":1}");          /* before the rename */
    make_file(SPACE "/.other.tmp", "");            /* not ours */
    holds(FIRST, "{\"a\":1}");
    store(FIRST, "{\"a\":2}");
    holds(FIRST, "{\"a\":2}");
    assert_false(exists(SPACE "/." FIRST ".tmp"));
    assert_false(exists(LEFTOVER));
    assert_true(exists(SPACE "/.other.tmp"));
    assert_int_equal(unlink(in_root(SPACE "/.other.tmp")), 0);
    make_file(LEFTOVER, "{");
    assert_true(try_remove(FIRST, &fault));
    assert_false(exists(SPACE));
    assert_int_equal(mkdir(in_root(SPACE), 0700), 0); /* a removal that stopped before the folder went */
    assert_true(try_remove(FIRST, &fault));
    assert_false(exists(SPACE));
}

static void looking_changes_nothing(void **state)
{
    struct fault fault;

    (void)state;
    call.observe_only = true;
    assert_false(try_store(FIRST, "{}", &fault));
    fails(&fault, FAULT_PENDING, "CONFIGURATION_NOT_STORED", DOCUMENT, "does not hold");
    assert_false(exists(SPACE));
    assert_true(try_remove(FIRST, &fault));
    call.observe_only = false;
    store(FIRST, "{}");
    make_file(LEFTOVER, "{");
    call.observe_only = true;
    assert_true(try_store(FIRST, "{}", &fault));
    assert_false(try_store(FIRST, "{ }", &fault));
    fails(&fault, FAULT_PENDING, "CONFIGURATION_NOT_STORED", DOCUMENT, "does not hold");
    assert_false(try_remove(FIRST, &fault));
    fails(&fault, FAULT_PENDING, "CONFIGURATION_NOT_REMOVED", DOCUMENT, "exists");
    assert_true(exists(LEFTOVER));
    holds(FIRST, "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(documents_are_kept_as_they_are),
        TEST(sizes_are_bounded),
        TEST(ids_are_ids),
        TEST(links_below_the_root_are_refused),
        TEST(other_things_in_the_way_are_refused),
        TEST(a_document_that_others_write_is_refused),
        TEST(roots),
        TEST(leftovers_do_no_harm),
        TEST(looking_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
