/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/service_account.h"

#include "lib/admit/name.h"
#include "lib/admit/place.h"
#include "lib/base/identifier.h"
#include "lib/base/text.h"
#include "lib/store/service_account.h"
#include "lib/store/stored_secret.h"

struct request {
    const void *context;
    const char *namespace_text;
    const char *text;   /* of what is there: ID or name */
    const char *name;   /* new; NULL: stays */
    const char *secret; /* the credential's; NULL: stays */
    const cJSON **document;
};

static bool missing(const char *text, struct fault *fault)
{
    return fault_set(fault, FAULT_NOT_FOUND, "SERVICE_ACCOUNT_NOT_FOUND",
                     "There is no service account with the ID or exact name \"%s\" there.", text);
}

static struct iam_question question_of(const struct service_account_row *row, const char *action)
{
    return (struct iam_question){
        .action = action,
        .resource_kind = "service_account",
        .resource_id = row->id,
        .namespace_id = row->namespace_id,
    };
}

/* Finds the Namespace, which is kept, and then the account, which is held. */
static bool enter(struct admission *admission, const struct request *request, struct namespace_row **place,
                  struct service_account_row **row, struct fault *fault)
{
    const char *namespace_text = request->namespace_text;
    struct service_account_row *found = NULL;

    if (!place_needed(namespace_text, request->text, "sa_", "A service account", fault))
        return false;
    if (!namespace_text) {
        if (!service_account_find(admission->connection, admission->memory, NULL, request->text, false,
                                  admission->watch, &found, fault))
            return false;
        if (!found)
            return missing(request->text, fault);
        namespace_text = found->namespace_id;
    }
    if (!place_enter(admission, namespace_text, place, fault) ||
        !service_account_find(admission->connection, admission->memory, (*place)->id, request->text, true,
                              admission->watch, &found, fault))
        return false;
    if (!found)
        return missing(request->text, fault);
    *row = found;
    return true;
}

/* The foreign key keeps the Secret from now on. */
static bool find_credential(struct admission *admission, const char *text, struct service_account_row *row,
                            struct fault *fault)
{
    struct iam_question question = {
        .action = "read", .resource_kind = "secret", .namespace_id = row->namespace_id};
    struct stored_secret_row *secret;

    if (!stored_secret_find(admission->connection, admission->memory, row->namespace_id, text, false,
                            admission->watch, &secret, fault))
        return false;
    if (!secret)
        return fault_set(fault, FAULT_NOT_FOUND, "SECRET_NOT_FOUND",
                         "There is no Secret with the ID or exact name \"%s\" in the Namespace %s.", text,
                         row->namespace_id);
    question.resource_id = row->secret_id = secret->id;
    return admission_authorize(admission, &question, fault);
}

static bool taken(const struct service_account_row *row, const struct namespace_row *place,
                  struct fault *fault)
{
    return fault_set(fault, FAULT_CONFLICT, "SERVICE_ACCOUNT_NAME_TAKEN",
                     "There is a service account \"%s\" in the Namespace \"%s\" already.", row->name,
                     place->name);
}

static bool finish(struct admission *admission, const struct request *request,
                   const struct service_account_row *row, struct fault *fault)
{
    json_add_text(admission->details, "name", row->name);
    json_add_text(admission->details, "secretId", row->secret_id);
    return admission_record(admission, row->namespace_id, "service_account", row->id, fault) &&
           (!request->document || service_account_document(admission->connection, request->context, row->id,
                                                           admission->watch, request->document, fault));
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    const struct request *request = argument;
    struct iam_question question = {.action = "create", .resource_kind = "service_account"};
    char id[IDENTIFIER_SIZE];
    struct service_account_row row = {.id = id, .name = request->name};
    struct namespace_row *place;
    bool done;

    if (!place_enter(admission, request->namespace_text, &place, fault))
        return false;
    question.namespace_id = row.namespace_id = place->id;
    if (!admission_authorize(admission, &question, fault) || !place_open(place, false, fault) ||
        !find_credential(admission, request->secret, &row, fault))
        return false;
    identifier_new(id, "sa_");
    if (!service_account_insert(admission->connection, &row, admission->watch, &done, fault))
        return false;
    return done ? finish(admission, request, &row, fault) : taken(&row, place, fault);
}

bool service_account_create(struct caller *caller, const void *context, const char *namespace_text,
                            const char *name, const char *secret, const cJSON **created, struct fault *fault)
{
    struct request request = {
        .context = context,
        .namespace_text = namespace_text,
        .name = name,
        .secret = secret,
        .document = created,
    };

    return place_needed(namespace_text, "", "sa_", "A service account", fault) &&
           name_check("The service account's name", name, fault) &&
           admission_run(caller, "openclaw.service-accounts.create", create, &request, fault);
}

static bool update(struct admission *admission, void *argument, struct fault *fault)
{
    const struct request *request = argument;
    struct service_account_row *row;
    struct iam_question question;
    struct namespace_row *place;
    bool done;

    if (!enter(admission, request, &place, &row, fault))
        return false;
    question = question_of(row, "update");
    if (!admission_authorize(admission, &question, fault) ||
        (request->secret && !find_credential(admission, request->secret, row, fault)))
        return false;
    if (request->name && !text_equal(row->name, request->name)) {
        json_add_text(admission->details, "formerName", row->name);
        row->name = request->name;
    }
    if (!service_account_change(admission->connection, row, admission->watch, &done, fault))
        return false;
    return done ? finish(admission, request, row, fault) : taken(row, place, fault);
}

bool service_account_update(struct caller *caller, const void *context, const char *namespace_text,
                            const char *text, const char *name, const char *secret, const cJSON **updated,
                            struct fault *fault)
{
    struct request request = {context, namespace_text, text, name, secret, updated};

    return (!name || name_check("The service account's name", name, fault)) &&
           admission_run(caller, "openclaw.service-accounts.update", update, &request, fault);
}

static bool delete (struct admission *admission, void *argument, struct fault *fault)
{
    const struct request *request = argument;
    struct service_account_row *row;
    struct iam_question question;
    struct namespace_row *place;
    const char *uses;

    if (!enter(admission, request, &place, &row, fault))
        return false;
    question = question_of(row, "delete");
    if (!admission_authorize(admission, &question, fault) ||
        !service_account_uses(admission->connection, admission->memory, row->id, admission->watch, &uses,
                              fault))
        return false;
    if (uses)
        return fault_set(fault, FAULT_CONFLICT, "SERVICE_ACCOUNT_IN_USE",
                         "Agents authenticate with the service account \"%s\" (%s): %s.", row->name, row->id,
                         uses);
    return service_account_remove(admission->connection, row->id, admission->watch, fault) &&
           finish(admission, request, row, fault);
}

bool service_account_delete(struct caller *caller, const char *namespace_text, const char *text,
                            struct fault *fault)
{
    struct request request = {.namespace_text = namespace_text, .text = text};

    return admission_run(caller, "openclaw.service-accounts.delete", delete, &request, fault);
}

bool service_account_get(struct caller *caller, const void *context, const char *namespace_text,
                         const char *text, const cJSON **found, struct fault *fault)
{
    struct namespace_row *place;
    struct service_account_row *row;
    struct iam_question question;
    const cJSON *document;

    if (!place_look(caller, context, namespace_text, text, "sa_", "A service account", &place, fault))
        return false;
    if (!service_account_find(caller->connection, context, place ? place->id : NULL, text, false,
                              caller->watch, &row, fault))
        return false;
    if (!row)
        return missing(text, fault);
    question = question_of(row, "read");
    if (!caller_may(caller, "openclaw.service-accounts.read", &question, fault) ||
        !service_account_document(caller->connection, context, row->id, caller->watch, &document, fault))
        return false;
    if (!document)
        return missing(row->id, fault);
    *found = document;
    return true;
}

bool service_account_select(struct caller *caller, const void *context, const char *namespace_id,
                            const cJSON **rows, struct fault *fault)
{
    const cJSON *all;

    return service_account_list(caller->connection, context, namespace_id, caller->watch, &all, fault) &&
           caller_readable_documents(caller, context, "service_account", all, rows, fault);
}
