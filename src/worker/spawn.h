/* SPDX-License-Identifier: MIT
 *
 * Starting a child: fork and re-execution of this very program in a hidden role.
 *
 * The child gets its channel as descriptor 3 and the sealed snapshot as descriptor 4 and no other; an
 * environment of a few harmless variables; SIGKILL when the supervisor dies; default signal handling but for
 * SIGINT, SIGTERM, SIGHUP and SIGPIPE, which it ignores (its orders come by the channel, also when a terminal
 * or a service manager signals the whole group); and no core dumps. The caller has one thread and has neither
 * database, TLS nor curl open.
 */
#ifndef OCC_WORKER_SPAWN_H
#define OCC_WORKER_SPAWN_H

#include "src/worker/message.h"

#include <sys/types.h>

struct spawned {
    pid_t pid;
    int pidfd;
    int channel; /* our end */
};

/* Starts a child in the role `role` of slot `slot`. False with errno told in the fault (RETRYABLE
 * WORKER_SPAWN_FAILED): nothing is left behind then. */
bool spawn(enum role role, unsigned slot, int snapshot, struct spawned *child, struct fault *fault) MUST_USE;

#endif
