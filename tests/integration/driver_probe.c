/* SPDX-License-Identifier: MIT
 *
 * Opens the Drivers of a startup YAML through the catalog, as the worker does, and drives them by commands on
 * stdin, one JSON object a line; answers each with one on stdout, so that a test can do things to the backend
 * in between.
 *
 *     driver_probe development|production STARTUP_YAML [DOCKER_SOCKET [CONFIGURATION_ROOT]]
 *
 * A command: {"capability": "compute"|"sandbox"|"configuration"|"secret", "operation": of its contract,
 * "observe": only look, "installation", "timeoutMs": the deadline (60000), "watchMs": a watch that ends the
 * operation after so long, and the subjects: "namespace": {"id","name","existing"}, "agent": {"id","name",
 * "servicePrincipalId"}, "revision": {"id","number","first","document","harness":{"id","mode","version"},
 * "harnessAuth","secret":{place},"bindings":[{"name",place}],…}, "harness": {"id","mode","auth"},
 * "configurationId", "document", "secretId", "value" (base64), "place": {"secretId","driverId","namespaceId",
 * "backendNamespaceName","backendName","backendKey","backendUid"}}.
 *
 * An answer: {"opened": true} first; then {"ok","class","code","message","dependency","cause","retryAfterMs",
 * "exit","namespaceId","agentId","revisionId","failure","warnings","turns","elapsedMs"} and what the
 * operation gave: "document", "kept", "value", "stopped", "endpoint". A failed opening is answered so, too.
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/catalog/catalog.h"
#include "tests/integration/probe_answer.h"
#include "tests/integration/probe_subject.h"

static struct {
    const struct sandbox_driver *sandbox;
    const struct compute_driver *compute;
    const struct secret_driver *secret;
    const struct configuration_driver *configuration;
} drivers;

/* One operation. */
struct asked {
    const char *operation;
    const cJSON *command;
    const struct driver_call *call;
    const struct probe_subject *subject;
    struct compute_observation seen;
    cJSON *told;
};

/* ---- The operations */

static bool is(const struct asked *asked, const char *operation)
{
    return strcmp(asked->operation, operation) == 0;
}

static bool unknown(const struct asked *asked, struct fault *fault)
{
    return fault_set(fault, FAULT_BUG, "PROBE_COMMAND", "there is no operation %s", asked->operation);
}

static bool do_compute(struct asked *asked, struct fault *fault)
{
    const struct compute_operations *operations = drivers.compute->operations;
    const struct probe_subject *subject = asked->subject;
    void *self = drivers.compute->self;
    compute_revision_operation revision = NULL;
    compute_namespace_operation space = NULL;
    compute_agent_operation agent = NULL;

    if (is(asked, "preflight"))
        return operations->preflight(self, asked->call, &asked->seen, fault);
    if (is(asked, "validate_harness_auth") && operations->validate_harness_auth)
        return operations->validate_harness_auth(self, asked->call, &subject->harness, fault);
    if (is(asked, "needs_stopped_predecessors")) {
        json_add_boolean(asked->told, "stopped",
                         operations->needs_stopped_predecessors &&
                             operations->needs_stopped_predecessors(self, &subject->revision));
        return true;
    }
    space = is(asked, "ensure_namespace")   ? operations->ensure_namespace
            : is(asked, "delete_namespace") ? operations->delete_namespace
                                            : NULL;
    agent = is(asked, "bind_agent")                    ? operations->bind_agent
            : is(asked, "provision_agent_credentials") ? operations->provision_agent_credentials
            : is(asked, "delete_agent_credentials")    ? operations->delete_agent_credentials
                                                       : NULL;
    revision = is(asked, "prepare_revision")      ? operations->prepare_revision
               : is(asked, "activate_revision")   ? operations->activate_revision
               : is(asked, "deactivate_revision") ? operations->deactivate_revision
               : is(asked, "stop_revision")       ? operations->stop_revision
               : is(asked, "retire_revision")     ? operations->retire_revision
                                                  : NULL;
    if (space)
        return space(self, asked->call, &subject->owner, &asked->seen, fault);
    if (agent)
        return agent(self, asked->call, &subject->agent, &asked->seen, fault);
    if (revision)
        return revision(self, asked->call, &subject->revision, &asked->seen, fault);
    return unknown(asked, fault);
}

static bool do_sandbox(struct asked *asked, struct fault *fault)
{
    const struct sandbox_operations *operations = drivers.sandbox->operations;
    const struct probe_subject *subject = asked->subject;
    void *self = drivers.sandbox->self;

    if (is(asked, "preflight"))
        return !operations->preflight || operations->preflight(self, asked->call, fault);
    if (is(asked, "cleanup"))
        return operations->cleanup(self, asked->call, &subject->agent,
                                   subject->revision.id ? &subject->revision : NULL, &asked->seen, fault);
    return unknown(asked, fault);
}

static bool do_configuration(struct asked *asked, struct fault *fault)
{
    const struct configuration_operations *operations = drivers.configuration->operations;
    const struct subject_namespace *owner = &asked->subject->owner;
    const char *id = json_text(asked->command, "configurationId");
    const char *document = json_text(asked->command, "document");
    void *self = drivers.configuration->self;
    size_t length;

    if (is(asked, "preflight"))
        return !operations->preflight || operations->preflight(self, asked->call, fault);
    if (is(asked, "store") && document)
        return operations->store(self, asked->call, owner, id, document, strlen(document), fault);
    if (is(asked, "remove"))
        return operations->remove(self, asked->call, owner, id, fault);
    if (!is(asked, "read"))
        return unknown(asked, fault);
    if (!operations->read(self, asked->call, owner, id, &document, &length, fault))
        return false;
    json_add_text(asked->told, "document", mem_text_part(asked->call->memory, document, length));
    return true;
}

static bool do_secret(struct asked *asked, struct fault *fault)
{
    const struct secret_operations *operations = drivers.secret->operations;
    const struct secret *value = probe_value_read(asked->call->memory, asked->command);
    const struct secret_place *place = &asked->subject->place;
    void *self = drivers.secret->self;
    struct secret_kept kept = {.backend_uid = ""};
    cJSON *told;

    if (is(asked, "preflight"))
        return !operations->preflight || operations->preflight(self, asked->call, fault);
    if (is(asked, "remove"))
        return operations->remove(self, asked->call, place, fault);
    if (is(asked, "read")) {
        if (!operations->read(self, asked->call, place, &value, fault))
            return false;
        json_add_text(asked->told, "value", probe_value_write(asked->call->memory, value));
        return true;
    }
    if (!is(asked, "store") || !value)
        return unknown(asked, fault);
    if (!operations->store(self, asked->call, &asked->subject->owner, json_text(asked->command, "secretId"),
                           value, &kept, fault))
        return false;
    told = json_add_object(asked->told, "kept");
    json_add_text(told, "backendNamespaceName", kept.backend_namespace_name);
    json_add_text(told, "backendName", kept.backend_name);
    json_add_text(told, "backendKey", kept.backend_key);
    json_add_text(told, "backendUid", kept.backend_uid);
    return true;
}

static bool operate(struct asked *asked, struct fault *fault)
{
    const char *capability = json_text(asked->command, "capability");

    if (capability && strcmp(capability, "compute") == 0 && drivers.compute)
        return do_compute(asked, fault);
    if (capability && strcmp(capability, "sandbox") == 0 && drivers.sandbox)
        return do_sandbox(asked, fault);
    if (capability && strcmp(capability, "configuration") == 0 && drivers.configuration)
        return do_configuration(asked, fault);
    if (capability && strcmp(capability, "secret") == 0 && drivers.secret)
        return do_secret(asked, fault);
    return fault_set(fault, FAULT_BUG, "PROBE_COMMAND", "no Driver of this capability is open");
}

/* ---- The answers */

static void tell_observation(cJSON *told, const struct compute_observation *seen)
{
    const struct compute_failure *failure = &seen->failure;
    cJSON *warnings, *warning, *wrong;
    size_t index;

    json_add_text(told, "namespaceId", seen->namespace_id);
    json_add_text(told, "agentId", seen->agent_id);
    json_add_text(told, "revisionId", seen->revision_id);
    warnings = json_add_array(told, "warnings");
    for (index = 0; index < seen->warnings; index++) {
        warning = json_append_object(warnings);
        json_add_text(warning, "code", seen->warning[index].code);
        json_add_text(warning, "message", seen->warning[index].message);
    }
    if (!*failure->code) {
        json_add_text(told, "failure", NULL);
        return;
    }
    wrong = json_add_object(told, "failure");
    json_add_text(wrong, "component", failure->component);
    json_add_text(wrong, "check", failure->check);
    json_add_text(wrong, "code", failure->code);
    json_add_number(wrong, "checkedAtMs", failure->checked_at_ms);
}

static void run(const cJSON *command, TALLOC_CTX *memory)
{
    const int64_t begun_ms = clock_now_ms();
    int64_t timeout_ms = 60000, watch_ms = 0;
    struct driver_call call = {
        .memory = memory, .installation_id = json_text(command, "installation"), .secrets = drivers.secret};
    struct asked asked = {.operation = json_text(command, "operation"),
                          .command = command,
                          .call = &call,
                          .subject = probe_subject_read(memory, command),
                          .told = json_new_object(memory)};
    struct fault fault = {0};
    bool ok;

    (void)json_number(command, "timeoutMs", &timeout_ms);
    (void)json_number(command, "watchMs", &watch_ms);
    (void)json_boolean(command, "observe", &call.observe_only);
    call.deadline_ms = begun_ms + timeout_ms;
    call.watch = watch_ms > 0 ? &probe_watch : NULL;
    if (!call.installation_id)
        call.installation_id = "ins_probe";
    if (!asked.operation)
        asked.operation = "";
    probe_watch_begin(begun_ms, watch_ms);
    ok = operate(&asked, &fault);
    tell_observation(asked.told, &asked.seen);
    probe_tell(asked.told, ok, &fault, clock_now_ms() - begun_ms);
    probe_answer(asked.told);
}

static bool open_drivers(const void *context, int count, char **words, struct fault *fault)
{
    const struct catalog_settings settings = {
        .production = strcmp(words[1], "production") == 0,
        .docker_socket_path = count > 3 ? words[3] : "/nonexistent",
        .configuration_root = count > 4 ? words[4] : NULL,
    };
    const struct driver_call call = {.memory = context, .deadline_ms = clock_now_ms() + 60000};
    struct findings *findings = findings_new(context);
    const struct startup *startup = startup_of_file(context, words[2], "STARTUP_YAML",
                                                    settings.production ? MODE_PRODUCTION : MODE_DEVELOPMENT,
                                                    &catalog_packages, findings);

    return findings_check(findings, fault) &&
           catalog_open_sandbox(context, &settings, startup, &call, &drivers.sandbox, fault) &&
           catalog_open_compute(context, &settings, startup, drivers.sandbox, &call, &drivers.compute,
                                fault) &&
           catalog_open_secret(context, &settings, startup, &call, &drivers.secret, fault) &&
           catalog_open_configuration(context, &settings, startup, &call, &drivers.configuration, fault);
}

int main(int count, char **words)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const struct compute_observation nothing = {0};
    struct fault fault;
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    if (count < 3)
        return 2;
    log_open("driver_probe");
    if (!open_drivers(context, count, words, &fault)) {
        cJSON *told = json_new_object(context);

        tell_observation(told, &nothing);
        probe_tell(told, false, &fault, 0);
        probe_answer(told);
        talloc_free(context);
        return 0;
    }
    (void)printf("{\"opened\":true}\n");
    (void)fflush(stdout);
    while ((length = getline(&line, &size, stdin)) > 0) {
        TALLOC_CTX *memory = talloc_new(NULL);
        const cJSON *command = json_read(memory, line, (size_t)length);

        if (!command) {
            (void)fprintf(stderr, "driver_probe: no JSON: %s\n", line);
            return 2;
        }
        run(command, memory);
        talloc_free(memory);
    }
    free(line);
    talloc_free(context);
    return 0;
}
