/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/io/files.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

static void *context;
static char folder[] = "/tmp/occ-files-XXXXXX";

static const char *in_folder(const char *name)
{
    return mem_format(context, "%s/%s", folder, name);
}

static const char *make(const char *name, const char *content, mode_t mode)
{
    const char *path = in_folder(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    (void)snprintf(folder, sizeof folder, "/tmp/occ-files-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"file", "link", "pipe", "new", "sub/new", "sub", "marker"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        (void)remove(in_folder(names[i]));
    (void)talloc_free(context);
    return rmdir(folder); /* fails when something else was left, such as a temporary file */
}

static void refuses_of(const char *path, enum file_trust trust, size_t limit, const char *why)
{
    struct secret *content = NULL;
    struct fault fault = {0};

    if (file_read(context, "OCC_CONFIG_PATH", "CODE", path, trust, limit, &content, &fault))
        fail_msg("%s was read", path);
    assert_null(content);
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, "CODE");
    assert_memory_equal(fault.message, "OCC_CONFIG_PATH: ", 17);
    if (!strstr(fault.message, why))
        fail_msg("%s instead of %s", fault.message, why);
}

static void refuses(const char *path, enum file_trust trust, const char *why)
{
    refuses_of(path, trust, 100, why);
}

static void takes(const char *path, enum file_trust trust, const char *expected)
{
    struct secret *content;
    struct fault fault = {0};

    if (!file_read(context, "SETTING", "CODE", path, trust, 100, &content, &fault))
        fail_msg("%s", fault.message);
    assert_string_equal(secret_expose(content), expected);
    assert_int_equal(secret_length(content), strlen(expected));
}

static void good_files_are_read(void **state)
{
    (void)state;
    takes(make("file", "content", 0644), FILE_TRUSTED, "content");
    takes(make("file", "content", 0600), FILE_PRIVATE, "content");
    takes(make("file", "content", 0400), FILE_PRIVATE, "content");
    assert_int_equal(symlink("file", in_folder("link")), 0);
    takes(in_folder("link"), FILE_PRIVATE, "content");
    takes(make("file", "content", 0600), FILE_GROUP, "content");
    takes(make("file", "content", 0640), FILE_GROUP, "content");
}

static void each_reason_has_its_words(void **state)
{
    (void)state;
    refuses("", FILE_TRUSTED, "the path is empty");
    refuses("relative/file", FILE_TRUSTED, "is not an absolute path");
    refuses(in_folder("file"), FILE_TRUSTED, "does not exist");
    refuses("/etc/passwd/file", FILE_TRUSTED, "does not exist");
    refuses(folder, FILE_TRUSTED, "is a folder");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    refuses(in_folder("pipe"), FILE_TRUSTED, "is not a regular file"); /* and does not wait for a writer */
    refuses("/dev/null", FILE_TRUSTED, "is not a regular file");
    refuses(make("file", "", 0600), FILE_TRUSTED, "is empty");
    refuses(make("file", "content", 0620), FILE_TRUSTED, "is writable by other users");
    refuses(make("file", "content", 0602), FILE_TRUSTED, "is writable by other users");
    refuses(make("file", "content", 0640), FILE_PRIVATE, "is readable by other users");
    refuses(make("file", "content", 0604), FILE_PRIVATE, "is readable by other users");
    refuses(make("file", "content", 0604), FILE_GROUP, "is readable by all users");
    refuses(make("file", "content", 0620), FILE_GROUP, "is writable by other users");
    assert_int_equal(symlink("link", in_folder("link")), 0);
    refuses(in_folder("link"), FILE_TRUSTED, "is a loop of links");
}

static void size_is_bounded(void **state)
{
    const char *path = make("file", "0123456789", 0600);
    struct secret *content;
    struct fault fault;

    (void)state;
    refuses_of(path, FILE_TRUSTED, 9, "is too large");
    assert_true(file_read(context, "SETTING", "CODE", path, FILE_TRUSTED, 10, &content, &fault));
}

static void owners_are_checked(void **state)
{
    const char *path = make("file", "content", 0600);

    (void)state;
    if (geteuid() != 0)
        return; /* nobody else can give files away */
    assert_int_equal(chown(path, 12345, 12345), 0);
    refuses(path, FILE_TRUSTED, "is owned by neither root nor this user");
}

/* What systemd does to a credential of a service that has a user of its own: root's file, mode 0400, and an
 * access list that lets the user read, which turns the mode to 0440. */
static void access_lists_are_read(void **state)
{
    struct {
        uint32_t version;
        struct {
            uint16_t tag;
            uint16_t rights;
            uint32_t id;
        } entries[5];
    } list = {
        htole32(2),
        {{htole16(0x01), htole16(4), htole32(UINT32_MAX)},
         {htole16(0x02), htole16(4), htole32((uint32_t)geteuid())},
         {htole16(0x04), htole16(0), htole32(UINT32_MAX)},
         {htole16(0x10), htole16(4), htole32(UINT32_MAX)},
         {htole16(0x20), htole16(0), htole32(UINT32_MAX)}},
    };
    const char *path = make("file", "content", 0400);
    struct stat status;

    (void)state;
    if (setxattr(path, "system.posix_acl_access", &list, sizeof list, 0) != 0 && errno == ENOTSUP)
        return; /* this file system has no access lists */
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0440);
    takes(path, FILE_PRIVATE, "content");
    list.entries[1].id = htole32(12345);
    assert_int_equal(setxattr(path, "system.posix_acl_access", &list, sizeof list, 0), 0);
    refuses(path, FILE_PRIVATE, "is readable by other users");
    takes(path, FILE_GROUP, "content");
    list.entries[1].id = htole32((uint32_t)geteuid());
    list.entries[2].rights = htole16(4);
    assert_int_equal(setxattr(path, "system.posix_acl_access", &list, sizeof list, 0), 0);
    refuses(path, FILE_PRIVATE, "is readable by other users");
}

static void is_not_created(const char *path, const char *why)
{
    struct fault fault = {0};

    assert_false(file_create_private("SETTING", "CODE", path, "x", 1, &fault));
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    if (!strstr(fault.message, why))
        fail_msg("%s instead of %s", fault.message, why);
}

static void private_files_are_created_once(void **state)
{
    const char *path = in_folder("new");
    mode_t mask = umask(0777);
    struct stat status;
    struct fault fault = {0};

    (void)state;
    assert_true(file_create_private("SETTING", "CODE", path, "content", 7, &fault));
    (void)umask(mask);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    takes(path, FILE_PRIVATE, "content");
    is_not_created(path, "exists already");
    assert_int_equal(symlink("nowhere", in_folder("link")), 0);
    is_not_created(in_folder("link"), "exists already");
    is_not_created(in_folder("absent/new"), "is in a folder that does not exist");
    is_not_created(in_folder("new/new"), "is in a folder that does not exist");
    is_not_created(in_folder(""), "does not name a file");
    is_not_created("", "the path is empty");
}

static void folders_that_others_write_are_refused(void **state)
{
    const char *path = in_folder("sub");

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 01777), 0);
    is_not_created(in_folder("sub/new"), "is in a folder that other users can write");
    assert_int_equal(chmod(path, 0770), 0);
    is_not_created(in_folder("sub/new"), "is in a folder that other users can write");
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(chown(path, 12345, 12345), 0);
        is_not_created(in_folder("sub/new"), "owned by neither root nor this user");
    }
}

static void markers_are_replaced(void **state)
{
    const char *path = in_folder("marker");
    struct stat status;
    struct fault fault = {0};

    (void)state;
    assert_true(file_replace(path, "CODE", "1\n", &fault));
    assert_true(file_replace(path, "CODE", "22\n", &fault));
    takes(path, FILE_PRIVATE, "22\n");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_false(file_replace(in_folder("absent/marker"), "CODE", "1", &fault));
    assert_int_equal(fault.class, FAULT_RETRYABLE);
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    assert_false(file_replace(in_folder("sub"), "CODE", "1", &fault)); /* and leaves no temporary file */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(good_files_are_read),
        TEST(each_reason_has_its_words),
        TEST(size_is_bounded),
        TEST(owners_are_checked),
        TEST(access_lists_are_read),
        TEST(private_files_are_created_once),
        TEST(folders_that_others_write_are_refused),
        TEST(markers_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
