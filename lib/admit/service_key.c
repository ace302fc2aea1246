/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/service_key.h"

#include "lib/admit/credential.h"
#include "lib/admit/name.h"
#include "lib/admit/policy_change.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/identity.h"
#include "lib/store/service_key.h"

struct creation {
    const void *context;
    const struct service_key_request *wanted;
    bool *left_file;
    const cJSON **created;
};

static bool find_principal(struct admission *admission, const char *id, struct fault *fault)
{
    const cJSON *found;

    if (!identity_find(admission->connection, admission->memory, id, admission->watch, &found, fault))
        return false;
    if (!found)
        return fault_set(fault, FAULT_NOT_FOUND, "IDENTITY_NOT_FOUND", "There is no identity \"%s\".", id);
    if (!text_equal(json_text(found, "kind"), "service_principal"))
        return fault_set(fault, FAULT_INVALID, "SERVICE_KEY_OWNER_INVALID",
                         "The identity %s is a person: service keys are for service principals.", id);
    return true;
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct creation *creation = argument;
    const struct service_key_request *wanted = creation->wanted;
    struct secret *key = credential_new_service_key(admission->memory);
    char hash[SERVICE_KEY_HASH_SIZE], id[UUID_SIZE];
    struct key_file file = {
        .id = id,
        .service_principal_id =
            wanted->service_principal_id ? wanted->service_principal_id : admission->caller->actor_id,
        .name = wanted->name,
        .installation_id = admission->caller->installation->id,
        .key = key,
    };

    uuid_new(id);
    credential_hash_service_key(key, hash);
    if (!policy_begin(admission, fault) || !find_principal(admission, file.service_principal_id, fault) ||
        !service_key_insert(admission->connection, admission->memory, id, wanted->name, hash,
                            file.service_principal_id, wanted->days, admission->watch, &file.expires_at,
                            fault))
        return false;
    json_add_text(admission->details, "name", wanted->name);
    json_add_text(admission->details, "servicePrincipalId", file.service_principal_id);
    json_add_text(admission->details, "expiresAt", file.expires_at);
    if (!admission_record(admission, NULL, "service_key", id, fault) ||
        !service_key_find(admission->connection, creation->context, id, admission->watch, creation->created,
                          fault) ||
        !key_file_write(wanted->setting, wanted->path, &file, fault))
        return false;
    *creation->left_file = true;
    return true;
}

bool service_key_create(struct caller *caller, const void *context, const struct service_key_request *request,
                        bool *left_file, const cJSON **created, struct fault *fault)
{
    struct creation creation = {context, request, left_file, created};

    *left_file = false;
    return name_check("The service key's name", request->name, fault) &&
           admission_run(caller, "openclaw.service-keys.create", create, &creation, fault);
}

struct ending {
    const void *context;
    const char *id;
    const cJSON **ended;
};

static bool end(struct admission *admission, void *argument, struct fault *fault)
{
    struct ending *ending = argument;
    const cJSON *found;
    bool revoked;

    if (!policy_begin(admission, fault) || !service_key_find(admission->connection, admission->memory,
                                                             ending->id, admission->watch, &found, fault))
        return false;
    if (!found)
        return fault_set(fault, FAULT_NOT_FOUND, "SERVICE_KEY_NOT_FOUND", "There is no service key \"%s\".",
                         ending->id);
    if (text_equal(ending->id, admission->caller->key_id))
        return fault_set(fault, FAULT_CONFLICT, "SERVICE_KEY_IN_USE",
                         "The service key %s is the one that you are asking with: use another to revoke it.",
                         ending->id);
    if (!service_key_revoke(admission->connection, ending->id, admission->watch, &revoked, fault))
        return false;
    json_add_text(admission->details, "name", json_text(found, "name"));
    return (!revoked || admission_record(admission, NULL, "service_key", ending->id, fault)) &&
           service_key_find(admission->connection, ending->context, ending->id, admission->watch,
                            ending->ended, fault);
}

bool service_key_end(struct caller *caller, const void *context, const char *id, const cJSON **ended,
                     struct fault *fault)
{
    struct ending ending = {context, id, ended};

    return admission_run(caller, "openclaw.service-keys.revoke", end, &ending, fault);
}
