/* SPDX-License-Identifier: MIT
 *
 * Deployment: the draft becomes a revision.
 *
 * Drivers are asked before the Agent is locked, so that nobody waits for a Driver who only wants the Agent;
 * the lock then finds whether the draft is still the one that was asked about. The Configuration's row is
 * kept from when its text is read (see configuration.h).
 */
#include "lib/base/build.h"

#include "lib/admit/agent_enter.h"

#include "lib/admit/configuration.h"
#include "lib/admit/driver.h"
#include "lib/admit/harness_selection.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/service_account.h"

struct request {
    const void *context;
    const char *namespace_text;
    const char *text;
    const struct agent_drivers *drivers;
    struct agent_admission *admitted;
};

/* What the revision refers to. */
struct references {
    const char **secrets; /* the ones that are bound, and the Harness's */
    size_t count;
};

/* ---- Permissions */

static struct iam_question question_on(const struct agent_row *agent, const char *kind, const char *action,
                                       const char *id)
{
    return (struct iam_question){
        .action = action,
        .resource_kind = kind,
        .resource_id = id,
        .namespace_id = agent->namespace_id,
    };
}

/* The Secrets whose values the runtime gets. What a service account's credential is in is the account's. */
static struct references collect(struct admission *admission, const struct agent_row *agent,
                                 const char *secret_bindings)
{
    const cJSON *bindings = json_read(admission->memory, secret_bindings, strlen(secret_bindings)), *binding;
    struct references found = {
        .secrets = mem_array(admission->memory, const char *, (size_t)cJSON_GetArraySize(bindings) + 2),
    };

    cJSON_ArrayForEach(binding, bindings)
    {
        found.secrets[found.count++] = json_text(json_object(binding, "source"), "id");
    }
    if (agent->harness_auth_secret_id)
        found.secrets[found.count++] = agent->harness_auth_secret_id;
    return found;
}

/* For the caller, and for the Agent itself, which will read them as its service principal. */
static bool authorize_secrets(struct admission *admission, const struct agent_row *agent,
                              const struct references *references, struct fault *fault)
{
    struct iam_question *questions =
        mem_array(admission->memory, struct iam_question, 2 * references->count + 1);
    size_t index, count = 0;

    for (index = 0; index < references->count; index++) {
        questions[count++] = question_on(agent, "secret", "operate", references->secrets[index]);
        questions[count] = question_on(agent, "secret", "operate", references->secrets[index]);
        questions[count++].actor_id = agent->service_principal_id;
    }
    return admission_authorize_all(admission, questions, count, fault);
}

static bool authorize_draft(struct admission *admission, const struct agent_row *agent, struct fault *fault)
{
    struct iam_question questions[2] = {
        question_on(agent, "configuration", "read", agent->configuration_id),
    };
    size_t count = 1;

    if (agent->harness_auth_service_account_id)
        questions[count++] =
            question_on(agent, "service_account", "read", agent->harness_auth_service_account_id);
    return admission_authorize_all(admission, questions, count, fault);
}

/* ---- Drivers */

/* Every Secret is with the Driver that is selected now: the worker will ask no other. */
static bool check_secret_driver(struct admission *admission, const struct request *request,
                                const struct agent_row *agent, const struct references *references,
                                const char **driver_id, struct fault *fault)
{
    const char *selected = request->drivers->secret ? request->drivers->secret->id : NULL;
    const char **ids = mem_array(admission->memory, const char *, references->count + 1);
    size_t count = references->count;
    const char *id, *keeper;
    struct service_account_row *account;

    memcpy(ids, references->secrets, count * sizeof *ids);
    if (agent->harness_auth_service_account_id) {
        if (!service_account_find(admission->connection, admission->memory, agent->namespace_id,
                                  agent->harness_auth_service_account_id, false, admission->watch, &account,
                                  fault))
            return false;
        if (account)
            ids[count++] = account->secret_id;
    }
    if (!agent_secret_elsewhere(admission->connection, admission->memory, ids, count, selected,
                                admission->watch, &id, &keeper, fault))
        return false;
    if (id)
        return fault_set(fault, FAULT_CONFLICT, "SECRET_DRIVER_MISMATCH",
                         "The Secret %s is kept by the Secret Driver %s, and %s%s is selected.", id, keeper,
                         selected ? "the Secret Driver " : "none", selected ? selected : "");
    *driver_id = count > 0 ? selected : NULL;
    return true;
}

static bool validate_auth(struct admission *admission, const struct request *request,
                          const struct agent_row *agent, const struct harness *harness, struct fault *fault)
{
    const struct compute_driver *compute = request->drivers->compute;
    const struct subject_harness subject = {
        .id = harness->id,
        .mode = harness->mode,
        .auth = agent->harness_auth,
    };
    struct driver_call call = driver_call_new(admission->caller, admission->memory);

    if (!compute->operations->validate_harness_auth)
        return fault_set(
            fault, FAULT_UNAVAILABLE, "HARNESS_AUTH_VALIDATION_UNAVAILABLE",
            "The Compute Driver %s cannot tell whether a Harness may authenticate so: nothing can "
            "be deployed with it.",
            compute->id);
    call.secrets = request->drivers->secret;
    return compute->operations->validate_harness_auth(compute->self, &call, &subject, fault) ||
           driver_failed(fault);
}

/* ---- The revision */

/* Before anything that would have to be mended in vain: where the Driver runs no Agents at all, each refusal
 * says so. A Driver that cannot even tell about a Harness is refused where it is asked. */
static bool check_auth(const struct compute_driver *compute, const struct agent_row *agent,
                       struct fault *fault)
{
    bool runs = compute->operations->prepare_revision || !compute->operations->validate_harness_auth;

    if (!agent->harness_auth && runs)
        return fault_set(fault, FAULT_CONFLICT, "HARNESS_AUTH_REQUIRED",
                         "The Agent \"%s\" does not say how its Harness authenticates: update it with a "
                         "Harness authentication first.",
                         agent->name);
    if (runs)
        return true;
    return fault_set(
        fault, FAULT_CONFLICT, agent->harness_auth ? "HARNESS_AUTH_UNSUPPORTED" : "HARNESS_AUTH_REQUIRED",
        "%sThe Compute Driver %s runs no Agents: to deploy them, select compute-kubernetes or an "
        "installed Driver that runs them in the startup YAML (drivers.compute).",
        agent->harness_auth ? "" : "The Agent does not say how its Harness authenticates. ", compute->id);
}

/* Everything that rests on the draft; `revision` is complete then, but for its identifier. */
static bool prepare(struct admission *admission, const struct request *request, const struct agent_row *agent,
                    struct agent_revision_draft *revision, struct fault *fault)
{
    const struct agent_drivers *drivers = request->drivers;
    struct configuration_snapshot snapshot;
    struct references references;
    const struct harness *harness;
    const char *secret_driver = NULL;

    if (!check_auth(drivers->compute, agent, fault) || !authorize_draft(admission, agent, fault) ||
        !configuration_snapshot(admission, drivers->configuration, agent->namespace_id,
                                agent->configuration_id, drivers->log_level, &snapshot, fault))
        return false;
    references = collect(admission, agent, snapshot.secret_bindings);
    if (!authorize_secrets(admission, agent, &references, fault) ||
        !harness_select(snapshot.draft_spec, strlen(snapshot.draft_spec), agent->execution_mode,
                        drivers->sandbox, &harness, fault) ||
        !validate_auth(admission, request, agent, harness, fault) ||
        !check_secret_driver(admission, request, agent, &references, &secret_driver, fault))
        return false;
    *revision = (struct agent_revision_draft){
        .configuration_kind = snapshot.kind,
        .configuration_generation = snapshot.generation,
        .draft_spec = snapshot.draft_spec,
        .secret_bindings = snapshot.secret_bindings,
        .harness_id = harness->id,
        .harness_version = harness->version,
        .compute_id = drivers->compute->id,
        .compute_implementation = drivers->compute->implementation,
        .secret_driver_id = secret_driver,
        /* A sandbox surrounds a workload of its own; an embedded Harness has none. */
        .sandbox_driver_id =
            drivers->sandbox && text_equal(harness->mode, "dedicated") ? drivers->sandbox->id : NULL,
    };
    return true;
}

/* Locks the Agent. A draft that moved since it was read is asked about again, by admission_run(). */
static bool hold(struct admission *admission, const struct agent_row *seen, struct agent_row **agent,
                 struct fault *fault)
{
    struct agent_row *row;

    if (!agent_find(admission->connection, admission->memory, seen->namespace_id, seen->id, true,
                    admission->watch, &row, fault))
        return false;
    if (!row || !text_equal(row->configuration_id, seen->configuration_id) ||
        !text_equal(row->execution_mode, seen->execution_mode) || !row->harness_auth ||
        !text_equal(row->harness_auth, seen->harness_auth) || !text_equal(row->status, seen->status))
        return fault_set(fault, FAULT_RETRYABLE, "DATABASE_CONFLICT",
                         "The Agent \"%s\" was changed at the same moment.", seen->name);
    *agent = row;
    return true;
}

static bool deploy(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct namespace_row *place;
    struct agent_row *agent;
    struct agent_revision_draft revision;
    struct iam_question question;
    char id[IDENTIFIER_SIZE];
    const char *work_id;
    int64_t number;

    if (!agent_enter(admission, request->namespace_text, request->text, AGENT_LOOKED_AT, &place, &agent,
                     fault))
        return false;
    question = agent_question(agent, "deploy");
    if (!admission_authorize(admission, &question, fault) || !agent_open(agent, fault) ||
        !place_open(place, true, fault) || !prepare(admission, request, agent, &revision, fault) ||
        !hold(admission, agent, &agent, fault))
        return false;
    identifier_new(id, "rev_");
    revision.id = id;
    revision.agent = agent;
    if (!agent_deploy_insert(admission->connection, &revision, admission->caller->actor_id, admission->watch,
                             &number, fault))
        return false;
    work_id = agent_revision_work_key(admission->memory, id);
    json_add_text(admission->details, "name", agent->name);
    json_add_text(admission->details, "revisionId", id);
    json_add_number(admission->details, "revisionNumber", number);
    json_add_text(admission->details, "workId", work_id);
    if (!admission_record(admission, place->id, "agent", agent->id, fault))
        return false;
    agent_admit(request->context, agent->id, agent->name, work_id, request->admitted);
    request->admitted->changed = true;
    request->admitted->revision_number = number;
    return true;
}

bool agent_deploy(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  const struct agent_drivers *drivers, struct agent_admission *admitted, struct fault *fault)
{
    struct request request = {context, namespace_text, text, drivers, admitted};

    *admitted = (struct agent_admission){0};
    return admission_run(caller, "openclaw.agents.deploy", deploy, &request, fault);
}
