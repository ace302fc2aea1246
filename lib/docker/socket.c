/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define GROUP_BUFFER 4096

static const char *kind_of_file(mode_t mode)
{
    if (S_ISREG(mode))
        return "a plain file";
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISFIFO(mode))
        return "a named pipe";
    return "a device";
}

static void tell_denied(const struct stat *found, char reason[DOCKER_SOCKET_REASON_SIZE])
{
    char buffer[GROUP_BUFFER];
    struct group entry;
    struct group *group = NULL;

    if (getgrgid_r(found->st_gid, &entry, buffer, sizeof buffer, &group) != 0)
        group = NULL;
    if (group != NULL)
        (void)snprintf(
            reason, DOCKER_SOCKET_REASON_SIZE,
            "permission denied: the socket belongs to the group %.64s (mode %04o), of which this process "
            "is no member",
            group->gr_name, (unsigned)(found->st_mode & 07777));
    else
        (void)snprintf(
            reason, DOCKER_SOCKET_REASON_SIZE,
            "permission denied: the socket belongs to the group %u (mode %04o), of which this process "
            "is no member",
            (unsigned)found->st_gid, (unsigned)(found->st_mode & 07777));
}

enum docker_socket_state docker_socket_look(const char *path, char reason[DOCKER_SOCKET_REASON_SIZE])
{
    struct stat found;

    if (stat(path, &found) != 0) {
        if (errno == EACCES) {
            (void)snprintf(reason, DOCKER_SOCKET_REASON_SIZE,
                           "permission denied: a folder on the path may not be entered");
            return DOCKER_SOCKET_DENIED;
        }
        (void)snprintf(reason, DOCKER_SOCKET_REASON_SIZE, "there is no such socket");
        return DOCKER_SOCKET_MISSING;
    }
    if (!S_ISSOCK(found.st_mode)) {
        (void)snprintf(reason, DOCKER_SOCKET_REASON_SIZE, "it is %s, not a socket",
                       kind_of_file(found.st_mode));
        return DOCKER_SOCKET_FOREIGN;
    }
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno == EACCES) {
        tell_denied(&found, reason);
        return DOCKER_SOCKET_DENIED;
    }
    (void)snprintf(reason, DOCKER_SOCKET_REASON_SIZE, "connection refused: no Engine listens there");
    return DOCKER_SOCKET_THERE;
}

bool docker_socket_path_is_valid(const char *path)
{
    return path != NULL && path[0] == '/' && strlen(path) < sizeof(((struct sockaddr_un *)0)->sun_path);
}
