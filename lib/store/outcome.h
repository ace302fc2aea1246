/* SPDX-License-Identifier: MIT
 *
 * The end of a claim. Each outcome is one guarded statement: key, token, state and an unexpired lease must
 * all still match, and then the lifecycle change, the evidence and the row's new state are published
 * together; else the claim is lost and nothing is. All of them take their locks in the order Namespace, work.
 *
 * Rules that hold whatever the caller asks: a deferral of an item older than the convergence timeout fails
 * (CONVERGENCE_DEADLINE_EXCEEDED), a retry of the last attempt fails with its own code, and whenever
 * target-ready work fails, a Namespace that is still provisioning becomes failed (K88). A terminal outcome
 * writes one `reconcile` event and at most one lifecycle event, and the latter only where the lifecycle
 * changed; a retry writes one `reconcile` event; a deferral or hand-back only when its code differs from the
 * item's latest (K95).
 *
 * DONE of revision work completes only while its revision is the active one, under the Agent's lock; else it
 * is a retry, ACTIVE_REVISION_CHANGED. A revision's event `activate` is written once, whatever is repeated.
 * What ends a maintenance item makes the next, and a failed deployment leaves no active revision without
 * (maintenance_sql.h).
 */
#ifndef OCC_STORE_OUTCOME_H
#define OCC_STORE_OUTCOME_H

#include "lib/io/pg.h"
#include "lib/store/work.h"

enum outcome_kind {
    /* As wanted. For Namespace work: publishes ready, or the tombstone. For an Agent's stop: clears its
     * active revision where that is still the one that was stopped. */
    OUTCOME_DONE,
    OUTCOME_CLOSE,     /* succeeded without publishing anything: SUPERSEDED_TARGET … */
    OUTCOME_DEFER,     /* converging: attempt given back */
    OUTCOME_RETRY,     /* failed: attempt kept, backoff */
    OUTCOME_FAIL,      /* failed for good */
    OUTCOME_HAND_BACK, /* drain: available now, attempt given back */
    /* Of revision work: refused, but its candidate could not be stopped yet, and would serve on behind a
     * published failure (K93). A deferral that neither attempts nor the deadline end: attempt given back, 1 s
     * doubled by each failed stop, at most 5 min. */
    OUTCOME_HOLD,
};

struct outcome {
    enum outcome_kind kind;
    const struct work_item *item;
    const char *token;
    const char *code;        /* reason code; for DONE of a Namespace the row gets RECONCILE_SUCCEEDED */
    bool denied;             /* FAIL: the evidence is of kind authorization_denial, outcome denied */
    const char *evidence;    /* JSON object for the event's details besides the fixed ones; NULL: none */
    uint32_t retry_after_ms; /* DEFER: what a server asked for, at most 30 s are taken; 0: age / 40 */
    int64_t convergence_timeout_ms; /* DEFER */
    unsigned max_attempts;          /* RETRY */
    /* ---- DONE of an Agent's stop */
    const char *stopped_active_id; /* the active revision that was stopped; NULL: none was active */
    const char *stopped;           /* JSON array of the ids of all that was stopped */
    /* ---- Of revision work only */
    bool candidate;        /* DEFER: not ended by its deadline here, as the pass stops the candidate first */
    const char *lifecycle; /* DONE, CLOSE: the lifecycle event, "activate" or "supersede"; NULL: none */
    int64_t maintenance_interval_ms; /* DONE: when the next maintenance is due, that the Driver asks for;
                                        0: none */
    const char *refusal; /* HOLD: JSON object that the next pass is told (revision_target.refusal); NULL:
                            what was kept stays */
};

enum outcome_state { OUTCOME_QUEUED, OUTCOME_SUCCEEDED, OUTCOME_FAILED };

/* What the database made of it. */
struct outcome_record {
    enum outcome_state state;
    char code[FAULT_CODE_SIZE]; /* SUPERSEDED_TARGET when a DONE found its target moved on */
};

/* Adds the outcome to a batch. */
size_t outcome_add(struct pg_batch *batch, const struct outcome *outcome);
/* Its answer: false when the claim was lost and nothing was published. */
bool outcome_read(const struct pg_result *result, struct outcome_record *record);

/* What became of an outcome whose commit is not known. */
enum outcome_fate {
    FATE_PENDING, /* it did not happen, and the claim is live: send it again */
    FATE_DONE,    /* it happened: *record is set */
    FATE_LOST,    /* it did not happen, and the claim is lost */
    FATE_UNKNOWN, /* somebody has claimed the item since: it happened or was recovered before */
};

/* Reads the row back under the claim's token, which stays in it until the next claim. *lease_ms is what is
 * left of the lease when the fate is FATE_PENDING. */
bool outcome_find(struct pg *connection, const struct outcome *outcome, const struct watch *watch,
                  enum outcome_fate *fate, struct outcome_record *record, int64_t *lease_ms,
                  struct fault *fault) MUST_USE;

#endif
