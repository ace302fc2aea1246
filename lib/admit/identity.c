/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/identity.h"

#include "lib/admit/policy.h"
#include "lib/admit/policy_change.h"
#include "lib/base/text.h"

#define EXTERNAL_CHARACTERS 512

struct request {
    const void *context;
    const char *id, *issuer, *subject;
    const cJSON **created;
};

static bool check_external(const char *what, const char *text, struct fault *fault)
{
    if (!text_is_empty(text) && text_is_printable(text) && text_characters(text) <= EXTERNAL_CHARACTERS)
        return true;
    return fault_set(fault, FAULT_INVALID, "IDENTITY_INVALID",
                     "The %s must be 1 to %d characters without control characters.", what,
                     EXTERNAL_CHARACTERS);
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    char id[UUID_SIZE];
    bool inserted;

    uuid_new(id);
    if (!policy_begin(admission, fault) ||
        !identity_insert(admission->connection, id, request->issuer, request->subject, admission->watch,
                         &inserted, fault))
        return false;
    if (!inserted)
        return fault_set(fault, FAULT_CONFLICT, "IDENTITY_EXISTS",
                         "The subject \"%s\" of the issuer \"%s\" has an identity already.", request->subject,
                         request->issuer);
    json_add_text(admission->details, "kind", request->issuer ? "principal" : "service_principal");
    return admission_record(admission, NULL, "iam_identity", id, fault) &&
           identity_find(admission->connection, request->context, id, admission->watch, request->created,
                         fault);
}

bool identity_create(struct caller *caller, const void *context, const char *issuer, const char *subject,
                     const cJSON **created, struct fault *fault)
{
    struct request request = {context, NULL, issuer, subject, created};

    if (!issuer != !subject)
        return fault_set(fault, FAULT_INVALID, "IDENTITY_INVALID",
                         "A person has an issuer and a subject; a service principal has neither.");
    if (issuer && (!check_external("issuer", issuer, fault) || !check_external("subject", subject, fault)))
        return false;
    return admission_run(caller, "openclaw.iam.identities.create", create, &request, fault);
}

static bool remove_one(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const cJSON *found;
    bool deleted;

    if (!policy_begin(admission, fault) || !identity_find(admission->connection, admission->memory,
                                                          request->id, admission->watch, &found, fault))
        return false;
    if (!found)
        return fault_set(fault, FAULT_NOT_FOUND, "IDENTITY_NOT_FOUND", "There is no identity \"%s\".",
                         request->id);
    if (json_text(found, "agentId"))
        return fault_set(fault, FAULT_CONFLICT, "IDENTITY_OF_AGENT",
                         "The identity %s is the service principal of the Agent %s and goes with it.",
                         request->id, json_text(found, "agentId"));
    if (text_equal(request->id, admission->caller->actor_id))
        return fault_set(fault, FAULT_CONFLICT, "IDENTITY_IN_USE",
                         "The identity %s is the one that you are asking with.", request->id);
    if (!policy_unused(admission, "identity", request->id, fault) ||
        !identity_delete(admission->connection, request->id, admission->watch, &deleted, fault) ||
        !policy_keep_administrator(admission, fault))
        return false;
    json_add_text(admission->details, "kind", json_text(found, "kind"));
    return admission_record(admission, NULL, "iam_identity", request->id, fault);
}

bool identity_remove(struct caller *caller, const char *id, struct fault *fault)
{
    struct request request = {.id = id};

    return admission_run(caller, "openclaw.iam.identities.delete", remove_one, &request, fault);
}
