/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/agent_enter.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/configuration.h"
#include "lib/store/service_account.h"
#include "lib/store/stored_secret.h"

static bool missing(const char *text, struct fault *fault)
{
    return fault_set(fault, FAULT_NOT_FOUND, "AGENT_NOT_FOUND",
                     "There is no Agent with the ID or exact name \"%s\" there.", text);
}

bool agent_look(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                struct agent_row **agent, struct fault *fault)
{
    struct namespace_row *place;

    if (!place_look(caller, context, namespace_text, text, "agt_", "An Agent", &place, fault) ||
        !agent_find(caller->connection, context, place ? place->id : NULL, text, false, caller->watch, agent,
                    fault))
        return false;
    return *agent || missing(text, fault);
}

bool agent_enter(struct admission *admission, const char *namespace_text, const char *text,
                 enum agent_hold hold, struct namespace_row **place, struct agent_row **agent,
                 struct fault *fault)
{
    struct agent_row *row;

    /* The order of locks is Namespace, Agent: an Agent without a Namespace is looked at first. */
    if (!namespace_text) {
        if (!agent_look(admission->caller, admission->memory, NULL, text, &row, fault))
            return false;
        namespace_text = row->namespace_id;
    }
    if (!(hold == AGENT_HELD_ALONE ? place_enter_alone : place_enter)(admission, namespace_text, place,
                                                                      fault) ||
        !agent_find(admission->connection, admission->memory, (*place)->id, text, hold != AGENT_LOOKED_AT,
                    admission->watch, &row, fault))
        return false;
    if (!row)
        return missing(text, fault);
    *agent = row;
    return true;
}

bool agent_open(const struct agent_row *agent, struct fault *fault)
{
    if (!text_equal(agent->status, "deleting"))
        return true;
    return fault_set(fault, FAULT_CONFLICT, "AGENT_DELETING", "The Agent \"%s\" (%s) is being deleted.",
                     agent->name, agent->id);
}

struct iam_question agent_question(const struct agent_row *agent, const char *action)
{
    return (struct iam_question){
        .action = action,
        .resource_kind = "agent",
        .resource_id = agent->id,
        .namespace_id = agent->namespace_id,
    };
}

/* ---- Drafts */

static bool nothing_there(const char *code, const char *what, const char *text, const char *namespace_id,
                          struct fault *fault)
{
    return fault_set(fault, FAULT_NOT_FOUND, code, "There is no %s \"%s\" in the Namespace %s.", what, text,
                     namespace_id);
}

static bool find_configuration(struct admission *admission, const char *namespace_id, const char *text,
                               const char **id, struct fault *fault)
{
    struct configuration_row *row;

    if (!configuration_find(admission->connection, admission->memory, text, CONFIGURATION_LOOK,
                            admission->watch, &row, fault))
        return false;
    if (!row || !text_equal(row->namespace_id, namespace_id))
        return nothing_there("CONFIGURATION_NOT_FOUND", "Configuration with the ID", text, namespace_id,
                             fault);
    *id = row->id;
    return true;
}

static bool find_secret(struct admission *admission, const char *namespace_id, const char *text,
                        const char **id, struct fault *fault)
{
    struct stored_secret_row *row;

    if (!stored_secret_find(admission->connection, admission->memory, namespace_id, text, false,
                            admission->watch, &row, fault))
        return false;
    if (!row)
        return nothing_there("SECRET_NOT_FOUND", "Secret with the ID or exact name", text, namespace_id,
                             fault);
    *id = row->id;
    return true;
}

static bool find_account(struct admission *admission, const char *namespace_id, const char *text,
                         const char **id, struct fault *fault)
{
    struct service_account_row *row;

    if (!service_account_find(admission->connection, admission->memory, namespace_id, text, false,
                              admission->watch, &row, fault))
        return false;
    if (!row)
        return nothing_there("SERVICE_ACCOUNT_NOT_FOUND", "service account with the ID or exact name", text,
                             namespace_id, fault);
    *id = row->id;
    return true;
}

/* "METHOD=SOURCE" as the reference that is stored. */
static bool find_auth(struct admission *admission, const char *namespace_id, const char *text,
                      const char **json, struct fault *fault)
{
    static const struct {
        const char *name;
        bool (*find)(struct admission *admission, const char *namespace_id, const char *text, const char **id,
                     struct fault *fault);
    } methods[] = {
        {"api_key", find_secret},
        {"codex_pat", find_secret},
        {"chatgpt_service_account", find_account},
    };
    cJSON *auth = json_new_object(admission->memory), *source;
    size_t length = strcspn(text, "="), index;
    const char *id;

    if (length == 0 || text_is_empty(text + length) || text_is_empty(text + length + 1))
        return fault_set(
            fault, FAULT_INVALID, "HARNESS_AUTH_INVALID",
            "Harness authentication is given as METHOD=SOURCE: api_key or codex_pat and a Secret, "
            "or chatgpt_service_account and a service account.");
    for (index = 0; index < COUNT_OF(methods); index++) {
        if (strlen(methods[index].name) == length && strncmp(methods[index].name, text, length) == 0)
            break;
    }
    if (index == COUNT_OF(methods))
        return fault_set(fault, FAULT_INVALID, "HARNESS_AUTH_UNSUPPORTED",
                         "There is no Harness authentication \"%.*s\"; there are api_key and codex_pat (of a "
                         "Secret) and chatgpt_service_account (of a service account).",
                         (int)length, text);
    if (!methods[index].find(admission, namespace_id, text + length + 1, &id, fault))
        return false;
    json_add_text(auth, "method", methods[index].name);
    if (methods[index].find == find_account) {
        json_add_text(auth, "serviceAccountId", id);
    } else {
        source = json_add_object(auth, "source");
        json_add_text(source, "kind", "secret");
        json_add_text(source, "namespaceId", namespace_id);
        json_add_text(source, "id", id);
    }
    *json = json_write(admission->memory, auth);
    return true;
}

bool agent_draft_find(struct admission *admission, const char *namespace_id,
                      const struct agent_request *request, const struct agent_row *agent,
                      struct agent_draft *draft, struct fault *fault)
{
    struct agent_draft found = {0};

    if (agent)
        found = (struct agent_draft){agent->configuration_id, agent->execution_mode, agent->harness_auth};
    if (request->configuration &&
        !find_configuration(admission, namespace_id, request->configuration, &found.configuration_id, fault))
        return false;
    if (request->execution_mode)
        found.execution_mode = request->execution_mode;
    if (request->no_harness_auth)
        found.harness_auth = NULL;
    if (request->harness_auth &&
        !find_auth(admission, namespace_id, request->harness_auth, &found.harness_auth, fault))
        return false;
    *draft = found;
    return true;
}

void agent_admit(const void *context, const char *id, const char *name, const char *work_id,
                 struct agent_admission *admitted)
{
    text_copy(admitted->id, sizeof admitted->id, id);
    admitted->name = mem_text(context, name);
    admitted->work_id = work_id ? mem_text(context, work_id) : NULL;
}
