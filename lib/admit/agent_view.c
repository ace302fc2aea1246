/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/agent_enter.h"

#include "lib/admit/reason.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/agent_list.h"
#include "lib/store/work_list.h"

#define READ_ACTION "openclaw.agents.read"

/* The Agent as the caller may read it. */
static bool look(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                 const cJSON **found, struct fault *fault)
{
    struct agent_row *agent;
    struct iam_question question;

    if (!agent_look(caller, context, namespace_text, text, &agent, fault))
        return false;
    question = agent_question(agent, "read");
    if (!caller_may(caller, READ_ACTION, &question, fault) ||
        !agent_document(caller->connection, context, agent->id, caller->watch, found, fault))
        return false;
    if (!*found)
        return fault_set(fault, FAULT_NOT_FOUND, "AGENT_NOT_FOUND",
                         "The Agent \"%s\" was deleted at this moment.", text);
    return true;
}

bool agent_get(struct caller *caller, const void *context, const char *namespace_text, const char *text,
               const cJSON **found, struct fault *fault)
{
    return look(caller, context, namespace_text, text, found, fault);
}

bool agent_list(struct caller *caller, const void *context, const char *namespace_text, const cJSON **rows,
                struct fault *fault)
{
    struct namespace_row *place = NULL;
    const cJSON *all;

    if (namespace_text && !namespace_find(caller->connection, context, namespace_text, NAMESPACE_LOOK,
                                          caller->watch, &place, fault))
        return false;
    if (namespace_text && !place)
        return place_missing(namespace_text, NULL, fault);
    return agent_list_documents(caller->connection, context, place ? place->id : NULL, caller->watch, &all,
                                fault) &&
           caller_readable_documents(caller, context, "agent", all, rows, fault);
}

/* Where all are hidden, it is told why rather than shown as none. */
bool agent_revisions(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                     const cJSON **rows, struct fault *fault)
{
    const cJSON *agent, *all, *readable;

    if (!look(caller, context, namespace_text, text, &agent, fault) ||
        !agent_revision_documents(caller->connection, context, json_text(agent, "id"), caller->watch, &all,
                                  fault) ||
        !caller_readable_documents(caller, context, "agent_revision", all, &readable, fault))
        return false;
    if (all->child && !readable->child) {
        const struct iam_question question = {
            .action = "read",
            .resource_kind = "agent_revision",
            .resource_id = json_text(all->child, "id"),
            .namespace_id = json_text(agent, "namespaceId"),
        };

        if (!caller_may(caller, "openclaw.agent-revisions.read", &question, fault))
            return false;
    }
    *rows = readable;
    return true;
}

/* ---- Status */

/* What the work is, with its code in words. */
static void add_work(cJSON *status, const cJSON *work)
{
    static const char *const members[] = {"id",   "kind",    "actorId",    "state",         "attempt",
                                          "code", "message", "codeAt",     "nextAttemptAt", "nextAttemptInMs",
                                          "why",  "ageMs",   "completedAt"};
    cJSON *told;
    size_t index;

    if (!work) {
        json_add_text(status, "work", NULL);
        return;
    }
    told = json_add_object(status, "work");
    for (index = 0; index < COUNT_OF(members); index++) {
        json_add_copy(told, members[index], json_member(work, members[index]));
        if (text_equal(members[index], "code"))
            json_add_text(told, "meaning", reason_text(json_text(work, "code")));
    }
}

/* Warnings of the Driver, as the worker left them, and what differs between what is wanted and what is. */
static void add_warnings(const void *context, cJSON *status, const cJSON *agent, const cJSON *work,
                         int64_t generation, int64_t frozen)
{
    cJSON *warnings = json_add_array(status, "warnings");
    const cJSON *active = json_object(agent, "activeRevision"),
                *newest = json_object(agent, "newestRevision");
    const char *state = json_text(agent, "state");
    const cJSON *warning;
    int64_t serving = 0, latest = 0;

    cJSON_ArrayForEach(warning, json_array(work, "warnings"))
    {
        if (json_text(warning, "message"))
            json_append_text(warnings, json_text(warning, "message"));
    }
    (void)json_number(active, "number", &serving);
    (void)json_number(newest, "number", &latest);
    if (text_equal(state, "failed") && serving > 0)
        json_append_text(warnings, mem_format(context, "Revision %lld is still active.", (long long)serving));
    if (text_equal(state, "deploying") && serving > 0 && serving != latest)
        json_append_text(warnings, mem_format(context, "Revision %lld is active until revision %lld is.",
                                              (long long)serving, (long long)latest));
    if (frozen > 0 && generation > frozen)
        json_append_text(warnings,
                         mem_format(context,
                                    "The Configuration is at generation %lld, and revision %lld froze "
                                    "generation %lld: deploy again to use it.",
                                    (long long)generation, (long long)latest, (long long)frozen));
}

static void add_error(const void *context, cJSON *status, const cJSON *agent, const cJSON *work)
{
    const char *code = json_text(work, "code"), *message = json_text(work, "message");
    const char *meaning = reason_text(code);
    char *error;

    if (!text_equal(json_text(agent, "state"), "failed")) {
        json_add_text(status, "error", NULL);
        return;
    }
    error = mem_text(context, code ? code : "The Agent is not as it was asked for.");
    if (meaning)
        error = mem_append(error, ": %s", meaning);
    if (message)
        error = mem_append(error, "%s %s", meaning ? "" : ":", message);
    json_add_text(status, "error", error);
}

bool agent_status(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  const cJSON **status, struct fault *fault)
{
    static const char *const members[] = {"id",
                                          "name",
                                          "namespaceId",
                                          "namespaceName",
                                          "state",
                                          "desiredRuntimeState",
                                          "activeRevision",
                                          "newestRevision"};
    const cJSON *agent, *work = NULL;
    cJSON *told = json_new_object(context);
    int64_t generation, frozen;
    const char *work_id;
    size_t index;

    if (!look(caller, context, namespace_text, text, &agent, fault) ||
        !agent_generations(caller->connection, json_text(agent, "id"), caller->watch, &generation, &frozen,
                           fault))
        return false;
    work_id = json_text(json_object(agent, "work"), "id");
    if (work_id && !work_find(caller->connection, context, work_id, caller->watch, &work, fault))
        return false;
    for (index = 0; index < COUNT_OF(members); index++)
        json_add_copy(told, members[index], json_member(agent, members[index]));
    add_work(told, work);
    json_add_copy(told, "failure", json_object(work, "failure"));
    add_warnings(context, told, agent, work, generation, frozen);
    add_error(context, told, agent, work);
    *status = told;
    return true;
}
