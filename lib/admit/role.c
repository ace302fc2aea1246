/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/role.h"

#include "lib/admit/name.h"
#include "lib/admit/policy.h"
#include "lib/admit/policy_change.h"
#include "lib/base/memory.h"
#include "lib/iam/permission.h"

struct request {
    const void *context;
    const char *text; /* the name; for a removal the id or name */
    const char *namespace_text;
    const char *permissions; /* as JSON */
    const cJSON **created;
    const char *name; /* of a change: another; NULL: the same */
};

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const char *namespace_id;
    char id[UUID_SIZE];
    bool inserted;

    uuid_new(id);
    if (!policy_begin(admission, fault) ||
        !policy_namespace(admission, request->namespace_text, &namespace_id, fault) ||
        !role_insert(admission->connection, id, namespace_id, request->text, request->permissions,
                     admission->watch, &inserted, fault))
        return false;
    if (!inserted)
        return fault_set(fault, FAULT_CONFLICT, "ROLE_EXISTS", "There is a role \"%s\" %s already.",
                         request->text, namespace_id ? "in this Namespace" : "of the Installation");
    json_add_text(admission->details, "name", request->text);
    return admission_record(admission, namespace_id, "iam_role", id, fault) &&
           role_find(admission->connection, request->context, id, namespace_id, admission->watch,
                     request->created, fault);
}

/* The list as the schema keeps it; a permission that is given twice is one. */
static bool read_permissions(const void *context, const char *const *texts, size_t count, const char **json,
                             struct fault *fault)
{
    cJSON *array = json_new_array(context);
    size_t index, earlier;

    if (count == 0)
        return fault_set(fault, FAULT_INVALID, "PERMISSION_MISSING",
                         "A role needs at least one permission: --permission KIND:ACTION.");
    for (index = 0; index < count; index++) {
        const struct iam_permission *permission;
        cJSON *item;

        if (!iam_permission_parse(texts[index], &permission, fault))
            return false;
        for (earlier = 0; earlier < index && strcmp(texts[earlier], texts[index]) != 0; earlier++)
            ;
        if (earlier < index)
            continue;
        item = json_append_object(array);
        json_add_text(item, "action", permission->action);
        json_add_text(item, "resourceKind", permission->resource_kind);
    }
    *json = json_write(context, array);
    return true;
}

bool role_create(struct caller *caller, const void *context, const char *name, const char *namespace_text,
                 const char *const *permissions, size_t permission_count, const cJSON **created,
                 struct fault *fault)
{
    struct request request = {context, name, namespace_text, NULL, created, NULL};

    return name_check("The role's name", name, fault) &&
           read_permissions(context, permissions, permission_count, &request.permissions, fault) &&
           admission_run(caller, "openclaw.iam.roles.create", create, &request, fault);
}

/* The role that is meant, and the Namespace that was named. */
static bool find(struct admission *admission, const struct request *request, const char **namespace_id,
                 const cJSON **found, struct fault *fault)
{
    if (!policy_begin(admission, fault) ||
        !policy_namespace(admission, request->namespace_text, namespace_id, fault) ||
        !role_find(admission->connection, admission->memory, request->text, *namespace_id, admission->watch,
                   found, fault))
        return false;
    if (!*found)
        return fault_set(fault, FAULT_NOT_FOUND, "ROLE_NOT_FOUND",
                         "There is no role with the ID or exact name \"%s\"%s.", request->text,
                         *namespace_id ? "" : " of the Installation (--namespace names another place)");
    return true;
}

/* Whoever holds the role has what it allows from now on. */
static bool change(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const char *namespace_id, *id;
    const cJSON *found;
    bool updated;

    if (!find(admission, request, &namespace_id, &found, fault))
        return false;
    id = json_text(found, "id");
    namespace_id = json_text(found, "namespaceId");
    if (!role_update(admission->connection, id, request->name, request->permissions, admission->watch,
                     &updated, fault))
        return false;
    if (!updated)
        return fault_set(fault, FAULT_CONFLICT, "ROLE_EXISTS", "There is a role \"%s\" %s already.",
                         request->name, namespace_id ? "in this Namespace" : "of the Installation");
    if (!policy_keep_administrator(admission, fault) ||
        !role_find(admission->connection, request->context, id, namespace_id, admission->watch,
                   request->created, fault))
        return false;
    json_add_text(admission->details, "name", json_text(*request->created, "name"));
    if (request->name)
        json_add_text(admission->details, "formerName", json_text(found, "name"));
    if (request->permissions) {
        json_add_copy(admission->details, "permissions", json_member(*request->created, "permissions"));
        json_add_copy(admission->details, "formerPermissions", json_member(found, "permissions"));
    }
    return admission_record(admission, namespace_id, "iam_role", id, fault);
}

bool role_change(struct caller *caller, const void *context, const char *text, const char *namespace_text,
                 const char *name, const char *const *permissions, size_t permission_count,
                 const cJSON **changed, struct fault *fault)
{
    struct request request = {context, text, namespace_text, NULL, changed, name};

    return (!name || name_check("The role's name", name, fault)) &&
           (permission_count == 0 ||
            read_permissions(context, permissions, permission_count, &request.permissions, fault)) &&
           admission_run(caller, "openclaw.iam.roles.update", change, &request, fault);
}

static bool remove_one(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const char *namespace_id, *id;
    const cJSON *found;
    bool deleted;

    if (!find(admission, request, &namespace_id, &found, fault))
        return false;
    id = json_text(found, "id");
    if (!policy_unused(admission, "role", id, fault) ||
        !role_delete(admission->connection, id, admission->watch, &deleted, fault) ||
        !policy_keep_administrator(admission, fault))
        return false;
    json_add_text(admission->details, "name", json_text(found, "name"));
    return admission_record(admission, json_text(found, "namespaceId"), "iam_role", id, fault);
}

bool role_remove(struct caller *caller, const char *text, const char *namespace_text, struct fault *fault)
{
    struct request request = {.text = text, .namespace_text = namespace_text};

    return admission_run(caller, "openclaw.iam.roles.delete", remove_one, &request, fault);
}
