/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/snapshot.h"

#include "lib/base/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* Settings in which no two numbers and no two texts are equal, and some texts are absent. */
static struct worker_settings *make_settings(const void *context)
{
    struct worker_settings *settings = mem_new(context, struct worker_settings);

    settings->mode = MODE_PRODUCTION;
    settings->config_path = "/etc/occ/occ.yaml";
    settings->config_source = "--config-path";
    settings->startup_text = secret_new(settings, "a: \0caf\xc3\xa9\n", 10);
    settings->database.url = secret_new(settings, "postgresql://u:p@h/d", 20);
    settings->database.source = "OCC_DATABASE_URL";
    settings->metrics_database.file = "/etc/occ/metrics-url";
    settings->metrics_database.source = "--metrics-database-url-file";
    settings->database_timeout_ms = 1;
    settings->reconcilers = 2;
    settings->poll_interval_ms = 3;
    settings->lease_duration_ms = 4;
    settings->max_attempts = 2147483647;
    settings->convergence_timeout_ms = 6;
    settings->drain_timeout_ms = 7;
    settings->start_timeout_ms = 8;
    settings->recycle_passes = 9;
    settings->recycle_age_ms = 10;
    settings->liveness_path = "/run/occ/live";
    settings->docker_socket = "";
    settings->metrics_enabled = true;
    settings->metrics_host = "127.0.0.1";
    settings->metrics_port = 65535;
    return settings;
}

static void assert_same_secret(const struct secret *one, const struct secret *other)
{
    assert_int_equal(secret_length(one), secret_length(other));
    assert_memory_equal(secret_expose(one), secret_expose(other), secret_length(one) + 1);
}

static void what_is_written_is_read_back(void **state)
{
    void *context = talloc_new(NULL);
    const struct worker_settings *settings = make_settings(context);
    struct worker_settings *back;
    struct fault fault;
    int fd, round;

    (void)state;
    assert_true(snapshot_write(settings, &fd, &fault));
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    for (round = 0; round < 2; round++) { /* several children share the offset */
        back = NULL;
        assert_true(snapshot_read(context, fd, &back, &fault));
        assert_int_equal(back->mode, MODE_PRODUCTION);
        assert_string_equal(back->config_path, settings->config_path);
        assert_string_equal(back->config_source, "--config-path");
        assert_same_secret(back->startup_text, settings->startup_text);
        assert_same_secret(back->database.url, settings->database.url);
        assert_null(back->database.file);
        assert_string_equal(back->database.source, "OCC_DATABASE_URL");
        assert_null(back->metrics_database.url);
        assert_string_equal(back->metrics_database.file, "/etc/occ/metrics-url");
        assert_string_equal(back->metrics_database.source, "--metrics-database-url-file");
        assert_int_equal(back->database_timeout_ms, 1);
        assert_int_equal(back->reconcilers, 2);
        assert_int_equal(back->poll_interval_ms, 3);
        assert_int_equal(back->lease_duration_ms, 4);
        assert_int_equal(back->max_attempts, 2147483647);
        assert_int_equal(back->convergence_timeout_ms, 6);
        assert_int_equal(back->drain_timeout_ms, 7);
        assert_int_equal(back->start_timeout_ms, 8);
        assert_int_equal(back->recycle_passes, 9);
        assert_int_equal(back->recycle_age_ms, 10);
        assert_null(back->readiness_path);
        assert_string_equal(back->liveness_path, "/run/occ/live");
        assert_string_equal(back->docker_socket, "");
        assert_true(back->metrics_enabled);
        assert_string_equal(back->metrics_host, "127.0.0.1");
        assert_int_equal(back->metrics_port, 65535);
    }
    close(fd);
    talloc_free(context);
}

static void nobody_can_change_it(void **state)
{
    void *context = talloc_new(NULL);
    struct fault fault;
    int fd;

    (void)state;
    assert_true(snapshot_write(make_settings(context), &fd, &fault));
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    close(fd);
    talloc_free(context);
}

static void expect_refusal(int fd)
{
    struct worker_settings *back = NULL;
    struct fault fault;

    assert_false(snapshot_read(NULL, fd, &back, &fault));
    assert_int_equal(fault.class, FAULT_BUG);
    assert_string_equal(fault.code, "SNAPSHOT_INVALID");
    assert_null(back);
}

/* Each byte changed, each length cut, and one byte more: none of it is read. */
static void a_damaged_snapshot_is_refused(void **state)
{
    void *context = talloc_new(NULL);
    struct fault fault;
    struct stat status;
    char *bytes;
    size_t size, index;
    int fd;

    (void)state;
    assert_true(snapshot_write(make_settings(context), &fd, &fault));
    assert_int_equal(fstat(fd, &status), 0);
    size = (size_t)status.st_size;
    bytes = mem_array(context, char, size + 1);
    assert_int_equal(pread(fd, bytes, size, 0), size);
    close(fd);
    for (index = 0; index < size * 2 + 1; index++) {
        size_t length = index < size ? size : index - size;
        int copy = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        assert_true(copy >= 0);
        if (index < size)
            bytes[index] ^= 0x40;
        length = index == size * 2 ? size + 1 : length;
        assert_int_equal(write(copy, bytes, length), length);
        assert_int_equal(fcntl(copy, F_ADD_SEALS, SEALS), 0);
        expect_refusal(copy);
        close(copy);
        if (index < size)
            bytes[index] ^= 0x40;
    }
    talloc_free(context);
}

static void what_is_no_sealed_snapshot_is_refused(void **state)
{
    void *context = talloc_new(NULL);
    struct fault fault;
    char bytes[4096];
    int fd, copy, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ssize_t size;

    (void)state;
    expect_refusal(null);
    close(null);
    expect_refusal(-1);
    assert_true(snapshot_write(make_settings(context), &fd, &fault));
    size = pread(fd, bytes, sizeof bytes, 0);
    assert_true(size > 0);
    close(fd);
    copy = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(write(copy, bytes, (size_t)size), size);
    expect_refusal(copy); /* whole, but anybody may still write it */
    close(copy);
    talloc_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(nobody_can_change_it),
        cmocka_unit_test(a_damaged_snapshot_is_refused),
        cmocka_unit_test(what_is_no_sealed_snapshot_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
