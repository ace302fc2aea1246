/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/namespace.h"

#include "lib/admit/admission.h"
#include "lib/admit/deletion.h"
#include "lib/admit/name.h"
#include "lib/admit/place.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define READ_ACTION "openclaw.namespaces.read"

struct request {
    const void *context;
    const char *text; /* the name, or for a deletion the id or name */
    const char *existing_namespace;
    struct namespace_admission *admitted;
};

/* Who has the name or the existing namespace. The insert waited for whoever else was at it, so that this sees
 * them. */
static bool explain_taken(struct admission *admission, const struct request *request, struct fault *fault)
{
    struct namespace_row *holder;

    if (!namespace_find_name(admission->connection, admission->memory, request->text, admission->watch,
                             &holder, fault))
        return false;
    if (holder) {
        if (holder->deleted_at)
            return fault_set(
                fault, FAULT_CONFLICT, "NAMESPACE_NAME_TAKEN",
                "The name \"%s\" was used by the Namespace %s, which was deleted at %s: names are never "
                "used again.",
                holder->name, holder->id, holder->deleted_at);
        return fault_set(fault, FAULT_CONFLICT, "NAMESPACE_NAME_TAKEN",
                         "The Namespace \"%s\" (%s) exists already.", holder->name, holder->id);
    }
    if (request->existing_namespace) {
        if (!namespace_find_existing(admission->connection, admission->memory, request->existing_namespace,
                                     admission->watch, &holder, fault))
            return false;
        if (holder)
            return fault_set(fault, FAULT_CONFLICT, "EXISTING_NAMESPACE_TAKEN",
                             "The existing namespace \"%s\" belongs to the Namespace \"%s\" (%s).",
                             request->existing_namespace, holder->name, holder->id);
    }
    return fault_set(fault, FAULT_RETRYABLE, "DATABASE_CONFLICT",
                     "The name \"%s\" was taken and given up again at the same moment.", request->text);
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct iam_question provision = {.action = "create", .resource_kind = "namespace"};
    struct iam_question administer = caller_on_installation(admission->caller, "administer");
    char id[IDENTIFIER_SIZE];
    bool inserted;

    if (!admission_authorize(admission, &provision, fault) ||
        (request->existing_namespace && !admission_authorize(admission, &administer, fault)))
        return false;
    identifier_new(id, "ns_");
    if (!namespace_insert(admission->connection, id, request->text, request->existing_namespace,
                          admission->caller->actor_id, admission->watch, &inserted, fault))
        return false;
    if (!inserted)
        return explain_taken(admission, request, fault);
    json_add_text(admission->details, "name", request->text);
    if (request->existing_namespace)
        json_add_text(admission->details, "existingNamespace", request->existing_namespace);
    json_add_text(admission->details, "workId", namespace_work_key(admission->memory, id, "ready"));
    if (!admission_record(admission, id, "namespace", id, fault))
        return false;
    text_copy(request->admitted->id, sizeof request->admitted->id, id);
    request->admitted->name = mem_text(request->context, request->text);
    request->admitted->work_id = namespace_work_key(request->context, id, "ready");
    request->admitted->changed = true;
    return true;
}

bool namespace_create(struct caller *caller, const void *context, const char *name,
                      const char *existing_namespace, struct namespace_admission *admitted,
                      struct fault *fault)
{
    struct request request = {context, name, existing_namespace, admitted};

    if (!name_check("The Namespace's name", name, fault) ||
        (existing_namespace && !name_check_label("The existing namespace's name", existing_namespace, fault)))
        return false;
    return admission_run(caller, "openclaw.namespaces.create", create, &request, fault);
}

/* The row is held FOR UPDATE: whoever creates a child takes it FOR SHARE, so that what is counted is all
 * there is. */
static bool begin_delete(struct admission *admission, const struct namespace_row *row, struct fault *fault)
{
    const char *remains;

    if (!namespace_remains(admission->connection, admission->memory, row->id, admission->watch, &remains,
                           fault))
        return false;
    if (remains)
        return fault_set(fault, FAULT_CONFLICT, "NAMESPACE_NOT_EMPTY",
                         "The Namespace \"%s\" (%s) still owns %s: delete that first.", row->name, row->id,
                         remains);
    return namespace_begin_delete(admission->connection, row->id, admission->caller->actor_id,
                                  admission->watch, fault);
}

static bool delete (struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct iam_question question;
    struct namespace_row *row;
    const char *work_id;

    if (!namespace_find(admission->connection, admission->memory, request->text, NAMESPACE_ALONE,
                        admission->watch, &row, fault))
        return false;
    if (!row)
        return place_missing(request->text, NULL, fault);
    question = caller_on_namespace(row->id, "delete");
    if (!admission_authorize(admission, &question, fault))
        return false;
    if (row->deleted_at)
        return place_missing(request->text, row, fault);
    work_id = namespace_work_key(admission->memory, row->id, "deleted");
    request->admitted->changed = true;
    if (text_equal(row->status, "deleting")) {
        if (!deletion_repeat(admission, work_id, &question, &request->admitted->changed, fault))
            return false;
    } else if (!begin_delete(admission, row, fault)) {
        return false;
    }
    json_add_text(admission->details, "name", row->name);
    json_add_text(admission->details, "workId", work_id);
    if (request->admitted->changed && !admission_record(admission, row->id, "namespace", row->id, fault))
        return false;
    text_copy(request->admitted->id, sizeof request->admitted->id, row->id);
    request->admitted->name = mem_text(request->context, row->name);
    request->admitted->work_id = mem_text(request->context, work_id);
    return true;
}

bool namespace_delete(struct caller *caller, const void *context, const char *text,
                      struct namespace_admission *admitted, struct fault *fault)
{
    struct request request = {context, text, NULL, admitted};

    return admission_run(caller, "openclaw.namespaces.delete", delete, &request, fault);
}

bool namespace_resolve(struct caller *caller, const void *context, const char *text, const char **id,
                       struct fault *fault)
{
    struct namespace_row *row;
    struct iam_question question;

    if (!namespace_find(caller->connection, context, text, NAMESPACE_LOOK, caller->watch, &row, fault))
        return false;
    if (!row)
        return place_missing(text, NULL, fault);
    question = caller_on_namespace(row->id, "read");
    if (!caller_may(caller, READ_ACTION, &question, fault))
        return false;
    *id = row->id;
    return true;
}

bool namespace_get(struct caller *caller, const void *context, const char *text, const cJSON **found,
                   struct fault *fault)
{
    const cJSON *rows;
    const char *id;

    if (!namespace_resolve(caller, context, text, &id, fault) ||
        !namespace_documents(caller->connection, context, &id, 1, caller->watch, &rows, fault))
        return false;
    if (!rows->child) /* rows are never removed */
        return place_missing(text, NULL, fault);
    *found = rows->child;
    return true;
}

bool namespace_list(struct caller *caller, const void *context, bool deleted_too, const cJSON **rows,
                    struct fault *fault)
{
    const char **ids, **readable;
    size_t count, readable_count;

    return namespace_ids(caller->connection, context, deleted_too, caller->watch, &ids, &count, fault) &&
           caller_readable_namespaces(caller, context, ids, count, &readable, &readable_count, fault) &&
           namespace_documents(caller->connection, context, readable, readable_count, caller->watch, rows,
                               fault);
}
