/* SPDX-License-Identifier: MIT
 *
 * The worker's settings as a sealed memory file: what the supervisor read once, and every child reads back,
 * so that all of them work with the same bytes whatever happens to files and variables meanwhile.
 *
 * The file holds database URLs. It has no name in any file system, is close-on-exec, and cannot be changed
 * once it is written (memfd_create(2), fcntl(2) F_ADD_SEALS). Writer and reader are the same executable: the
 * form is private.
 */
#ifndef OCC_CONFIG_SNAPSHOT_H
#define OCC_CONFIG_SNAPSHOT_H

#include "lib/config/worker_settings.h"

/* The descriptor at which a child finds its snapshot. */
#define SNAPSHOT_FD 4

/* Writes loaded settings. The caller owns the descriptor. Fault: FAULT_RETRYABLE SNAPSHOT_FAILED when the
 * kernel has no memory or descriptor for it. */
bool snapshot_write(const struct worker_settings *settings, int *fd, struct fault *fault) MUST_USE;

/* Reads the settings back, exactly; they hang on `context`, the descriptor stays open and its offset
 * unchanged. Fault: FAULT_BUG SNAPSHOT_INVALID for a descriptor that is no sealed snapshot, or not a whole
 * one. */
bool snapshot_read(const void *context, int fd, struct worker_settings **settings,
                   struct fault *fault) MUST_USE;

#endif
