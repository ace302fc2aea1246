/* SPDX-License-Identifier: MIT
 *
 * The process's clocks, in whole milliseconds. Durations and deadlines count on CLOCK_BOOTTIME, which goes on
 * while the machine sleeps, so that a lease never looks longer than it is. Lifecycle times are PostgreSQL's,
 * never these.
 */
#ifndef OCC_BASE_CLOCK_H
#define OCC_BASE_CLOCK_H

#include "lib/base/build.h"

#define CLOCK_NEVER INT64_MAX

/* Milliseconds since boot. */
int64_t clock_now_ms(void);

/* Microseconds since boot, for measurements. */
int64_t clock_now_us(void);

/* Milliseconds since the Unix epoch, for what outsiders read. */
int64_t clock_epoch_ms(void);

#define CLOCK_TEXT_SIZE 25

/* The time of day as RFC 3339 in UTC with milliseconds: 2026-01-31T23:59:59.123Z. */
void clock_text(char text[CLOCK_TEXT_SIZE]);
/* The same of a moment, in milliseconds since the Unix epoch; one before 1970 or after 9999 becomes the
 * nearest. */
void clock_text_of(int64_t epoch_ms, char text[CLOCK_TEXT_SIZE]);

/* The timeout for poll(2) until `deadline_ms`: 0 when it has passed, -1 for CLOCK_NEVER, else at most an
 * hour. */
int clock_poll_timeout(int64_t deadline_ms);

#endif
