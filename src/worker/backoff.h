/* SPDX-License-Identifier: MIT
 *
 * How long to wait before something is tried again: doubled with each failure, from `least_ms` to `most_ms`,
 * and back at the start after it held for `healthy_ms`. Pure: the caller brings the time.
 */
#ifndef OCC_WORKER_BACKOFF_H
#define OCC_WORKER_BACKOFF_H

#include "lib/base/build.h"

struct backoff {
    int64_t least_ms, most_ms;
    int64_t healthy_ms;
    unsigned failures; /* in a row */
};

/* For children: 100 ms … 30 s, reset by a healthy minute. */
struct backoff backoff_for_children(void);
/* For the database: 100 ms … 5 s, reset by ten good seconds. */
struct backoff backoff_for_database(void);

/* Notes a failure of what had lived for `lived_ms`; returns how long to wait. */
int64_t backoff_failed(struct backoff *backoff, int64_t lived_ms);

void backoff_reset(struct backoff *backoff);

/* It worked, however briefly: what fails next is tried again soon, in least_ms * 2^BACKOFF_BRIEF at most. A
 * path that comes and goes is one on which every chance counts; one that is dead never works. */
#define BACKOFF_BRIEF 2
void backoff_worked(struct backoff *backoff);

/* True when the longest delay has been reached. */
bool backoff_is_exhausted(const struct backoff *backoff);

/* A limit over all slots together: `burst` starts at once, then one each `interval_ms`. */
struct rate {
    unsigned burst;
    int64_t interval_ms;
    unsigned left;
    int64_t refilled_ms;
};

/* True when one more may start now; then it is counted. */
bool rate_take(struct rate *rate, int64_t now_ms);

/* When the next may start: now or later. */
int64_t rate_next_ms(const struct rate *rate, int64_t now_ms);

#endif
