/* SPDX-License-Identifier: MIT
 *
 * What else must be looked after while an operation waits.
 *
 * A pass never blocks in a place which does not renew its claim or hear the supervisor. Every wait of lib/io
 * (database, HTTP) therefore takes a watch, polls the watch's descriptors together with its own, and gives
 * the watch a turn after each poll. A NULL watch means: nothing else to look after.
 */
#ifndef OCC_IO_WATCH_H
#define OCC_IO_WATCH_H

#include "lib/base/fault.h"

#include <poll.h>

#define WATCH_DESCRIPTORS 4     /* of a watch */
#define WATCH_OWN_DESCRIPTORS 8 /* of the operation that waits */

struct watch {
    void *subject;
    /* Fills `room` (WATCH_DESCRIPTORS entries: fd and events) and returns how many it filled; lowers *wake_ms
     * (clock_now_ms) to the moment at which it wants a turn even if nothing happens. */
    size_t (*prepare)(void *subject, struct pollfd *room, int64_t *wake_ms);
    /* Looks after its descriptors (revents are set; `count` as prepared). Must not block. Returning false
     * ends the waiting operation with that fault (FAULT_CANCELLED, FAULT_CLAIM_LOST …). */
    bool (*turn)(void *subject, const struct pollfd *ready, size_t count, struct fault *fault) MUST_USE;
};

/* The two halves of a wait, for an operation that has a poll of its own (curl_multi_poll): both accept a NULL
 * watch. `room` has WATCH_DESCRIPTORS entries; their revents are cleared. */
size_t watch_prepare(const struct watch *watch, struct pollfd *room, int64_t *wake_ms);
bool watch_turn(const struct watch *watch, const struct pollfd *ready, size_t count,
                struct fault *fault) MUST_USE;

/* Polls the caller's `own` descriptors (may be none) and the watch's until one of `own` is ready, until
 * `deadline_ms`, or until the watch ends the operation. *ready tells whether one of `own` is ready (their
 * revents are set). False only with the watch's fault. A signal starts the wait again. */
bool watch_wait(const struct watch *watch, struct pollfd *own, size_t count, int64_t deadline_ms, bool *ready,
                struct fault *fault) MUST_USE;

#endif
