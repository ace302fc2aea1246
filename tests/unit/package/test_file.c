/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/file.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const uid_t somebody = 65534;

struct fixture {
    char base[40];
    char *folder;
};

static int begin(void **state)
{
    struct fixture *fixture = mem_new(NULL, struct fixture);

    (void)snprintf(fixture->base, sizeof fixture->base, "/tmp/occ-file-XXXXXX");
    if (!mkdtemp(fixture->base))
        return -1;
    fixture->folder = mem_format(fixture, "%s/drivers", fixture->base);
    *state = fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    (void)unlink(fixture->folder);
    (void)unlink(mem_format(fixture, "%s/example.so", fixture->folder));
    (void)rmdir(fixture->folder);
    (void)rmdir(fixture->base);
    return talloc_free(fixture);
}

static void expect(const struct fixture *fixture, const char *name, const char *code, const char *part)
{
    struct fault fault;
    int descriptor = -1;

    assert_false(package_file_open(fixture->folder, name, &descriptor, &fault));
    assert_int_equal(descriptor, -1);
    assert_int_equal(fault.class, FAULT_CONFIGURATION);
    assert_string_equal(fault.code, code);
    if (!strstr(fault.message, part))
        fail_msg("\"%s\" is not in \"%s\"", part, fault.message);
}

static void make_folder(const struct fixture *fixture, mode_t mode)
{
    assert_int_equal(mkdir(fixture->folder, 0700), 0);
    assert_int_equal(chmod(fixture->folder, mode), 0);
}

static void a_folder_that_is_none(void **state)
{
    const struct fixture *fixture = *state;
    int file;

    expect(fixture, "example", "DRIVER_FOLDER_MISSING", "drivers does not exist");
    file = open(fixture->folder, O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    (void)close(file);
    expect(fixture, "example", "DRIVER_FOLDER_NOT_DIRECTORY", "drivers is a link or no folder");
    (void)unlink(fixture->folder);
    assert_int_equal(symlink("/usr", fixture->folder), 0);
    expect(fixture, "example", "DRIVER_FOLDER_NOT_DIRECTORY", "drivers is a link or no folder");
}

static void a_folder_of_somebody_else(void **state)
{
    const struct fixture *fixture = *state;

    make_folder(fixture, 0755);
    if (geteuid() == 0)
        assert_int_equal(chown(fixture->folder, somebody, 0), 0);
    expect(fixture, "example", "DRIVER_FOLDER_OWNER", ", not root");
}

static void a_folder_that_cannot_be_opened(void **state)
{
    const struct fixture *fixture = *state;
    const uid_t user = geteuid();

    make_folder(fixture, user == 0 ? 0700 : 0);
    if (user == 0) {
        assert_int_equal(chmod(fixture->base, 0755), 0);
        assert_int_equal(seteuid(somebody), 0);
    }
    expect(fixture, "example", "DRIVER_FOLDER_UNREADABLE", "/drivers cannot be opened: Permission denied");
    assert_int_equal(seteuid(user), 0);
}

/* For whom is not root the folder has the wrong owner already. */
static void a_folder_that_others_may_write(void **state)
{
    static const mode_t modes[] = {0775, 0757, 01777};
    const struct fixture *fixture = *state;
    size_t index;

    make_folder(fixture, 0755);
    for (index = 0; index < COUNT_OF(modes); index++) {
        assert_int_equal(chmod(fixture->folder, modes[index]), 0);
        if (geteuid() == 0)
            expect(fixture, "example", "DRIVER_FOLDER_WRITABLE", "is writable by others than root (mode ");
        else
            expect(fixture, "example", "DRIVER_FOLDER_OWNER", ", not root");
    }
}

static void what_is_installed_is_named(void **state)
{
    const struct fixture *fixture = *state;
    struct fault fault;
    int file, descriptor;

    make_folder(fixture, 0755);
    if (geteuid() != 0) {
        expect(fixture, "example", "DRIVER_FOLDER_OWNER", ", not root");
        return;
    }
    expect(fixture, "other", "DRIVER_PACKAGE_MISSING", "/drivers/other.so; installed: none");
    file = open(mem_format(fixture, "%s/example.so", fixture->folder), O_CREAT | O_WRONLY, 0644);
    assert_true(file >= 0);
    (void)close(file);
    expect(fixture, "other", "DRIVER_PACKAGE_MISSING", "/drivers/other.so; installed: example");
    assert_true(package_file_open(fixture->folder, "example", &descriptor, &fault));
    assert_int_equal(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    (void)close(descriptor);
}

static void names(void **state)
{
    static const char *const bad[] = {"",  "..", "../x", "/x",  "a/b",     "a.so",
                                      "A", "-a", "a b",  "a\n", "\xc3\xa4"};
    const struct fixture *fixture = *state;
    char longest[66];
    size_t index;

    for (index = 0; index < COUNT_OF(bad); index++)
        expect(fixture, bad[index], "DRIVER_PACKAGE_NAME_INVALID", "is no package's name");
    memset(longest, 'a', sizeof longest);
    longest[65] = '\0';
    expect(fixture, longest, "DRIVER_PACKAGE_NAME_INVALID", "is no package's name");
    longest[64] = '\0';
    expect(fixture, longest, "DRIVER_FOLDER_MISSING", "does not exist");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_that_is_none),          TEST(a_folder_of_somebody_else),
        TEST(a_folder_that_cannot_be_opened), TEST(a_folder_that_others_may_write),
        TEST(what_is_installed_is_named),     TEST(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
