/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/socket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/occ-test-socket-XXXXXX";

static void path_in_folder(char path[64], const char *name)
{
    (void)snprintf(path, 64, "%s/%s", folder, name);
}

static void the_reason_is_told(void **state)
{
    char reason[DOCKER_SOCKET_REASON_SIZE];
    char path[64];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    FILE *file;
    int listener;

    (void)state;
    path_in_folder(path, "missing");
    assert_int_equal(docker_socket_look(path, reason), DOCKER_SOCKET_MISSING);
    assert_string_equal(reason, "there is no such socket");

    path_in_folder(path, "file");
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(docker_socket_look(path, reason), DOCKER_SOCKET_FOREIGN);
    assert_string_equal(reason, "it is a plain file, not a socket");
    assert_int_equal(docker_socket_look(folder, reason), DOCKER_SOCKET_FOREIGN);
    assert_string_equal(reason, "it is a folder, not a socket");
    path_in_folder(path, "file/below");
    assert_int_equal(docker_socket_look(path, reason), DOCKER_SOCKET_MISSING);

    path_in_folder(path, "socket");
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(docker_socket_look(path, reason), DOCKER_SOCKET_THERE);
    assert_non_null(strstr(reason, "refused"));
    /* K73: who may not connect learns which group may. Root may always. */
    if (geteuid() == 0) {
        assert_int_equal(chmod(folder, 0755), 0);
        assert_int_equal(chmod(path, 0660), 0);
        assert_int_equal(setegid(65534), 0);
        assert_int_equal(seteuid(65534), 0);
        assert_int_equal(docker_socket_look(path, reason), DOCKER_SOCKET_DENIED);
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(setegid(0), 0);
        assert_non_null(strstr(reason, "permission denied"));
        assert_non_null(strstr(reason, "group root (mode 0660)"));
        assert_int_equal(chown(path, 0, 54321), 0);
        assert_int_equal(setegid(65534), 0);
        assert_int_equal(seteuid(65534), 0);
        assert_int_equal(docker_socket_look(path, reason), DOCKER_SOCKET_DENIED);
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(setegid(0), 0);
        assert_non_null(strstr(reason, "group 54321 (mode 0660)"));
    }
    assert_int_equal(close(listener), 0);
}

static void only_an_absolute_path_that_fits_is_valid(void **state)
{
    char path[110];

    (void)state;
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[107] = 0;
    assert_true(docker_socket_path_is_valid(path));
    path[107] = 'a';
    path[108] = 0;
    assert_false(docker_socket_path_is_valid(path));
    assert_false(docker_socket_path_is_valid("run/docker.sock"));
    assert_false(docker_socket_path_is_valid(""));
    assert_false(docker_socket_path_is_valid(NULL));
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char path[64];

    (void)state;
    path_in_folder(path, "file");
    (void)unlink(path);
    path_in_folder(path, "socket");
    (void)unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reason_is_told),
        cmocka_unit_test(only_an_absolute_path_that_fits_is_valid),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
