/* SPDX-License-Identifier: MIT
 *
 * The IAM contract of installed Drivers: a decision made elsewhere, instead of by roles and bindings.
 *
 * The actor's existence and Restrictions stay the database's (lib/iam): what those deny is never asked here.
 * An authority that does not answer is a dependency that failed, never an allow.
 */
#ifndef OCC_DRIVER_AUTHORITY_H
#define OCC_DRIVER_AUTHORITY_H

#include "lib/driver/call.h"

#define AUTHORITY_EVIDENCE_SIZE 200

/* As native IAM is asked: see struct iam_question of lib/iam. */
struct authority_question {
    const char *actor_id;
    const char *action;        /* "deploy" */
    const char *resource_kind; /* "agent" */
    const char *resource_id;   /* NULL: it has none yet */
    const char *namespace_id;  /* NULL: none */
};

struct authority_operations {
    bool (*preflight)(void *self, const struct driver_call *call, struct fault *fault) MUST_USE; /* or NULL */
    /* *allowed, and a reference that an auditor can follow ("" for none). */
    bool (*decide)(void *self, const struct driver_call *call, const struct authority_question *question,
                   bool *allowed, char evidence[AUTHORITY_EVIDENCE_SIZE], struct fault *fault) MUST_USE;
};

struct authority {
    const char *id; /* as selected */
    const struct authority_operations *operations;
    void *self;
};

#endif
