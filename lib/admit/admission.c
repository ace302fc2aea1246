/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/admission.h"

#include "lib/base/memory.h"
#include "lib/store/audit_entry.h"
#include "lib/store/transaction.h"

#define ATTEMPTS 3

/* The database's own checks are a backstop: what they find slipped in after our look. */
static void explain(struct fault *fault)
{
    static const struct {
        const char *state;
        enum fault_class class;
        const char *code;
        const char *message;
    } known[] = {
        {"23503", FAULT_CONFLICT, "REFERENCE_GONE",
         "Something that this names was removed at the same moment."},
        {"23514", FAULT_INVALID, "VALUE_REFUSED", "The database refuses a value as not acceptable."},
        {"22001", FAULT_INVALID, "VALUE_REFUSED", "The database refuses a value as too long."},
        {"OC001", FAULT_CONFLICT, "WORK_ADMITTED_OTHERWISE",
         "This work was admitted before with another actor, owner or target."},
        {"OC002", FAULT_CONFLICT, "NAMESPACE_NOT_OPEN", "The Namespace does not accept this now."},
        {"OC003", FAULT_CONFLICT, "NAMESPACE_NOT_EMPTY", "The Namespace is not empty."},
    };
    size_t index;

    for (index = 0; index < COUNT_OF(known); index++) {
        if (strcmp(fault->origin, known[index].state) == 0) {
            char state[sizeof fault->origin];

            memcpy(state, fault->origin, sizeof state);
            (void)fault_set(fault, known[index].class, known[index].code, "%s", known[index].message);
            memcpy(fault->origin, state, sizeof state);
            return;
        }
    }
}

static bool commit(struct caller *caller, struct fault *fault)
{
    if (transaction_commit(caller->connection, caller->watch, fault))
        return true;
    if (pg_outcome_unknown(caller->connection))
        return fault_set(
            fault, FAULT_UNAVAILABLE, "OUTCOME_UNKNOWN",
            "The connection broke during the commit: look whether the change was made before you "
            "repeat it.");
    return false;
}

static bool attempt(struct caller *caller, const char *action, admission_body body, void *argument,
                    struct fault *fault)
{
    struct admission admission = {
        .caller = caller,
        .connection = caller->connection,
        .watch = caller->watch,
        .memory = talloc_new(NULL),
        .action = action,
    };
    bool done;

    admission.details = json_new_object(admission.memory);
    json_add_text(admission.details, "serviceKeyId", caller->key_id);
    done = transaction_begin(caller->connection, caller->watch, fault);
    if (done) {
        done = body(&admission, argument, fault) && commit(caller, fault);
        if (!done)
            transaction_rollback(caller->connection, caller->watch);
    }
    talloc_free(admission.memory);
    return done;
}

bool admission_run(struct caller *caller, const char *action, admission_body body, void *argument,
                   struct fault *fault)
{
    unsigned tried = 0;

    while (!attempt(caller, action, body, argument, fault)) {
        caller_settle(caller);
        if (fault->class != FAULT_RETRYABLE || pg_is_broken(caller->connection) || ++tried == ATTEMPTS) {
            explain(fault);
            return false;
        }
    }
    return true;
}

bool admission_authorize(struct admission *admission, const struct iam_question *question,
                         struct fault *fault)
{
    struct iam_decision decision;

    if (!caller_authorize(admission->caller, admission->action, question, &decision, fault))
        return false;
    if (!json_object(admission->details, "decision"))
        iam_add_evidence(admission->details, question, &decision);
    return true;
}

bool admission_authorize_all(struct admission *admission, const struct iam_question *questions, size_t count,
                             struct fault *fault)
{
    return caller_authorize_all(admission->caller, admission->action, questions, count, fault);
}

bool admission_record(struct admission *admission, const char *namespace_id, const char *resource_kind,
                      const char *resource_id, struct fault *fault)
{
    const struct audit_entry entry = {
        .kind = "mutation",
        .actor_id = admission->caller->actor_id,
        .action = admission->action,
        .namespace_id = namespace_id,
        .resource_kind = resource_kind,
        .resource_id = resource_id,
        .outcome = "success",
        .details = admission->details,
    };

    return audit_entry_write(admission->connection, &entry, admission->watch, fault);
}
