/* SPDX-License-Identifier: MIT
 *
 * Whether what a pass is about to do may be done: its IAM questions, asked anew in the trip that confirms
 * claim and target before each effect. For lib/reconcile only.
 *
 * Native IAM answers in that trip. Where an IAM Driver is installed (reconciler_options.authority) the grants
 * are its to give: native IAM still tells whether the actor exists and whether a Restriction denies, and what
 * those do not deny is then asked of the authority, inside the pass's wait, so that the claim is renewed. An
 * authority that fails is a failed dependency: the pass is tried again (or deferred, where it says that it
 * will answer later), and nothing is allowed.
 */
#ifndef OCC_RECONCILE_RIGHTS_H
#define OCC_RECONCILE_RIGHTS_H

#include "lib/iam/decision.h"
#include "lib/reconcile/pass.h"

struct rights;

/* No questions yet; hangs on the pass's memory. */
struct rights *rights_new(struct pass *pass) __attribute__((returns_nonnull));

/* Adds a question for the trips to come; the texts are borrowed. The first is the one that the evidence of
 * what was done names. */
void rights_add(struct rights *rights, const struct iam_question *question);

/* The target of a confirming trip. */
struct rights_target {
    /* Adds what reads the target under the claim's guard. */
    void (*fill)(struct pg_batch *batch, void *subject);
    /* Reads it; *lease_ms is what was left of the lease. False: no row, the claim is lost. What it keeps is
     * copied, as the batch is freed. */
    bool (*read)(const struct pg_batch *batch, void *subject, int64_t *lease_ms);
    void *subject;
};

/* The trip: claim, target and native answers as they are now, in one snapshot. False: *verdict is the end. */
bool rights_confirm(struct rights *rights, const struct rights_target *target,
                    struct verdict *verdict) MUST_USE;

/* After rights_confirm, and after the caller has looked whether the target is still to be acted upon: true
 * when every question is allowed. Else *verdict is the end: the denial of the first question that is not
 * (ACTOR_REVOKED, AUTHORIZATION_DENIED), or the authority's failure. */
bool rights_allow(struct rights *rights, struct verdict *verdict) MUST_USE;

/* What allowed the first question, for the evidence of what was done: see iam_add_evidence(). Hangs on the
 * pass's memory. */
const char *rights_evidence(const struct rights *rights);

#endif
