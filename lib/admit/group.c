/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/group.h"

#include "lib/admit/name.h"
#include "lib/admit/policy.h"
#include "lib/admit/policy_change.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/identity.h"

struct request {
    const void *context;
    const char *text; /* the name; for a removal the id or name */
    const char *const *members;
    size_t member_count;
    const cJSON **created;
};

static bool add_member(struct admission *admission, const char *id, const char *member, bool *added,
                       struct fault *fault)
{
    const cJSON *identity;

    if (!identity_find(admission->connection, admission->memory, member, admission->watch, &identity, fault))
        return false;
    if (!identity)
        return fault_set(fault, FAULT_NOT_FOUND, "IDENTITY_NOT_FOUND", "There is no identity \"%s\".",
                         member);
    if (!text_equal(json_text(identity, "kind"), "principal"))
        return fault_set(fault, FAULT_INVALID, "GROUP_MEMBER_INVALID",
                         "The identity %s is a service principal: groups have people only.", member);
    return group_add_member(admission->connection, id, member, admission->watch, added, fault);
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    char id[UUID_SIZE];
    size_t index;
    bool inserted, added;

    uuid_new(id);
    if (!policy_begin(admission, fault) ||
        !group_insert(admission->connection, id, request->text, admission->watch, &inserted, fault))
        return false;
    if (!inserted)
        return fault_set(fault, FAULT_CONFLICT, "GROUP_EXISTS", "There is a group \"%s\" already.",
                         request->text);
    for (index = 0; index < request->member_count; index++) {
        if (!add_member(admission, id, request->members[index], &added, fault))
            return false;
    }
    json_add_text(admission->details, "name", request->text);
    json_add_number(admission->details, "members", (int64_t)request->member_count);
    return admission_record(admission, NULL, "iam_group", id, fault) &&
           group_find(admission->connection, request->context, id, admission->watch, request->created, fault);
}

bool group_create(struct caller *caller, const void *context, const char *name, const char *const *members,
                  size_t member_count, const cJSON **created, struct fault *fault)
{
    struct request request = {context, name, members, member_count, created};

    return name_check("The group's name", name, fault) &&
           admission_run(caller, "openclaw.iam.groups.create", create, &request, fault);
}

static bool find(struct admission *admission, const char *text, const cJSON **found, struct fault *fault)
{
    if (!policy_begin(admission, fault) ||
        !group_find(admission->connection, admission->memory, text, admission->watch, found, fault))
        return false;
    if (!*found)
        return fault_set(fault, FAULT_NOT_FOUND, "GROUP_NOT_FOUND",
                         "There is no group with the ID or exact name \"%s\".", text);
    return true;
}

/* What was done to the one member, as the evidence of a change and the answer. */
static bool finish_member(struct admission *admission, const struct request *request, const cJSON *group,
                          const char *what, struct fault *fault)
{
    const char *id = json_text(group, "id");

    if (what) {
        json_add_text(admission->details, "name", json_text(group, "name"));
        json_add_text(admission->details, what, request->members[0]);
        if (!admission_record(admission, NULL, "iam_group", id, fault))
            return false;
    }
    return group_find(admission->connection, request->context, id, admission->watch, request->created, fault);
}

static bool take_in(struct admission *admission, void *argument, struct fault *fault)
{
    const struct request *request = argument;
    const cJSON *group;
    bool added;

    return find(admission, request->text, &group, fault) &&
           add_member(admission, json_text(group, "id"), request->members[0], &added, fault) &&
           finish_member(admission, request, group, added ? "addedIdentityId" : NULL, fault);
}

bool group_take_in(struct caller *caller, const void *context, const char *text, const char *member,
                   const cJSON **changed, struct fault *fault)
{
    struct request request = {context, text, &member, 1, changed};

    return admission_run(caller, "openclaw.iam.groups.update", take_in, &request, fault);
}

static bool take_out(struct admission *admission, void *argument, struct fault *fault)
{
    const struct request *request = argument;
    const cJSON *group;
    bool removed;

    if (!find(admission, request->text, &group, fault) ||
        !group_remove_member(admission->connection, json_text(group, "id"), request->members[0],
                             admission->watch, &removed, fault))
        return false;
    if (!removed)
        return fault_set(fault, FAULT_NOT_FOUND, "GROUP_MEMBER_NOT_FOUND",
                         "The identity \"%s\" is not in the group \"%s\".", request->members[0],
                         json_text(group, "name"));
    return policy_keep_administrator(admission, fault) &&
           finish_member(admission, request, group, "removedIdentityId", fault);
}

bool group_take_out(struct caller *caller, const void *context, const char *text, const char *member,
                    const cJSON **changed, struct fault *fault)
{
    struct request request = {context, text, &member, 1, changed};

    return admission_run(caller, "openclaw.iam.groups.update", take_out, &request, fault);
}

static bool remove_one(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    const cJSON *found;
    const char *id;
    bool deleted;

    if (!find(admission, request->text, &found, fault))
        return false;
    id = json_text(found, "id");
    if (!policy_unused(admission, "group", id, fault) ||
        !group_delete(admission->connection, id, admission->watch, &deleted, fault) ||
        !policy_keep_administrator(admission, fault))
        return false;
    json_add_text(admission->details, "name", json_text(found, "name"));
    return admission_record(admission, NULL, "iam_group", id, fault);
}

bool group_remove(struct caller *caller, const char *text, struct fault *fault)
{
    struct request request = {.text = text};

    return admission_run(caller, "openclaw.iam.groups.delete", remove_one, &request, fault);
}
