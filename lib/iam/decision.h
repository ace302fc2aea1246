/* SPDX-License-Identifier: MIT
 *
 * Native IAM: may this actor do this to that? Default deny; a matching restriction denies whatever was
 * granted. IAM that cannot be read is a fault of the dependency, never an allow.
 */
#ifndef OCC_IAM_DECISION_H
#define OCC_IAM_DECISION_H

#include "lib/base/identifier.h"
#include "lib/io/json.h"
#include "lib/io/pg.h"

/* One question. `create` is asked of the parent: a Namespace's of the Installation, a child's of its
 * Namespace. */
struct iam_question {
    const char *actor_id;      /* iam_identities.id */
    const char *action;        /* "create" */
    const char *resource_kind; /* "namespace": the kind of the permission */
    const char
        *resource_id; /* the exact resource for bindings and restrictions on it; NULL where it has none yet */
    const char
        *namespace_id; /* the Namespace that it belongs to (a Namespace belongs to itself); NULL: none */
};

enum iam_verdict {
    IAM_ALLOWED,
    IAM_NOT_GRANTED,
    IAM_RESTRICTED,
    IAM_ACTOR_GONE, /* no such identity any more */
};

#define IAM_NATIVE "native-iam" /* as evidence names it */
#define IAM_ID_SIZE 201 /* iam_* ids are text of 1–200 characters; longer in bytes are cut for evidence */

struct iam_decision {
    enum iam_verdict verdict;
    char binding_id[IAM_ID_SIZE];     /* the binding that allowed; else "" */
    char role_id[IAM_ID_SIZE];        /* its role; else "" */
    char restriction_id[IAM_ID_SIZE]; /* the restriction that denied; else "" */
    char driver_id[IAM_ID_SIZE];      /* who decided: IAM_NATIVE, or the installed Driver that was asked for
                                         the grant */
    char reference[IAM_ID_SIZE];      /* what that Driver says for an auditor; else "" */
};

/* The action as permissions and audit name it where they join: "namespace:create". Hangs on `context`. */
const char *iam_permission_text(const void *context, const struct iam_question *question);

/* Adds the question to a batch and reads its answer from the batch's result, so that it travels with other
 * statements in one trip and one snapshot. */
size_t iam_ask(struct pg_batch *batch, const struct iam_question *question);
void iam_answer(const struct pg_result *result, struct iam_decision *decision);

/* The answer of an installed Driver, in place of what the database granted. */
void iam_answer_of_driver(const char *driver_id, bool allowed, const char *reference,
                          struct iam_decision *decision);

/* A decision as evidence: {"driver","permission","verdict"} with "bindingId" and "roleId", or with
 * "restrictionId", or with an IAM Driver's "reference". "driver" is who decided, whatever is selected later.
 * Added to `details` as "decision". */
void iam_add_evidence(cJSON *details, const struct iam_question *question,
                      const struct iam_decision *decision);

#endif
