/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/role_binding.h"

#include "lib/admit/policy.h"
#include "lib/admit/policy_change.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/iam/permission.h"
#include "lib/store/group.h"
#include "lib/store/identity.h"
#include "lib/store/role.h"

struct request {
    const void *context;
    const struct binding_request *wanted;
    const char *id;
    const cJSON **created;
};

static bool find_subject(struct admission *admission, const struct binding_request *wanted,
                         struct role_binding *binding, struct fault *fault)
{
    const cJSON *found;

    if (wanted->identity_id) {
        if (!identity_find(admission->connection, admission->memory, wanted->identity_id, admission->watch,
                           &found, fault))
            return false;
        if (!found)
            return fault_set(fault, FAULT_NOT_FOUND, "IDENTITY_NOT_FOUND", "There is no identity \"%s\".",
                             wanted->identity_id);
        binding->identity_id = json_text(found, "id");
        return true;
    }
    if (!group_find(admission->connection, admission->memory, wanted->group, admission->watch, &found, fault))
        return false;
    if (!found)
        return fault_set(fault, FAULT_NOT_FOUND, "GROUP_NOT_FOUND",
                         "There is no group with the ID or exact name \"%s\".", wanted->group);
    binding->group_id = json_text(found, "id");
    return true;
}

/* The exact resource and the Namespace that it belongs to, which must be the named one where one is named. */
static bool find_place(struct admission *admission, const struct binding_request *wanted,
                       struct role_binding *binding, struct fault *fault)
{
    const char *owner;
    bool exists;

    if (!policy_namespace(admission, wanted->namespace_text, &binding->namespace_id, fault))
        return false;
    if (!wanted->resource)
        return true;
    if (!iam_resource_parse(wanted->resource, &binding->resource_kind, &binding->resource_id, fault) ||
        !role_binding_resource(admission->connection, admission->memory, binding->resource_kind,
                               binding->resource_id, admission->watch, &exists, &owner, fault))
        return false;
    if (!exists)
        return fault_set(fault, FAULT_NOT_FOUND, "RESOURCE_NOT_FOUND", "There is no %s %s.",
                         binding->resource_kind, binding->resource_id);
    if (binding->namespace_id && !text_equal(binding->namespace_id, owner))
        return fault_set(fault, FAULT_INVALID, "RESOURCE_INVALID",
                         "The %s %s does not belong to the Namespace %s.", binding->resource_kind,
                         binding->resource_id, binding->namespace_id);
    return wanted->namespace_text || policy_namespace(admission, owner, &binding->namespace_id, fault);
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct role_binding binding = {0};
    const cJSON *role;
    const char *role_namespace;
    char id[UUID_SIZE];
    bool inserted;

    uuid_new(id);
    binding.id = id;
    if (!policy_begin(admission, fault) || !find_subject(admission, request->wanted, &binding, fault) ||
        !find_place(admission, request->wanted, &binding, fault) ||
        !role_find(admission->connection, admission->memory, request->wanted->role, binding.namespace_id,
                   admission->watch, &role, fault))
        return false;
    if (!role)
        return fault_set(fault, FAULT_NOT_FOUND, "ROLE_NOT_FOUND",
                         "There is no role with the ID or exact name \"%s\" for this place.",
                         request->wanted->role);
    binding.role_id = json_text(role, "id");
    role_namespace = json_text(role, "namespaceId");
    if (role_namespace && !text_equal(role_namespace, binding.namespace_id))
        return fault_set(fault, FAULT_INVALID, "ROLE_MISPLACED",
                         "The role %s belongs to the Namespace %s and is bound only there.", binding.role_id,
                         role_namespace);
    if (!role_binding_insert(admission->connection, &binding, admission->watch, &inserted, fault))
        return false;
    if (!inserted)
        return fault_set(fault, FAULT_CONFLICT, "BINDING_EXISTS",
                         "There is exactly this access binding already.");
    json_add_text(admission->details, "grantedRoleId", binding.role_id);
    json_add_text(admission->details, binding.identity_id ? "identityId" : "groupId",
                  binding.identity_id ? binding.identity_id : binding.group_id);
    return admission_record(admission, binding.namespace_id, "iam_access_binding", id, fault) &&
           role_binding_find(admission->connection, request->context, id, admission->watch, request->created,
                             fault);
}

bool binding_create(struct caller *caller, const void *context, const struct binding_request *wanted,
                    const cJSON **created, struct fault *fault)
{
    struct request request = {context, wanted, NULL, created};

    if (!wanted->identity_id == !wanted->group)
        return fault_set(fault, FAULT_INVALID, "BINDING_INVALID",
                         "An access binding names exactly one identity or one group.");
    return admission_run(caller, "openclaw.iam.bindings.create", create, &request, fault);
}

static bool remove_one(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const char *subject;
    const cJSON *found;
    bool deleted;

    if (!policy_begin(admission, fault) || !role_binding_find(admission->connection, admission->memory,
                                                              request->id, admission->watch, &found, fault))
        return false;
    if (!found)
        return fault_set(fault, FAULT_NOT_FOUND, "BINDING_NOT_FOUND", "There is no access binding \"%s\".",
                         request->id);
    if (!role_binding_delete(admission->connection, request->id, admission->watch, &deleted, fault) ||
        !policy_keep_administrator(admission, fault))
        return false;
    subject = json_text(found, "identityId");
    json_add_text(admission->details, "takenRoleId", json_text(found, "roleId"));
    json_add_text(admission->details, subject ? "identityId" : "groupId",
                  subject ? subject : json_text(found, "groupId"));
    return admission_record(admission, json_text(found, "namespaceId"), "iam_access_binding", request->id,
                            fault);
}

bool binding_remove(struct caller *caller, const char *id, struct fault *fault)
{
    struct request request = {.id = id};

    return admission_run(caller, "openclaw.iam.bindings.delete", remove_one, &request, fault);
}
