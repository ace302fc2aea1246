/* SPDX-License-Identifier: MIT
 *
 * The dispatcher's look at the queue: one read-only statement a turn, which no volatile function and no exact
 * lane count makes slow.
 */
#ifndef OCC_STORE_SURVEY_H
#define OCC_STORE_SURVEY_H

#include "lib/io/pg.h"

struct survey {
    size_t eligible;     /* rows that could be claimed now, counted up to `idle` */
    int64_t next_due_ms; /* until the next queued row becomes available; 0: now; -1: no queued row */
    int64_t
        next_expiry_ms; /* until the earliest lease of a claimed row runs out; 0: passed; -1: none claimed */
    bool exhausted;     /* a queued row has used up its attempts: recovery is due */
    bool counted;       /* the two figures below are there */
    int64_t pending;    /* queued and claimed rows */
    int64_t oldest_pending_age_ms; /* 0 where nothing is pending */
};

/* `idle`: how many reconcilers wait for work; `count_backlog`: also fill the last two (the health query). */
bool survey_take(struct pg *connection, size_t idle, unsigned max_attempts, bool count_backlog,
                 const struct watch *watch, struct survey *survey, struct fault *fault) MUST_USE;

#endif
