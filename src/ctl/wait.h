/* SPDX-License-Identifier: MIT
 *
 * --wait: follows one item of work to its end, and shows on stderr how it goes.
 *
 * On a terminal one line is rewritten; elsewhere there is a line for each change of state, attempt or code. A
 * database that goes away is waited for as well. SIGINT and SIGTERM end the process as they do, after a word
 * that the work goes on.
 */
#ifndef OCC_CTL_WAIT_H
#define OCC_CTL_WAIT_H

#include "src/ctl/ctl.h"

/* --wait and --timeout-ms, to be put into a command's own table. */
#define WAIT_OPTIONS                                                                                         \
    {.flag = "wait",                                                                                         \
     .type = OPTION_SWITCH,                                                                                  \
     .help = "Wait until the work has ended, showing how it goes on stderr."},                               \
    {                                                                                                        \
        .flag = "timeout-ms", .type = OPTION_NUMBER, .least = 1, .largest = OPTION_MILLISECONDS_MOST,        \
        .value = "MS", .fallback = "900000", .help = "How long --wait waits; then the exit status is 75."    \
    }

/* False when --timeout-ms was given without --wait: to be asked before anything is admitted. */
bool wait_is_sound(struct ctl *ctl, struct fault *fault) MUST_USE;

/* What the work is to bring about. Work that was superseded has succeeded, and yet is not what was waited
 * for.
 */
struct wait_goal {
    const char *what; /* "Namespace" */
    const char *id;
    const char *wanted; /* what `describe` says of it then: "ready" */
    bool (*describe)(struct ctl *ctl, const void *context, const char *id, const char **text,
                     struct fault *fault) MUST_USE;
};

/* Waits for the end of the work `work_id`, which is about `name`. True when it has ended: ctl->status is
 * CTL_EXIT_ENDED_OTHERWISE when it failed, or when it succeeded and the goal (NULL: none) is not there all
 * the same. Fault: FAULT_RETRYABLE WAIT_TIMED_OUT (exit status 75). */
bool wait_for_work(struct ctl *ctl, const char *work_id, const char *name, const struct wait_goal *goal,
                   struct fault *fault) MUST_USE;

#endif
