/* SPDX-License-Identifier: MIT
 *
 * One admission: decision, check, change, evidence and work in one transaction.
 */
#ifndef OCC_ADMIT_ADMISSION_H
#define OCC_ADMIT_ADMISSION_H

#include "lib/admit/caller.h"

/* An admission under way. What the body makes hangs on `memory`, which ends with the attempt; results for the
 * user hang on what the body's own argument says. */
struct admission {
    struct caller *caller;
    struct pg *connection;
    const struct watch *watch;
    void *memory;
    const char *action; /* as the audit names it */
    cJSON *details;     /* of the evidence; holds the decision */
};

typedef bool (*admission_body)(struct admission *admission, void *argument, struct fault *fault);

/* Runs `body` in a transaction and commits it, or gives everything up and leaves the evidence of a refusal.
 * Races with other admissions are tried again, at most three times: a body must not keep anything of an
 * earlier attempt.
 *
 * Faults: the body's; FAULT_UNAVAILABLE OUTCOME_UNKNOWN when the connection broke during the commit;
 * FAULT_CONFLICT where the database's own checks refused what changed in between. */
bool admission_run(struct caller *caller, const char *action, admission_body body, void *argument,
                   struct fault *fault) MUST_USE;

/* Asks for a permission; the decision goes into the evidence. */
bool admission_authorize(struct admission *admission, const struct iam_question *question,
                         struct fault *fault) MUST_USE;

/* Asks for several more, none of which is the one that the evidence names. */
bool admission_authorize_all(struct admission *admission, const struct iam_question *questions, size_t count,
                             struct fault *fault) MUST_USE;

/* Writes the one audit event of a change that was made. */
bool admission_record(struct admission *admission, const char *namespace_id, const char *resource_kind,
                      const char *resource_id, struct fault *fault) MUST_USE;

#endif
