/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/restriction.h"

#include "lib/admit/policy.h"
#include "lib/admit/policy_change.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/iam/permission.h"

struct request {
    const void *context;
    const struct iam_permission *permission;
    const char *namespace_text;
    const char *resource_id;
    const char *id;
    const cJSON **created;
};

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct restriction restriction = {
        .action = request->permission->action,
        .resource_kind = request->permission->resource_kind,
        .resource_id = request->resource_id,
    };
    char id[UUID_SIZE];

    uuid_new(id);
    restriction.id = id;
    if (!policy_begin(admission, fault) ||
        !policy_namespace(admission, request->namespace_text, &restriction.namespace_id, fault))
        return false;
    if (restriction.namespace_id && text_equal(restriction.resource_kind, "installation"))
        return fault_set(fault, FAULT_INVALID, "RESTRICTION_INVALID",
                         "A permission on the Installation is not denied in one Namespace.");
    if (!restriction_insert(admission->connection, &restriction, admission->watch, fault) ||
        !policy_keep_administrator(admission, fault))
        return false;
    json_add_text(admission->details, "action", restriction.action);
    json_add_text(admission->details, "resourceKind", restriction.resource_kind);
    json_add_text(admission->details, "resourceId", restriction.resource_id);
    return admission_record(admission, restriction.namespace_id, "iam_restriction", id, fault) &&
           restriction_find(admission->connection, request->context, id, admission->watch, request->created,
                            fault);
}

bool restriction_create(struct caller *caller, const void *context, const char *permission,
                        const char *namespace_text, const char *resource, const cJSON **created,
                        struct fault *fault)
{
    struct request request = {.context = context, .namespace_text = namespace_text, .created = created};
    const char *kind;

    if (!iam_permission_parse(permission, &request.permission, fault))
        return false;
    if (resource) {
        if (!iam_resource_parse(resource, &kind, &request.resource_id, fault))
            return false;
        if (!text_equal(kind, request.permission->resource_kind))
            return fault_set(fault, FAULT_INVALID, "RESTRICTION_INVALID",
                             "The permission %s is not one on a resource of kind %s.", permission, kind);
    }
    return admission_run(caller, "openclaw.iam.restrictions.create", create, &request, fault);
}

static bool remove_one(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const cJSON *found;
    bool deleted;

    if (!policy_begin(admission, fault) || !restriction_find(admission->connection, admission->memory,
                                                             request->id, admission->watch, &found, fault))
        return false;
    if (!found)
        return fault_set(fault, FAULT_NOT_FOUND, "RESTRICTION_NOT_FOUND", "There is no restriction \"%s\".",
                         request->id);
    if (!restriction_delete(admission->connection, request->id, admission->watch, &deleted, fault))
        return false;
    json_add_text(admission->details, "action", json_text(found, "action"));
    json_add_text(admission->details, "resourceKind", json_text(found, "resourceKind"));
    json_add_text(admission->details, "resourceId", json_text(found, "resourceId"));
    return admission_record(admission, json_text(found, "namespaceId"), "iam_restriction", request->id,
                            fault);
}

bool restriction_remove(struct caller *caller, const char *id, struct fault *fault)
{
    struct request request = {.id = id};

    return admission_run(caller, "openclaw.iam.restrictions.delete", remove_one, &request, fault);
}
