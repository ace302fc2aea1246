/* SPDX-License-Identifier: MIT
 *
 * Who is asking, and what they may do. Every operation of this layer is asked by a caller who was
 * authenticated by a service key, goes through IAM, and leaves evidence of a refusal.
 *
 * Native IAM decides, or an installed Driver where one is selected (`authority`): then the database still
 * says whether the actor exists and what Restrictions deny, and the Driver is asked for the grant instead of
 * roles and bindings. One that does not answer is a dependency that failed, never an allow.
 */
#ifndef OCC_ADMIT_CALLER_H
#define OCC_ADMIT_CALLER_H

#include "lib/admit/key_file.h"
#include "lib/driver/authority.h"
#include "lib/iam/decision.h"
#include "lib/io/json.h"
#include "lib/store/installation.h"

struct caller {
    struct pg *connection;
    const struct watch *watch; /* may be NULL */
    /* What ends a Driver's wait in place of `watch`, and no statement's; NULL: `watch` does. */
    const struct watch *driver_watch;
    const struct installation *installation;
    const char *actor_id; /* the service principal */
    const char *key_id;
    const char *key_name;
    const struct authority *authority; /* the selected IAM Driver, borrowed; NULL: native IAM */
    /* The refusal that is not in the audit yet; see caller_settle(). */
    bool refused;
    const char *refused_action;
    struct iam_question refused_question;
    struct iam_decision refused_decision;
};

/* Authenticates; the caller hangs on `context`. Faults: FAULT_DENIED SERVICE_KEY_UNKNOWN,
 * SERVICE_KEY_REVOKED, SERVICE_KEY_EXPIRED, SERVICE_KEY_INSTALLATION_MISMATCH; FAULT_CONFIGURATION
 * INSTALLATION_NOT_BOOTSTRAPPED; the database's. */
bool caller_authenticate(struct pg *connection, const void *context, const struct key_file *file,
                         const struct watch *watch, struct caller **caller, struct fault *fault) MUST_USE;

/* Decides questions, in the caller's transaction if there is one; one that names no actor is about the
 * caller. Nothing is refused here, and no evidence is written. With an IAM Driver each is a question to it;
 * all of them together have CALLER_DECIDE_MS, which is less than a transaction may idle. Faults: the
 * database's; FAULT_UNAVAILABLE with the Driver's own code, or IAM_TIME_EXCEEDED. */
bool caller_decide(struct caller *caller, const struct iam_question *questions, size_t count,
                   struct iam_decision *decisions, struct fault *fault) MUST_USE;

#define CALLER_DECIDE_MS 30000

/* Asks IAM, in the caller's transaction if there is one; a question that names no actor is about the caller.
 * `action` is what is being tried, as the audit names it ("openclaw.namespaces.create"). Where it is refused:
 * FAULT_DENIED AUTHORIZATION_DENIED, whose message says which permission on which resource is missing, or
 * which restriction denies it; and the refusal waits for caller_settle(). */
bool caller_authorize(struct caller *caller, const char *action, const struct iam_question *question,
                      struct iam_decision *decision, struct fault *fault) MUST_USE;

/* The same for several questions; the first that is refused is told. */
bool caller_authorize_all(struct caller *caller, const char *action, const struct iam_question *questions,
                          size_t count, struct fault *fault) MUST_USE;

/* Writes the evidence of a refusal, if there is one, outside of any transaction. A fault here is not told:
 * the refusal itself is what the user must hear. */
void caller_settle(struct caller *caller);

/* caller_authorize() for what only reads: settled at once. */
bool caller_may(struct caller *caller, const char *action, const struct iam_question *question,
                struct fault *fault) MUST_USE;

/* The questions that operators' commands ask. */
struct iam_question caller_on_installation(const struct caller *caller, const char *action);
struct iam_question caller_on_namespace(const char *namespace_id, const char *action);

/* Which of the questions about the caller are answered with yes; nothing of it is evidence. For lists that
 * show what one may read. */
bool caller_filter(struct caller *caller, const struct iam_question *questions, size_t count, bool *allowed,
                   struct fault *fault) MUST_USE;

/* Of the Namespaces in `ids`, those that the caller may read, in the same order; hangs on `context`. */
bool caller_readable_namespaces(struct caller *caller, const void *context, const char *const *ids,
                                size_t count, const char ***readable, size_t *readable_count,
                                struct fault *fault) MUST_USE;

/* Of documents that have "id" and "namespaceId" of resources of one kind, those that the caller may read, as
 * a new array that hangs on `context`. */
bool caller_readable_documents(struct caller *caller, const void *context, const char *resource_kind,
                               const cJSON *documents, const cJSON **readable, struct fault *fault) MUST_USE;

#endif
