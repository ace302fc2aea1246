/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/stored_secret.h"

#include "lib/admit/name.h"
#include "lib/admit/stored_secret_value.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define PLACE_CHARACTERS 253
#define UID_CHARACTERS 200

struct request {
    const void *context;
    const char *namespace_text;
    const char *text; /* the name; otherwise the ID or name */
    const struct stored_secret_request *wanted;
    struct stored_secret_admission *admitted;
    struct value_change change;
    char id[IDENTIFIER_SIZE]; /* of what is created: one over all attempts, so that the Driver sees one */
    const struct secret_driver *driver;
    bool keep_value;
};

static bool missing(const char *text, const struct namespace_row *place, struct fault *fault)
{
    if (!place)
        return fault_set(fault, FAULT_NOT_FOUND, "SECRET_NOT_FOUND", "There is no Secret %s.", text);
    return fault_set(fault, FAULT_NOT_FOUND, "SECRET_NOT_FOUND",
                     "There is no Secret with the ID or exact name \"%s\" in the Namespace \"%s\".", text,
                     place->name);
}

static struct iam_question question_of(const struct stored_secret_row *row, const char *action)
{
    return (struct iam_question){
        .action = action,
        .resource_kind = "secret",
        .resource_id = row->id,
        .namespace_id = row->namespace_id,
    };
}

/* ---- What is given */

static bool check_part(const char *what, const char *text, size_t most, struct fault *fault)
{
    if (!text_is_empty(text) && text_is_printable(text) && text_characters(text) <= most)
        return true;
    return fault_set(fault, FAULT_INVALID, "SECRET_PLACE_INVALID",
                     "%s must be 1 to %zu characters without control characters.", what, most);
}

static bool check_request(const struct stored_secret_request *wanted, struct fault *fault)
{
    const struct stored_secret_place *place = wanted->place;

    if (wanted->value) {
        if (secret_length(wanted->value) >= 1 && secret_length(wanted->value) <= STORED_SECRET_VALUE_LIMIT)
            return true;
        return fault_set(fault, FAULT_INVALID, "SECRET_VALUE_INVALID",
                         "A Secret's value must have 1 to %zu bytes; this one has %zu.",
                         STORED_SECRET_VALUE_LIMIT, secret_length(wanted->value));
    }
    return check_part("The backend's namespace", place->backend_namespace_name, PLACE_CHARACTERS, fault) &&
           check_part("The backend's name", place->backend_name, PLACE_CHARACTERS, fault) &&
           check_part("The backend's key", place->backend_key, PLACE_CHARACTERS, fault) &&
           (!place->backend_uid ||
            check_part("The backend's UID", place->backend_uid, UID_CHARACTERS, fault));
}

static void take_place(const struct stored_secret_place *place, struct stored_secret_row *row)
{
    row->driver_id = place->driver_id;
    row->backend_namespace_name = place->backend_namespace_name;
    row->backend_name = place->backend_name;
    row->backend_key = place->backend_key;
    row->backend_uid = place->backend_uid;
}

/* ---- What every admission does */

/* A place may be anybody's, also another tenant's: only who administers the Installation says that it is this
 * Namespace's. */
static bool may_register(struct admission *admission, const struct stored_secret_request *wanted,
                         struct fault *fault)
{
    const struct iam_question question = caller_on_installation(admission->caller, "administer");

    return !wanted->place || admission_authorize(admission, &question, fault);
}

/* Finds the Namespace, which is kept, and then the Secret, which is held. */
static bool enter(struct admission *admission, const struct request *request, struct namespace_row **place,
                  struct stored_secret_row **row, struct fault *fault)
{
    const char *namespace_text = request->namespace_text;
    struct stored_secret_row *found = NULL;

    if (!place_needed(namespace_text, request->text, "sec_", "A Secret", fault))
        return false;
    if (!namespace_text) {
        if (!stored_secret_find(admission->connection, admission->memory, NULL, request->text, false,
                                admission->watch, &found, fault))
            return false;
        if (!found)
            return missing(request->text, NULL, fault);
        namespace_text = found->namespace_id;
    }
    if (!place_enter(admission, namespace_text, place, fault) ||
        !stored_secret_find(admission->connection, admission->memory, (*place)->id, request->text, true,
                            admission->watch, &found, fault))
        return false;
    if (!found)
        return missing(request->text, *place, fault);
    *row = found;
    return true;
}

static bool finish(struct admission *admission, struct request *request, const struct stored_secret_row *row,
                   struct fault *fault)
{
    cJSON *backend = json_add_object(admission->details, "backend");

    json_add_text(admission->details, "name", row->name);
    json_add_text(admission->details, "driverId", row->driver_id);
    json_add_boolean(admission->details, "registered", row->registered);
    json_add_text(backend, "namespaceName", row->backend_namespace_name);
    json_add_text(backend, "name", row->backend_name);
    json_add_text(backend, "key", row->backend_key);
    return admission_record(admission, row->namespace_id, "secret", row->id, fault) &&
           (!request->admitted ||
            stored_secret_document(admission->connection, request->context, row->id, admission->watch,
                                   &request->admitted->document, fault));
}

/* ---- Creation */

static bool explain_taken(struct admission *admission, const struct stored_secret_row *row,
                          struct fault *fault)
{
    struct stored_secret_row *holder;
    const char *other;

    if (!stored_secret_find(admission->connection, admission->memory, row->namespace_id, row->name, false,
                            admission->watch, &holder, fault) ||
        !stored_secret_at(admission->connection, admission->memory, row, admission->watch, &other, fault))
        return false;
    if (holder && text_equal(holder->name, row->name))
        return fault_set(fault, FAULT_CONFLICT, "SECRET_NAME_TAKEN",
                         "The Secret \"%s\" (%s) exists already in this Namespace.", holder->name,
                         holder->id);
    if (other)
        return fault_set(fault, FAULT_CONFLICT, "SECRET_PLACE_TAKEN",
                         "The value at this place is that of the Secret %s already.", other);
    return fault_set(fault, FAULT_RETRYABLE, "DATABASE_CONFLICT",
                     "The name \"%s\" was taken and given up again at the same moment.", row->name);
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const struct stored_secret_request *wanted = request->wanted;
    const struct iam_question question = {.action = "create", .resource_kind = "secret"};
    struct iam_question asked = question;
    struct stored_secret_row row = {.id = request->id, .name = request->text};
    struct namespace_row *place;
    bool inserted;

    if (!place_enter(admission, request->namespace_text, &place, fault))
        return false;
    asked.namespace_id = place->id;
    if (!admission_authorize(admission, &asked, fault) || !may_register(admission, wanted, fault) ||
        !place_open(place, false, fault))
        return false;
    row.namespace_id = place->id;
    row.registered = wanted->place != NULL;
    if (wanted->place) {
        take_place(wanted->place, &row);
    } else {
        /* Where it will be is the Driver's to say. Until then the row, which tells whether the name is free
         * before anything is stored, has a place that nothing else has. */
        row.driver_id = wanted->driver->id;
        row.backend_namespace_name = place->id;
        row.backend_name = row.backend_key = request->id;
        request->change.namespace_id = mem_text(request->context, place->id);
    }
    if (!stored_secret_insert(admission->connection, &row, admission->watch, &inserted, fault))
        return false;
    if (!inserted)
        return explain_taken(admission, &row, fault);
    return (wanted->place ||
            value_store(admission, request->context, place, &request->change, &row, fault)) &&
           finish(admission, request, &row, fault);
}

bool stored_secret_create(struct caller *caller, const void *context, const char *namespace_text,
                          const char *name, const struct stored_secret_request *wanted,
                          struct stored_secret_admission *admitted, struct fault *fault)
{
    struct request request = {
        .context = context,
        .namespace_text = namespace_text,
        .text = name,
        .wanted = wanted,
        .admitted = admitted,
        .change = {.driver = wanted->driver, .value = wanted->value, .secret_id = request.id},
    };

    admitted->left = NULL;
    identifier_new(request.id, "sec_");
    if (!place_needed(namespace_text, "", "sec_", "A Secret", fault) ||
        !name_check("The Secret's name", name, fault) || !check_request(wanted, fault))
        return false;
    if (admission_run(caller, "openclaw.secrets.create", create, &request, fault))
        return true;
    value_undo(caller, context, &request.change, fault, &admitted->left);
    return false;
}

/* ---- Change */

static bool check_keeper(const struct stored_secret_row *row, const char *driver_id, struct fault *fault)
{
    if (text_equal(row->driver_id, driver_id))
        return true;
    return fault_set(
        fault, FAULT_CONFLICT, "SECRET_DRIVER_MISMATCH",
        "The value of the Secret \"%s\" (%s) is kept by the Secret Driver %s, and %s is selected "
        "(drivers.secret).",
        row->name, row->id, row->driver_id, driver_id);
}

static bool check_kind(const struct stored_secret_row *row, const struct stored_secret_request *wanted,
                       struct fault *fault)
{
    if (wanted->value && row->registered)
        return fault_set(fault, FAULT_CONFLICT, "SECRET_REGISTERED",
                         "The Secret \"%s\" (%s) was registered: its value is changed where it is kept.",
                         row->name, row->id);
    if (wanted->place && !row->registered)
        return fault_set(fault, FAULT_CONFLICT, "SECRET_NOT_REGISTERED",
                         "The Secret \"%s\" (%s) has a value of its own, whose place is its Driver's to say.",
                         row->name, row->id);
    return check_keeper(row, wanted->place ? wanted->place->driver_id : wanted->driver->id, fault);
}

static bool move(struct admission *admission, const struct stored_secret_place *place,
                 struct stored_secret_row *row, struct fault *fault)
{
    const char *other;

    take_place(place, row);
    if (!stored_secret_at(admission->connection, admission->memory, row, admission->watch, &other, fault))
        return false;
    if (other)
        return fault_set(fault, FAULT_CONFLICT, "SECRET_PLACE_TAKEN",
                         "The value at this place is that of the Secret %s already.", other);
    return stored_secret_move(admission->connection, row, admission->watch, fault);
}

static bool update(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const struct stored_secret_request *wanted = request->wanted;
    struct iam_question question;
    struct namespace_row *place;
    struct stored_secret_row *row;
    bool done;

    if (!enter(admission, request, &place, &row, fault))
        return false;
    question = question_of(row, "update");
    if (!admission_authorize(admission, &question, fault) || !may_register(admission, wanted, fault) ||
        !place_open(place, false, fault) || !check_kind(row, wanted, fault))
        return false;
    if (wanted->place) {
        done = move(admission, wanted->place, row, fault);
    } else {
        request->change.secret_id = mem_text(request->context, row->id);
        request->change.namespace_id = mem_text(request->context, row->namespace_id);
        done = value_store(admission, request->context, place, &request->change, row, fault);
    }
    return done && finish(admission, request, row, fault);
}

bool stored_secret_update(struct caller *caller, const void *context, const char *namespace_text,
                          const char *text, const struct stored_secret_request *wanted,
                          struct stored_secret_admission *admitted, struct fault *fault)
{
    struct request request = {
        .context = context,
        .namespace_text = namespace_text,
        .text = text,
        .wanted = wanted,
        .admitted = admitted,
        .change = {.driver = wanted->driver, .value = wanted->value, .replaces = true},
    };

    admitted->left = NULL;
    if (!check_request(wanted, fault))
        return false;
    if (admission_run(caller, "openclaw.secrets.update", update, &request, fault))
        return true;
    value_undo(caller, context, &request.change, fault, &admitted->left);
    return false;
}

/* ---- Deletion */

static bool check_unused(struct admission *admission, const struct stored_secret_row *row,
                         struct fault *fault)
{
    const char *uses;

    if (!stored_secret_uses(admission->connection, admission->memory, row->id, admission->watch, &uses,
                            fault))
        return false;
    if (uses)
        return fault_set(fault, FAULT_CONFLICT, "SECRET_IN_USE", "The Secret \"%s\" (%s) is named by %s.",
                         row->name, row->id, uses);
    return true;
}

/* The value goes before the commit: what a crash leaves is a Secret without a value, which repeating the
 * deletion removes. The other way round it would be a value that nobody knows of any more. */
static bool delete (struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const struct secret_driver *driver = request->driver;
    struct iam_question question;
    struct namespace_row *place;
    struct stored_secret_row *row;
    bool has_value;

    if (!enter(admission, request, &place, &row, fault))
        return false;
    question = question_of(row, "delete");
    if (!admission_authorize(admission, &question, fault) || !check_unused(admission, row, fault))
        return false;
    has_value = !row->registered && !request->keep_value;
    if (has_value && !driver)
        return fault_set(fault, FAULT_CONFIGURATION, "SECRET_DRIVER_UNAVAILABLE",
                         "The value of the Secret \"%s\" (%s) is kept by the Secret Driver %s, which is not "
                         "selected (drivers.secret).",
                         row->name, row->id, row->driver_id);
    if (has_value && !check_keeper(row, driver->id, fault))
        return false;
    json_add_boolean(admission->details, "valueRemoved", has_value);
    return stored_secret_remove(admission->connection, row->id, admission->watch, fault) &&
           finish(admission, request, row, fault) &&
           (!has_value || value_remove(admission, driver, row, fault));
}

bool stored_secret_delete(struct caller *caller, const char *namespace_text, const char *text,
                          const struct secret_driver *driver, bool keep_value, struct fault *fault)
{
    struct request request = {
        .namespace_text = namespace_text,
        .text = text,
        .driver = driver,
        .keep_value = keep_value,
    };

    return admission_run(caller, "openclaw.secrets.delete", delete, &request, fault);
}

/* ---- Reading */

bool stored_secret_get(struct caller *caller, const void *context, const char *namespace_text,
                       const char *text, const cJSON **found, struct fault *fault)
{
    struct namespace_row *place;
    struct stored_secret_row *row;
    struct iam_question question;
    const cJSON *document;

    if (!place_look(caller, context, namespace_text, text, "sec_", "A Secret", &place, fault))
        return false;
    if (!stored_secret_find(caller->connection, context, place ? place->id : NULL, text, false, caller->watch,
                            &row, fault))
        return false;
    if (!row)
        return missing(text, place, fault);
    question = question_of(row, "read");
    if (!caller_may(caller, "openclaw.secrets.read", &question, fault) ||
        !stored_secret_document(caller->connection, context, row->id, caller->watch, &document, fault))
        return false;
    if (!document)
        return missing(row->id, NULL, fault);
    *found = document;
    return true;
}

bool stored_secret_select(struct caller *caller, const void *context, const char *namespace_id,
                          const cJSON **rows, struct fault *fault)
{
    const cJSON *all;

    return stored_secret_list(caller->connection, context, namespace_id, caller->watch, &all, fault) &&
           caller_readable_documents(caller, context, "secret", all, rows, fault);
}
