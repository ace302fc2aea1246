/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/agent_enter.h"

#include "lib/admit/deletion.h"
#include "lib/admit/name.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

struct request {
    const void *context;
    const char *namespace_text;
    const char *text; /* the new name, or ID or name of one that is there */
    const struct agent_request *wanted;
    struct agent_admission *admitted;
};

/* What the draft is now, as evidence. */
static void add_draft(struct admission *admission, const char *name, const struct agent_draft *draft)
{
    json_add_text(admission->details, "name", name);
    json_add_text(admission->details, "configurationId", draft->configuration_id);
    json_add_text(admission->details, "executionMode", draft->execution_mode);
    json_add_copy(admission->details, "harnessAuth",
                  draft->harness_auth
                      ? json_read(admission->memory, draft->harness_auth, strlen(draft->harness_auth))
                      : NULL);
}

/* The insert waited for whoever else was at the name, so that this sees them. */
static bool explain_taken(struct admission *admission, const struct namespace_row *place, const char *name,
                          struct fault *fault)
{
    struct agent_row *holder;

    if (!agent_find(admission->connection, admission->memory, place->id, name, false, admission->watch,
                    &holder, fault))
        return false;
    if (holder)
        return fault_set(fault, FAULT_CONFLICT, "AGENT_NAME_TAKEN",
                         "The Agent \"%s\" (%s) exists already in the Namespace \"%s\".", holder->name,
                         holder->id, place->name);
    return fault_set(fault, FAULT_RETRYABLE, "DATABASE_CONFLICT",
                     "The name \"%s\" was taken and given up again at the same moment.", name);
}

static bool create(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct namespace_row *place;
    struct iam_question question;
    struct agent_draft draft;
    char id[IDENTIFIER_SIZE], principal[UUID_SIZE];
    bool inserted;

    if (!place_enter(admission, request->namespace_text, &place, fault))
        return false;
    question = (struct iam_question){.action = "create", .resource_kind = "agent", .namespace_id = place->id};
    if (!admission_authorize(admission, &question, fault) || !place_open(place, false, fault) ||
        !agent_draft_find(admission, place->id, request->wanted, NULL, &draft, fault))
        return false;
    identifier_new(id, "agt_");
    uuid_new(principal);
    if (!agent_insert(admission->connection, id, place->id, request->text, principal, &draft,
                      admission->watch, &inserted, fault))
        return false;
    if (!inserted)
        return explain_taken(admission, place, request->text, fault);
    add_draft(admission, request->text, &draft);
    json_add_text(admission->details, "agentServicePrincipalId", principal);
    if (!admission_record(admission, place->id, "agent", id, fault))
        return false;
    agent_admit(request->context, id, request->text, NULL, request->admitted);
    request->admitted->changed = true;
    return true;
}

bool agent_create(struct caller *caller, const void *context, const char *namespace_text, const char *name,
                  const struct agent_request *wanted, struct agent_admission *admitted, struct fault *fault)
{
    struct request request = {context, namespace_text, name, wanted, admitted};

    *admitted = (struct agent_admission){0};
    return name_check("The Agent's name", name, fault) &&
           admission_run(caller, "openclaw.agents.create", create, &request, fault);
}

static bool change(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct namespace_row *place;
    struct agent_row *agent;
    struct iam_question question;
    struct agent_draft draft;
    bool changed;

    if (!agent_enter(admission, request->namespace_text, request->text, AGENT_HELD, &place, &agent, fault))
        return false;
    question = agent_question(agent, "update");
    if (!admission_authorize(admission, &question, fault) || !agent_open(agent, fault) ||
        !agent_draft_find(admission, place->id, request->wanted, agent, &draft, fault) ||
        !agent_update(admission->connection, agent->id, &draft, admission->watch, &changed, fault))
        return false;
    add_draft(admission, agent->name, &draft);
    if (changed && !admission_record(admission, place->id, "agent", agent->id, fault))
        return false;
    agent_admit(request->context, agent->id, agent->name, NULL, request->admitted);
    request->admitted->changed = changed;
    return true;
}

bool agent_change(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  const struct agent_request *wanted, struct agent_admission *admitted, struct fault *fault)
{
    struct request request = {context, namespace_text, text, wanted, admitted};

    *admitted = (struct agent_admission){0};
    return admission_run(caller, "openclaw.agents.update", change, &request, fault);
}

static bool stop(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct namespace_row *place;
    struct agent_row *agent;
    struct iam_question question;
    char uuid[UUID_SIZE];
    const char *work_id;
    int64_t under_way;

    if (!agent_enter(admission, request->namespace_text, request->text, AGENT_HELD, &place, &agent, fault))
        return false;
    question = agent_question(agent, "operate");
    if (!admission_authorize(admission, &question, fault) || !agent_open(agent, fault) ||
        !agent_deployment_under_way(admission->connection, agent->id, admission->watch, &under_way, fault))
        return false;
    uuid_new(uuid);
    work_id = agent_stop_work_key(admission->memory, agent->id, uuid);
    if (!agent_stop_insert(admission->connection, agent, work_id, admission->caller->actor_id,
                           admission->watch, fault))
        return false;
    json_add_text(admission->details, "name", agent->name);
    json_add_text(admission->details, "workId", work_id);
    if (!admission_record(admission, place->id, "agent", agent->id, fault))
        return false;
    agent_admit(request->context, agent->id, agent->name, work_id, request->admitted);
    request->admitted->changed = true;
    request->admitted->revision_number = under_way;
    return true;
}

bool agent_stop(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                struct agent_admission *admitted, struct fault *fault)
{
    struct request request = {context, namespace_text, text, NULL, admitted};

    *admitted = (struct agent_admission){0};
    return admission_run(caller, "openclaw.agents.stop", stop, &request, fault);
}

/* The Namespace is kept alone, as repeating takes it so: two who share it could not both go on. */
static bool delete (struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct namespace_row *place;
    struct agent_row *agent;
    struct iam_question question;
    const char *work_id;
    bool changed = true;

    if (!agent_enter(admission, request->namespace_text, request->text, AGENT_HELD_ALONE, &place, &agent,
                     fault))
        return false;
    question = agent_question(agent, "delete");
    if (!admission_authorize(admission, &question, fault))
        return false;
    work_id = agent_delete_work_key(admission->memory, agent->id);
    if (text_equal(agent->status, "deleting")) {
        if (!deletion_repeat(admission, work_id, &question, &changed, fault))
            return false;
    } else if (!agent_begin_delete(admission->connection, agent, admission->caller->actor_id,
                                   admission->watch, fault)) {
        return false;
    }
    json_add_text(admission->details, "name", agent->name);
    json_add_text(admission->details, "workId", work_id);
    if (changed && !admission_record(admission, place->id, "agent", agent->id, fault))
        return false;
    agent_admit(request->context, agent->id, agent->name, work_id, request->admitted);
    request->admitted->changed = changed;
    return true;
}

bool agent_delete(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  struct agent_admission *admitted, struct fault *fault)
{
    struct request request = {context, namespace_text, text, NULL, admitted};

    *admitted = (struct agent_admission){0};
    return admission_run(caller, "openclaw.agents.delete", delete, &request, fault);
}
