/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/caller.h"

#include "lib/admit/credential.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/audit_entry.h"
#include "lib/store/service_key.h"

static bool check_holder(const struct service_key_holder *holder, struct fault *fault)
{
    switch (holder->state) {
    case SERVICE_KEY_VALID:
        return true;
    case SERVICE_KEY_UNKNOWN:
        return fault_set(fault, FAULT_DENIED, "SERVICE_KEY_UNKNOWN",
                         "The service key is not known to this Installation.");
    case SERVICE_KEY_REVOKED:
        return fault_set(fault, FAULT_DENIED, "SERVICE_KEY_REVOKED",
                         "The service key \"%s\" was revoked at %s.", holder->name, holder->ended_at);
    case SERVICE_KEY_EXPIRED:
        break;
    }
    return fault_set(fault, FAULT_DENIED, "SERVICE_KEY_EXPIRED", "The service key \"%s\" expired at %s.",
                     holder->name, holder->ended_at);
}

bool caller_authenticate(struct pg *connection, const void *context, const struct key_file *file,
                         const struct watch *watch, struct caller **caller, struct fault *fault)
{
    struct caller *made = mem_new(context, struct caller);
    struct service_key_holder holder;
    struct installation *installation;
    char hash[SERVICE_KEY_HASH_SIZE];

    credential_hash_service_key(file->key, hash);
    if (!installation_require(connection, made, watch, &installation, fault))
        return false;
    if (!text_equal(file->installation_id, installation->id))
        return fault_set(fault, FAULT_DENIED, "SERVICE_KEY_INSTALLATION_MISMATCH",
                         "The service key is for the Installation %s, and this database describes %s.",
                         file->installation_id, installation->id);
    if (!service_key_authenticate(connection, made, hash, watch, &holder, fault) ||
        !check_holder(&holder, fault))
        return false;
    made->connection = connection;
    made->watch = watch;
    made->installation = installation;
    made->actor_id = holder.service_principal_id;
    made->key_id = holder.id;
    made->key_name = holder.name;
    *caller = made;
    return true;
}

/* "the Namespace ns_…", "the Installation ins_…": where a permission is missing. */
static void describe_place(const struct caller *caller, const struct iam_question *question, char *place,
                           size_t size)
{
    if (question->resource_id && !text_equal(question->resource_kind, "namespace") &&
        !text_equal(question->resource_kind, "installation"))
        (void)snprintf(place, size, "the %s %s", question->resource_kind, question->resource_id);
    else if (question->namespace_id)
        (void)snprintf(place, size, "the Namespace %s", question->namespace_id);
    else
        (void)snprintf(place, size, "the Installation %s", caller->installation->id);
}

static bool refuse(struct caller *caller, const struct iam_question *question,
                   const struct iam_decision *decision, struct fault *fault)
{
    const bool own = text_equal(question->actor_id, caller->actor_id);
    char place[320];

    describe_place(caller, question, place, sizeof place);
    if (decision->verdict == IAM_ACTOR_GONE)
        return fault_set(fault, FAULT_DENIED, "ACTOR_REVOKED",
                         "The %sservice principal %s does not exist any more.", own ? "" : "Agent's ",
                         question->actor_id);
    if (decision->verdict == IAM_RESTRICTED)
        return fault_set(fault, FAULT_DENIED, "AUTHORIZATION_DENIED",
                         "The restriction %s denies the permission %s:%s on %s.", decision->restriction_id,
                         question->resource_kind, question->action, place);
    if (!text_equal(decision->driver_id, IAM_NATIVE))
        return fault_set(fault, FAULT_DENIED, "AUTHORIZATION_DENIED",
                         "The IAM Driver %s does not give the %sservice principal %s the permission %s:%s on "
                         "%s.",
                         decision->driver_id, own ? "" : "Agent's ", question->actor_id,
                         question->resource_kind, question->action, place);
    return fault_set(fault, FAULT_DENIED, "AUTHORIZATION_DENIED",
                     "The %sservice principal %s does not have the permission %s:%s on %s.",
                     own ? "" : "Agent's ", question->actor_id, question->resource_kind, question->action,
                     place);
}

/* Judges a decision; the refusal waits for caller_settle(). */
static bool judge(struct caller *caller, const char *action, const struct iam_question *asked,
                  const struct iam_decision *decision, struct fault *fault)
{
    if (decision->verdict == IAM_ALLOWED)
        return true;
    caller->refused = true;
    caller->refused_action = action;
    caller->refused_question = *asked;
    caller->refused_decision = *decision;
    /* Identifiers of a question may belong to a transaction's memory which ends before the evidence is
     * written. */
    caller->refused_question.actor_id = mem_text(caller, asked->actor_id);
    if (asked->resource_id)
        caller->refused_question.resource_id = mem_text(caller, asked->resource_id);
    if (asked->namespace_id)
        caller->refused_question.namespace_id = mem_text(caller, asked->namespace_id);
    return refuse(caller, asked, decision, fault);
}

bool caller_authorize(struct caller *caller, const char *action, const struct iam_question *question,
                      struct iam_decision *decision, struct fault *fault)
{
    struct iam_question asked = *question;

    if (!asked.actor_id)
        asked.actor_id = caller->actor_id;
    return caller_decide(caller, &asked, 1, decision, fault) &&
           judge(caller, action, &asked, decision, fault);
}

bool caller_authorize_all(struct caller *caller, const char *action, const struct iam_question *questions,
                          size_t count, struct fault *fault)
{
    struct iam_decision *decisions = mem_array(NULL, struct iam_decision, count + 1);
    bool fine = caller_decide(caller, questions, count, decisions, fault);
    size_t index;

    for (index = 0; fine && index < count; index++) {
        struct iam_question asked = questions[index];

        if (!asked.actor_id)
            asked.actor_id = caller->actor_id;
        fine = judge(caller, action, &asked, &decisions[index], fault);
    }
    talloc_free(decisions);
    return fine;
}

void caller_settle(struct caller *caller)
{
    const struct iam_question *question = &caller->refused_question;
    struct audit_entry entry = {
        .kind = "authorization_denial",
        .actor_id = caller->actor_id,
        .action = caller->refused_action,
        .namespace_id = question->namespace_id,
        .resource_kind = question->resource_kind,
        .resource_id = question->resource_id,
        .outcome = "denied",
    };
    void *scratch;
    cJSON *details;
    struct fault ignored;

    if (!caller->refused)
        return;
    caller->refused = false;
    scratch = talloc_new(caller);
    details = json_new_object(scratch);
    json_add_text(details, "serviceKeyId", caller->key_id);
    iam_add_evidence(details, question, &caller->refused_decision);
    if (!text_equal(question->actor_id, caller->actor_id))
        json_add_text(details, "identityId", question->actor_id);
    entry.details = details;
    /* "create" is asked of the parent: that is what the evidence names. */
    if (!question->resource_id) {
        entry.resource_kind = question->namespace_id ? "namespace" : "installation";
        entry.resource_id = question->namespace_id ? question->namespace_id : caller->installation->id;
    }
    (void)!audit_entry_write(caller->connection, &entry, caller->watch, &ignored);
    talloc_free(scratch);
}

bool caller_may(struct caller *caller, const char *action, const struct iam_question *question,
                struct fault *fault)
{
    struct iam_decision decision;

    if (caller_authorize(caller, action, question, &decision, fault))
        return true;
    caller_settle(caller);
    return false;
}

struct iam_question caller_on_installation(const struct caller *caller, const char *action)
{
    return (struct iam_question){
        .action = action,
        .resource_kind = "installation",
        .resource_id = caller->installation->id,
    };
}

struct iam_question caller_on_namespace(const char *namespace_id, const char *action)
{
    return (struct iam_question){
        .action = action,
        .resource_kind = "namespace",
        .resource_id = namespace_id,
        .namespace_id = namespace_id,
    };
}
