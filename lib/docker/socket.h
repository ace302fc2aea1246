/* SPDX-License-Identifier: MIT
 *
 * Why nothing answers at the Engine's socket: what an operator must know to mend it (K73).
 */
#ifndef OCC_DOCKER_SOCKET_H
#define OCC_DOCKER_SOCKET_H

#include "lib/base/build.h"

enum docker_socket_state {
    DOCKER_SOCKET_MISSING, /* nothing at the path */
    DOCKER_SOCKET_FOREIGN, /* something that is no socket */
    DOCKER_SOCKET_DENIED,  /* we may not connect to it */
    DOCKER_SOCKET_THERE,   /* a socket that we may connect to */
};

#define DOCKER_SOCKET_REASON_SIZE 200

/* Looks at the path with this process's effective rights. `reason` becomes a sentence's part, such as
 * "permission denied: the socket belongs to the group docker (mode 0660), of which this process is no
 * member". Only for messages and for the class of a failed start: a connect decides. The group's name comes
 * from the system's databases, which may ask the network where they are set up so. */
enum docker_socket_state docker_socket_look(const char *path, char reason[DOCKER_SOCKET_REASON_SIZE]);

/* True when the path fits a socket address and is absolute. */
bool docker_socket_path_is_valid(const char *path);

#endif
