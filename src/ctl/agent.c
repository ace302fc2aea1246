/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/agent.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/agent_list.h"
#include "src/ctl/drivers.h"
#include "src/ctl/wait.h"

static const char *place_of(const struct ctl *ctl)
{
    return options_text(ctl->options, "namespace");
}

/* ---- What is shown of what was admitted */

/* The id is given rather than the name, as a name could be another Agent's id. */
static bool print_one(struct ctl *ctl, const char *id, struct fault *fault)
{
    const cJSON *document;

    return agent_get(ctl->caller, ctl->memory, NULL, id, &document, fault) &&
           output_document(&ctl->output, document, fault);
}

static bool print_admitted(struct ctl *ctl, const struct agent_admission *admitted, struct fault *fault)
{
    if (print_one(ctl, admitted->id, fault))
        return true;
    /* The answer is lost and not the request: nobody should repeat it. */
    if (admitted->work_id)
        ctl_say("\"%s\" was admitted as the work %s; only what became of it cannot be shown.", admitted->name,
                admitted->work_id);
    else
        ctl_say("\"%s\" was written as the Agent %s; only it cannot be shown.", admitted->name, admitted->id);
    return false;
}

/* An Agent that is gone leaves nothing to be read. */
static bool print_deleted(struct ctl *ctl, const struct agent_admission *admitted, struct fault *fault)
{
    cJSON *document = json_new_object(ctl->memory);

    json_add_text(document, "id", admitted->id);
    json_add_text(document, "name", admitted->name);
    json_add_text(document, "state", "deleted");
    return output_document(&ctl->output, document, fault);
}

/* "running revision 3", or the state. */
static bool describe(struct ctl *ctl, const void *context, const char *id, const char **text,
                     struct fault *fault)
{
    const cJSON *agent;
    int64_t number;

    if (!agent_document(ctl->connection, context, id, NULL, &agent, fault))
        return false;
    *text = agent ? json_text(agent, "state") : "deleted";
    if (text_equal(*text, "running") && json_number(json_object(agent, "activeRevision"), "number", &number))
        *text = mem_format(context, "running revision %lld", (long long)number);
    return true;
}

/* Waits where that was asked for. `wanted` NULL: the Agent is to be gone. */
static bool await(struct ctl *ctl, const struct agent_admission *admitted, const char *wanted,
                  struct fault *fault)
{
    const struct wait_goal goal = {
        .what = "Agent",
        .id = admitted->id,
        .wanted = wanted ? wanted : "deleted",
        .describe = describe,
    };

    return !options_true(ctl->options, "wait") ||
           wait_for_work(ctl, admitted->work_id, admitted->name, &goal, fault);
}

/* ---- Drafts */

static bool read_request(struct ctl *ctl, struct agent_request *request, struct fault *fault)
{
    *request = (struct agent_request){
        .configuration = options_text(ctl->options, "configuration"),
        .execution_mode = options_text(ctl->options, "execution-mode"),
        .harness_auth = options_text(ctl->options, "harness-auth"),
    };
    if (place_of(ctl) || !text_equal(ctl->command->name, "agent create"))
        return true;
    return fault_set(fault, FAULT_INVALID, "USAGE", "--namespace is needed (or OCC_NAMESPACE); see --help");
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    struct agent_request request;
    struct agent_admission admitted;

    if (!read_request(ctl, &request, fault))
        return false;
    if (!request.configuration || !request.execution_mode)
        return fault_set(fault, FAULT_INVALID, "USAGE", "%s is needed; see --help",
                         request.configuration ? "--execution-mode" : "--configuration");
    return agent_create(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &request, &admitted,
                        fault) &&
           print_admitted(ctl, &admitted, fault);
}

static bool update(struct ctl *ctl, struct fault *fault)
{
    struct agent_request request;
    struct agent_admission admitted;

    if (!read_request(ctl, &request, fault))
        return false;
    request.no_harness_auth = options_true(ctl->options, "no-harness-auth");
    if (request.no_harness_auth && request.harness_auth)
        return fault_set(fault, FAULT_INVALID, "USAGE",
                         "--harness-auth and --no-harness-auth contradict each other; see --help");
    if (!request.configuration && !request.execution_mode && !request.harness_auth &&
        !request.no_harness_auth)
        return fault_set(fault, FAULT_INVALID, "USAGE", "nothing to change was given; see --help");
    if (!agent_change(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &request, &admitted, fault))
        return false;
    if (!admitted.changed)
        ctl_say("\"%s\" is so already.", admitted.name);
    return print_admitted(ctl, &admitted, fault);
}

/* ---- Lifecycle */

static bool deploy(struct ctl *ctl, struct fault *fault)
{
    struct agent_drivers drivers = {0};
    struct agent_admission admitted;
    const struct startup *startup;

    if (!wait_is_sound(ctl, fault) || !drivers_startup(ctl, &startup, fault) ||
        !drivers_sandbox(ctl, &drivers.sandbox, fault) || !drivers_compute(ctl, &drivers.compute, fault) ||
        !drivers_configuration(ctl, &drivers.configuration, fault) ||
        (startup->secret.id && !drivers_secret(ctl, &drivers.secret, fault)))
        return false;
    drivers.log_level = log_level_text(startup->log_level);
    return agent_deploy(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &drivers, &admitted,
                        fault) &&
           await(ctl, &admitted,
                 mem_format(ctl->memory, "running revision %lld", (long long)admitted.revision_number),
                 fault) &&
           print_admitted(ctl, &admitted, fault);
}

static bool stop(struct ctl *ctl, struct fault *fault)
{
    struct agent_admission admitted;

    if (!wait_is_sound(ctl, fault) ||
        !agent_stop(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &admitted, fault))
        return false;
    if (admitted.revision_number > 0)
        ctl_say("The deployment of revision %lld is under way, and ends without it becoming active.",
                (long long)admitted.revision_number);
    return await(ctl, &admitted, "stopped", fault) && print_admitted(ctl, &admitted, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    struct agent_admission admitted;
    const char *state;

    if (!wait_is_sound(ctl, fault) ||
        !agent_delete(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &admitted, fault))
        return false;
    if (!admitted.changed)
        ctl_say("The deletion of \"%s\" is under way already.", admitted.name);
    if (!await(ctl, &admitted, NULL, fault) || !describe(ctl, ctl->memory, admitted.id, &state, fault))
        return false;
    return text_equal(state, "deleted") ? print_deleted(ctl, &admitted, fault)
                                        : print_admitted(ctl, &admitted, fault);
}

/* ---- Looking */

static bool get(struct ctl *ctl, struct fault *fault)
{
    const cJSON *document;

    return agent_get(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &document, fault) &&
           output_document(&ctl->output, document, fault);
}

static bool status(struct ctl *ctl, struct fault *fault)
{
    const cJSON *document;

    return agent_status(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &document, fault) &&
           output_document(&ctl->output, document, fault);
}

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_LONG},
        {"NAMESPACE", "namespaceName", COLUMN_LONG},
        {"STATE", "state", COLUMN_STATE},
        {"MODE", "executionMode", COLUMN_TEXT},
        {"REVISION", "activeRevision.number", COLUMN_TEXT},
        {"AGE", "ageMs", COLUMN_DURATION},
        {"WORK", "work.state", COLUMN_STATE},
        {"CODE", "work.code", COLUMN_TEXT},
        {"ID", "id", COLUMN_TEXT},
    };
    const cJSON *rows;

    return agent_list(ctl->caller, ctl->memory, place_of(ctl), &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool revisions(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"NUMBER", "number", COLUMN_TEXT},      {"ACTIVE", "active", COLUMN_TEXT},
        {"HARNESS", "harness.id", COLUMN_TEXT}, {"MODE", "harness.mode", COLUMN_TEXT},
        {"COMPUTE", "compute.id", COLUMN_TEXT}, {"GENERATION", "configurationGeneration", COLUMN_TEXT},
        {"AGE", "ageMs", COLUMN_DURATION},      {"WORK", "work.state", COLUMN_STATE},
        {"CODE", "work.code", COLUMN_TEXT},     {"ID", "id", COLUMN_TEXT},
    };
    const cJSON *rows;

    return agent_revisions(ctl->caller, ctl->memory, place_of(ctl), ctl->operands[0], &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

#define DRAFT_OPTIONS                                                                                        \
    {.flag = "configuration",                                                                                \
     .type = OPTION_TEXT,                                                                                    \
     .value = "ID",                                                                                          \
     .help = "The Configuration whose document it gets, of the same Namespace."},                            \
        {.flag = "execution-mode",                                                                           \
         .type = OPTION_CHOICE,                                                                              \
         .choices = "embedded|dedicated",                                                                    \
         .value = "MODE",                                                                                    \
         .help = "Where its Harness runs: inside the gateway, or as a workload of its own."},                \
    {                                                                                                        \
        .flag = "harness-auth", .type = OPTION_TEXT, .value = "METHOD=SOURCE",                               \
        .help = "How its Harness authenticates: api_key or codex_pat and a Secret, or "                      \
                "chatgpt_service_account and a service account, by ID or exact name. Without it nothing "    \
                "can be deployed."                                                                           \
    }

static const struct option create_options[] = {DRAFT_OPTIONS};
static const struct option_table create_table = {"Draft", create_options, COUNT_OF(create_options)};
static const struct option update_options[] = {
    DRAFT_OPTIONS,
    {.flag = "no-harness-auth", .type = OPTION_SWITCH, .help = "Take its Harness authentication away."},
};
static const struct option_table update_table = {"Draft", update_options, COUNT_OF(update_options)};
static const struct option wait_options[] = {WAIT_OPTIONS};
static const struct option_table wait_table = {"Waiting", wait_options, COUNT_OF(wait_options)};

#define OF_ONE .operands = "AGENT", .operands_least = 1, .operands_most = 1, .in_namespace = true

const struct command agent_commands[] = {
    {
        .name = "agent create",
        .operands = "NAME",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .in_namespace = true,
        .summary = "Drafts an Agent, with a service principal that is its own for ever. Nothing of it runs "
                   "before it is deployed. Needs agent:create on the Namespace.",
        .run = create,
    },
    {
        .name = "agent list",
        .in_namespace = true,
        .summary = "Shows the Agents that you may read, of one Namespace or of all.",
        .run = list,
    },
    {
        .name = "agent get",
        OF_ONE,
        .summary = "Shows one Agent, named by ID, or by exact name with --namespace. Needs agent:read on it.",
        .run = get,
    },
    {
        .name = "agent update",
        OF_ONE,
        .options = &update_table,
        .summary =
            "Changes an Agent's draft. What is deployed stays as it was deployed. Needs agent:update on "
            "it.",
        .run = update,
    },
    {
        .name = "agent deploy",
        OF_ONE,
        .options = &wait_table,
        .summary =
            "Asks for the draft to run, as the next revision. Needs agent:deploy on it, "
            "configuration:read on its Configuration, and for you as for the Agent's service principal "
            "secret:operate on the Secrets that it uses; with a service account, service_account:read "
            "on that.",
        .run = deploy,
    },
    {
        .name = "agent stop",
        OF_ONE,
        .options = &wait_table,
        .summary = "Asks that nothing of an Agent runs. Needs agent:operate on it.",
        .run = stop,
    },
    {
        .name = "agent delete",
        OF_ONE,
        .options = &wait_table,
        .summary = "Deletes an Agent with its revisions and its service principal. A deletion that failed is "
                   "started again. Needs agent:delete on it.",
        .run = delete,
    },
    {
        .name = "agent status",
        OF_ONE,
        .summary = "Shows how an Agent stands: its state, its revisions, what its latest work is doing, and "
                   "what is wrong. Needs agent:read on it.",
        .run = status,
    },
    {
        .name = "agent revisions",
        OF_ONE,
        .summary = "Shows what was deployed of an Agent. Needs agent:read on it, and agent_revision:read.",
        .run = revisions,
    },
    {0},
};
