/* SPDX-License-Identifier: MIT
 *
 * What a reconciler tells the process that hosts it, and what it hears from there. src/worker makes this out
 * of the channel to the supervisor; tests make it out of a pipe.
 */
#ifndef OCC_RECONCILE_HOST_H
#define OCC_RECONCILE_HOST_H

#include "lib/base/fault.h"
#include "lib/base/identifier.h"
#include "lib/store/work.h"

enum host_order {
    HOST_CONTINUE,
    HOST_FINISH, /* finish the pass under way, claim nothing more */
    HOST_ABORT,  /* stop the effect and hand the claim back now (drain time is over) */
};

enum pass_outcome {
    PASS_SUCCESS,     /* terminal, as wanted */
    PASS_PENDING,     /* deferred: converging */
    PASS_RETRY,       /* queued again after a failure */
    PASS_PERMANENT,   /* terminal, failed */
    PASS_CLAIM_LOST,  /* published nothing */
    PASS_HANDED_BACK, /* drain: attempt given back */
    PASS_ERROR,       /* the outcome could not be stored, or is not known */
};

/* "success", "pending", "retry", "permanent", "claim_lost", "pending" for a hand-back, "error". */
const char *pass_outcome_name(enum pass_outcome outcome);

#define PASS_KEY_SIZE 160 /* longer keys are cut in reports: they are for people there */

/* The end of a pass: fixed size, so that it travels in one message. */
struct pass_report {
    char token[UUID_SIZE];
    char key[PASS_KEY_SIZE];
    char namespace_id[IDENTIFIER_SIZE];
    char agent_id[IDENTIFIER_SIZE];
    char revision_id[IDENTIFIER_SIZE];
    char code[FAULT_CODE_SIZE]; /* what worker.completed reports: NAMESPACE_RECONCILED … */
    char dependency[24];
    char cause[16];
    enum work_kind kind;
    enum pass_outcome outcome;
    uint32_t attempt;
    uint32_t duration_ms; /* of this pass */
    uint32_t waited_ms;   /* from available to claimed */
    /* Of a deployment (revision work that is no maintenance); else all 0. Moments are clock_now_ms(), which
     * all processes share; whoever hosts the reconcilers adds up the passes of an item. */
    uint32_t deployment; /* 1: it is one */
    uint32_t elapsed_ms; /* since the admission */
    uint32_t prepare_ms; /* what Compute's prepare took in this pass */
    int64_t unready_ms;  /* when it was first seen unready in this pass; 0: it was not */
    int64_t ready_ms;    /* when it was first seen ready; 0: it was not */
};

struct reconcile_host {
    void *subject;
    int descriptor; /* readable when there may be an order; polled in every wait */
    /* Reads what has arrived, never blocks, and tells the strongest order so far. A host that has gone (end
     * of file) is HOST_ABORT. */
    enum host_order (*order)(void *subject);
    /* Announcements. They wait for room (looking for an end of the host all the while) and return false when
     * the host is gone: then nothing more may be done. All are made before the first effect.
     *
     * An outcome and the next claim are one transaction. Between `token` and what answers it (`claimed` with
     * the same token, another `token`, or rest), two claims may therefore be alive in the database: the
     * pass's, until its `report`, and the announced one. Whoever takes over for a dead reconciler looks for
     * both. `report` comes before the `claimed` of the next item. */
    bool (*token)(void *subject, const char token[UUID_SIZE]);
    bool (*claimed)(void *subject, const char token[UUID_SIZE], const struct work_item *item);
    /* The claim was confirmed by a renewal or a re-read: the beacon by which a hung pass is told from a long
     * one. Never waits: a beacon for which there is no room is dropped. */
    void (*renewed)(void *subject);
    bool (*report)(void *subject, const struct pass_report *report);
};

#endif
