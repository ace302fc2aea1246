/* SPDX-License-Identifier: MIT
 *
 * A pass: what is done under one claim. It holds the claim's lease as this process knows it, waits so that
 * the lease is renewed and the host is heard, and ends in a verdict. For lib/reconcile only.
 *
 * The lease is counted from the moment at which the statement that confirmed it was sent, on CLOCK_BOOTTIME:
 * the database counts from when it ran it, which is later, so that this process always lets go first.
 */
#ifndef OCC_RECONCILE_PASS_H
#define OCC_RECONCILE_PASS_H

#include "lib/driver/compute.h"
#include "lib/iam/decision.h"
#include "lib/io/json.h"
#include "lib/reconcile/link.h"
#include "lib/store/outcome.h"

/* What waits look after. */
enum pass_mode {
    PASS_TRIP,   /* the connection is busy with a statement: the host and the lease's end */
    PASS_EFFECT, /* a Driver works: the renewal too, and how long it may take */
    PASS_COMMIT, /* an outcome is under way: the lease's end alone */
};

/* What a pass has seen of a deployment, for its report. The moments are clock_now_ms(); 0: not seen. */
struct deployment_times {
    int64_t prepare_ms; /* what Compute's prepare took, all calls together */
    int64_t unready_ms; /* when it was first found unready */
    int64_t ready_ms;   /* when it was first found ready */
};

struct pass {
    struct reconciler *reconciler;
    const void *memory; /* of this pass */
    char token[UUID_SIZE];
    struct work_item item;
    int64_t begun_ms;

    enum pass_mode mode;
    struct watch watch; /* of the mode that is set */
    int64_t lease_end_ms;
    int64_t effect_end_ms;
    struct pg_batch *renewal; /* under way; NULL: none */
    int64_t renewal_sent_ms;
    int64_t renewal_retry_ms; /* not before, after one that failed */
    struct fault trouble;     /* the database's latest, while the claim is held; class FAULT_NONE: none */
    struct deployment_times times;
    struct compute_failure
        failure;     /* of the runtime, as the Driver's last operation told it; code "": none */
    cJSON *warnings; /* of all operations of this pass; NULL: none */
};

/* Begins a pass for a claim that was confirmed by a statement sent at `sent_ms`. */
void pass_begin(struct pass *pass, struct reconciler *reconciler, const void *memory, const char *token,
                const struct claim *claim, int64_t sent_ms);

/* ---- pass_wait.c */

void pass_set_mode(struct pass *pass, enum pass_mode mode);
/* A statement sent at `sent_ms` found `lease_ms` of the lease left. */
void pass_confirmed(struct pass *pass, int64_t sent_ms, int64_t lease_ms);
/* When a third of the lease has gone. */
int64_t pass_renewal_due_ms(const struct pass *pass);
/* FAULT_CLAIM_LOST CLAIM_LOST, with the database's trouble where that is why; returns false. */
bool pass_lost(const struct pass *pass, const char *why, struct fault *fault);
/* Before and after a Driver's operation. The end waits for a renewal that is under way and tells what came of
 * it. */
void pass_effect_begin(struct pass *pass, int64_t limit_ms);
bool pass_effect_end(struct pass *pass, struct fault *fault) MUST_USE;

/* ---- pass_confirm.c */

/* Sends reads under the claim, in one trip, together with a renewal if that is due; again on a new connection
 * while the lease lasts. `fill` adds the statements to the batch, among them one that reads the target under
 * the claim's guard: its row tells that the claim is live, and what is left of the lease (pass_confirmed).
 * The batch hangs on the pass's memory; *sent_ms is when it went out. Faults: FAULT_CLAIM_LOST,
 * FAULT_CANCELLED, or what else the database says. */
bool pass_ask(struct pass *pass, void (*fill)(struct pg_batch *batch, void *subject), void *subject,
              struct pg_batch **batch, int64_t *sent_ms, struct fault *fault) MUST_USE;

/* ---- pass_times.c */

/* A prepare that began at `begun_ms` (clock_now_ms) has ended: ready, pending, or with another fault. */
void pass_prepared(struct pass *pass, int64_t begun_ms, bool ready, const struct fault *fault);
/* Fills in a report's times. Those of a deployment stay 0 for maintenance and for all other work. */
void pass_tell_times(const struct pass *pass, struct pass_report *report);

/* ---- verdict.c */

struct verdict {
    enum outcome_kind kind;
    bool lost;                  /* publish nothing */
    bool denied;                /* the evidence is a denial */
    bool removes_agent;         /* DONE of an Agent's deletion: by the database's function */
    bool candidate;             /* DEFER of a revision: its deadline is the pass's to decide */
    char code[FAULT_CODE_SIZE]; /* reason code */
    char dependency[24];
    char cause[16];
    uint32_t retry_after_ms;
    /* DONE of an Agent's stop: see struct outcome */
    const char *stopped_active_id;
    const char *stopped;
    const char *evidence;  /* JSON object or NULL; hangs on the pass's memory */
    const char *lifecycle; /* of a revision: its lifecycle event, or NULL */
    const char *refusal;   /* HOLD: what the next pass is told, or NULL; likewise */
};

struct verdict verdict_of(enum outcome_kind kind, const char *code);
/* Its evidence is the fault's message: the code alone does not say which socket, container or object. */
struct verdict verdict_of_fault(const struct pass *pass, const struct fault *fault);
/* For a decision that is not IAM_ALLOWED. */
struct verdict verdict_of_denial(const struct pass *pass, const struct iam_question *question,
                                 const struct iam_decision *decision);
/* How it was decided, for the evidence of what was done: {"decision":{…}}. */
const char *verdict_evidence(const struct pass *pass, const struct iam_question *question,
                             const struct iam_decision *decision);

/* ---- One file a kind: what is to be done with the claimed item */

struct verdict namespace_pass(struct pass *pass);
struct verdict agent_stop_pass(struct pass *pass);
struct verdict agent_delete_pass(struct pass *pass);
struct verdict revision_pass(struct pass *pass);

/* ---- settle.c */

struct settled {
    enum pass_outcome outcome;
    char code[FAULT_CODE_SIZE];
    bool searched;     /* the next claim was asked for, and the answer is known */
    bool exhaustive;   /* and nothing found means that nothing is eligible */
    bool claimed;      /* `next` is ours */
    struct claim next; /* its texts hang on the memory given */
    int64_t next_sent_ms;
};

/* Publishes the verdict; with `next_token`, claims the next item in the same transaction. */
void settle(struct pass *pass, const struct verdict *verdict, const char *next_token, const void *next_memory,
            struct settled *settled);

#endif
