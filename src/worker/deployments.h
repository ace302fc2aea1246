/* SPDX-License-Identifier: MIT
 *
 * How deployments come along: what the passes of each, by any of this worker's children, add up to. A child
 * knows its own pass alone, and may die; the supervisor keeps the sums from the first pass that it hears of
 * to the item's end. A worker that starts begins with none. Beyond DEPLOYMENTS_MOST the one that was not
 * heard of for the longest time is forgotten, and begins again.
 */
#ifndef OCC_WORKER_DEPLOYMENTS_H
#define OCC_WORKER_DEPLOYMENTS_H

#include "lib/reconcile/host.h"

#define DEPLOYMENTS_MOST 256

struct deployment {
    char key[PASS_KEY_SIZE];
    uint64_t heard; /* the number of the report that was the last of it; 0: the place is free */
    int64_t passes, prepare_ms;
    int64_t unready_ms, ready_ms; /* when it was first seen so; 0: not yet */
};

struct deployments {
    struct deployment list[DEPLOYMENTS_MOST];
    uint64_t reports;
};

/* What worker.completed tells of a deployment, in milliseconds. */
struct deployment_timing {
    int64_t passes;
    int64_t prepare_ms;        /* all passes' */
    int64_t readiness_wait_ms; /* from first unready to first ready, or to now; 0: never seen unready */
    int64_t activation_ms;     /* from first ready to the end; -1: it is not activated, or nobody saw it */
    int64_t elapsed_ms;        /* since the admission */
};

/* A pass has ended at `now_ms` and reports. False: it is of no deployment. Forgets the item where that has
 * ended too. */
bool deployments_reported(struct deployments *deployments, const struct pass_report *report, int64_t now_ms,
                          struct deployment_timing *timing);

/* A child has died in a pass of this deployment. */
void deployments_crashed(struct deployments *deployments, const char *key);

/* The item's claim was recovered, from a child of ours or from anybody. False: nothing is known of it. */
bool deployments_recovered(struct deployments *deployments, const struct pass_report *report, int64_t now_ms,
                           struct deployment_timing *timing);

#endif
