/* SPDX-License-Identifier: MIT
 *
 * The supervisor's word to the service manager (sd_notify(3), "NOTIFY_SOCKET"): one datagram of lines
 * NAME=VALUE. Without a service manager nothing happens. Never blocks, unlike libsystemd's own: a datagram
 * for which the manager has no room is dropped, but for the latest word about readiness, which is owed.
 */
#ifndef OCC_WORKER_NOTIFY_H
#define OCC_WORKER_NOTIFY_H

#include "lib/base/build.h"

struct notify;

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment. */
struct notify *notify_open(const void *context) __attribute__((returns_nonnull)) MUST_USE;

/* How often the watchdog wants a sign, in ms; 0: there is none. */
int64_t notify_watchdog_ms(const struct notify *notify);

/* Sends lines as they are, once: "WATCHDOG=1". */
void notify_send(struct notify *notify, const char *lines);

/* "READY=1" or "STOPPING=1": the manager waits for it, so it is sent again by notify_owed() where there was
 * no room. */
void notify_phase(struct notify *notify, const char *lines);
/* To be called now and then. */
void notify_owed(struct notify *notify);

/* STATUS=, when it differs from the last one. Made one line. */
void notify_status(struct notify *notify, const char *format, ...) PRINTF_LIKE(2, 3);

/* EXTEND_TIMEOUT_USEC=: the manager waits this much longer from now. */
void notify_extend(struct notify *notify, int64_t more_ms);

/* The phase RELOADING=1 with the time that systemd 253 wants beside it. */
void notify_reloading(struct notify *notify);

#endif
