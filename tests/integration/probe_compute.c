/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "tests/integration/probe_compute.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define STEPS_MOST 64

struct script {
    char **steps;
    size_t count;
    bool taken[STEPS_MOST];
    bool quiet;
    bool open;
    int left; /* boundaries until it dies; 0: it does not */
};

static struct script script;

void script_die_at(int boundary)
{
    script.left = boundary;
}

void script_boundary(void)
{
    if (script.left > 0 && --script.left == 0)
        (void)kill(getpid(), SIGKILL);
}

/* ---- Steps */

static bool until(const struct driver_call *call, int64_t deadline_ms, struct fault *fault)
{
    bool ready;

    return watch_wait(call->watch, NULL, 0, deadline_ms, &ready, fault);
}

static bool wait_short(const struct driver_call *call, long count, struct fault *fault)
{
    for (long i = 0; i < count; i++) {
        if (!until(call, clock_now_ms() + 20, fault))
            return false;
    }
    return true;
}

static bool wait_open(const struct driver_call *call, struct fault *fault)
{
    while (!script.open) {
        if (!until(call, clock_now_ms() + 20, fault))
            return false;
    }
    script.open = false;
    return true;
}

static void sleep_blindly(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};

    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        continue;
}

static bool play_fault(const char *step, const char *value, struct fault *fault)
{
    char code[FAULT_CODE_SIZE];
    const char *slash = strchr(value, '/');

    (void)snprintf(code, sizeof code, "%.*s", (int)(slash ? slash - value : (long)strlen(value)), value);
    (void)fault_set(fault,
                    step[0] == 'r'                ? FAULT_RETRYABLE
                    : strncmp(step, "pe", 2) != 0 ? FAULT_CLAIM_LOST
                    : step[2] == 'n'              ? FAULT_PENDING
                                                  : FAULT_PERMANENT,
                    code, "as the test said");
    if (slash)
        fault->retry_after_ms = (uint32_t)strtoul(slash + 1, NULL, 10);
    return false;
}

bool script_play(const char *step, const struct driver_call *call, struct fault *fault)
{
    const char *value = strchr(step, '=') ? strchr(step, '=') + 1 : "";
    long number = strtol(value, NULL, 10);

    if (strncmp(step, "gated+", 6) == 0)
        return wait_open(call, fault) && script_play(step + 6, call, fault);
    if (strncmp(step, "warn+", 5) == 0 || strncmp(step, "broken+", 7) == 0)
        return script_play(strchr(step, '+') + 1, call, fault);
    if (strncmp(step, "slow=", 5) == 0)
        return until(call, clock_now_ms() + number, fault);
    if (strncmp(step, "short=", 6) == 0)
        return wait_short(call, number, fault);
    if (text_equal(step, "gate"))
        return wait_open(call, fault);
    if (text_equal(step, "hang"))
        return until(call, CLOCK_NEVER, fault);
    if (strncmp(step, "late+", 5) == 0) {
        sleep_blindly(strtol(step + 5, NULL, 10));
        return play_fault("pending", "X_THERE", fault);
    }
    if (strncmp(step, "blind=", 6) == 0)
        sleep_blindly(number);
    else if (strchr(step, '=') || text_equal(step, "lost"))
        return play_fault(step, value, fault);
    return true;
}

/* 2026-01-31T23:59:59.123Z */
#define CHECKED_AT_MS 1769903999123

static void remark(const char *step, struct compute_observation *seen)
{
    if (strncmp(step, "warn+", 5) == 0)
        compute_warn(seen, "X_OLD", "%s", "it is old");
    else if (strncmp(step, "broken+", 7) == 0)
        seen->failure = (struct compute_failure){"gateway", "readiness-probe", "CRASH_LOOP", CHECKED_AT_MS};
}

/* The step's own text where it is one of this operation (NULL: of all those without one); else NULL. */
static const char *belongs(const char *step, const char *what)
{
    size_t length = strcspn(step, ":=+/");
    bool owned = step[length] == ':';

    if (!what)
        return owned ? NULL : step;
    return owned && strlen(what) == length && strncmp(step, what, length) == 0 ? step + length + 1 : NULL;
}

/* The first of the sequence that is not taken, else its last; NULL: it has none. */
static const char *next_of(const char *what)
{
    const char *found = NULL;

    for (size_t i = 0; i < script.count; i++) {
        const char *step = belongs(script.steps[i], what);

        if (!step)
            continue;
        found = step;
        if (script.taken[i])
            continue;
        script.taken[i] = true;
        break;
    }
    return found;
}

static const char *next_step(const char *what)
{
    const char *step = next_of(what);

    if (!step)
        step = next_of(NULL);
    return step ? step : "ready";
}

/* ---- Operations */

static void name_namespace(const char *step, const char *id, struct compute_observation *seen)
{
    if (text_equal(step, "foreign"))
        (void)text_copy(seen->namespace_id, sizeof seen->namespace_id,
                        "ns_00000000-0000-4000-8000-000000000000");
    else if (!text_equal(step, "mute"))
        (void)text_copy(seen->namespace_id, sizeof seen->namespace_id, id);
}

static cJSON *tell(const struct driver_call *call, const char *what, const char *step,
                   const struct subject_namespace *subject)
{
    cJSON *told = json_new_object(call->memory);

    json_add_text(told, "say", "effect");
    json_add_text(told, "what", what);
    json_add_text(told, "namespace", subject->id);
    json_add_text(told, "existing", subject->existing_namespace ? subject->existing_namespace : "");
    json_add_boolean(told, "observe", call->observe_only);
    json_add_text(told, "step", step);
    json_add_number(told, "limit_ms", call->deadline_ms - clock_now_ms());
    return told;
}

static void say(const struct driver_call *call, cJSON *told)
{
    if (!script.quiet)
        printf("%s\n", json_write(call->memory, told));
    script_boundary();
}

static bool finish(const char *step, const struct driver_call *call, struct fault *fault)
{
    bool done = script_play(step, call, fault);

    script_boundary();
    return done;
}

static bool on_namespace(const char *what, const struct driver_call *call,
                         const struct subject_namespace *subject, struct compute_observation *seen,
                         struct fault *fault)
{
    const char *step = next_step(what);

    say(call, tell(call, what, step, subject));
    name_namespace(step, subject->id, seen);
    remark(step, seen);
    return finish(step, call, fault);
}

static cJSON *tell_agent(const struct driver_call *call, const char *what, const char *step,
                         const struct subject_agent *agent)
{
    cJSON *told = tell(call, what, step, &agent->owner);

    json_add_text(told, "namespaceName", agent->owner.name);
    json_add_text(told, "agent", agent->id);
    json_add_text(told, "agentName", agent->name);
    json_add_text(told, "principal", agent->service_principal_id);
    return told;
}

static bool on_agent(const char *what, const struct driver_call *call, const struct subject_agent *agent,
                     struct compute_observation *seen, struct fault *fault)
{
    const char *step = next_step(what);

    say(call, tell_agent(call, what, step, agent));
    name_namespace(step, agent->owner.id, seen);
    (void)text_copy(seen->agent_id, sizeof seen->agent_id, agent->id);
    remark(step, seen);
    return finish(step, call, fault);
}

static void tell_place(cJSON *told, const struct secret_place *place)
{
    json_add_text(told, "secret", place->secret_id);
    json_add_text(told, "driver", place->driver_id);
    json_add_text(told, "namespace", place->namespace_id);
    json_add_text(told, "backendNamespace", place->backend_namespace_name);
    json_add_text(told, "backendName", place->backend_name);
    json_add_text(told, "backendKey", place->backend_key);
    json_add_text(told, "backendUid", place->backend_uid);
}

static void tell_revision(cJSON *told, const struct subject_revision *revision)
{
    cJSON *list;

    json_add_text(told, "revision", revision->id);
    json_add_number(told, "number", revision->number);
    json_add_boolean(told, "first", revision->first);
    json_add_text(told, "configuration", revision->configuration_id);
    json_add_number(told, "generation", revision->configuration_generation);
    json_add_text(told, "document", revision->document);
    json_add_text(told, "harness", revision->harness_id);
    json_add_text(told, "mode", revision->harness_mode);
    json_add_text(told, "version", revision->harness_version);
    json_add_text(told, "auth", revision->harness_auth);
    json_add_text(told, "compute", revision->compute_id);
    json_add_text(told, "secrets", revision->secret_driver_id);
    json_add_text(told, "sandbox", revision->sandbox_driver_id);
    if (revision->harness_secret)
        tell_place(json_add_object(told, "harnessSecret"), revision->harness_secret);
    list = json_add_array(told, "bindings");
    for (size_t i = 0; i < revision->binding_count; i++) {
        cJSON *binding = json_append_object(list);

        json_add_text(binding, "name", revision->bindings[i].name);
        tell_place(binding, &revision->bindings[i].place);
    }
}

static bool on_revision(const char *what, const struct driver_call *call,
                        const struct subject_revision *revision, struct compute_observation *seen,
                        struct fault *fault)
{
    const char *step = next_step(what);
    cJSON *told = tell_agent(call, what, step, revision->agent);

    tell_revision(told, revision);
    say(call, told);
    name_namespace(step, revision->agent->owner.id, seen);
    (void)text_copy(seen->agent_id, sizeof seen->agent_id, revision->agent->id);
    (void)text_copy(seen->revision_id, sizeof seen->revision_id,
                    text_equal(step, "stranger") ? "rev_00000000-0000-4000-8000-000000000000" : revision->id);
    remark(step, seen);
    return finish(step, call, fault);
}

/* ---- The table */

#define NAMESPACE_OPERATION(function, what)                                                                  \
    static bool function(void *self, const struct driver_call *call,                                         \
                         const struct subject_namespace *subject, struct compute_observation *seen,          \
                         struct fault *fault)                                                                \
    {                                                                                                        \
        (void)self;                                                                                          \
        return on_namespace(what, call, subject, seen, fault);                                               \
    }
#define AGENT_OPERATION(function, what)                                                                      \
    static bool function(void *self, const struct driver_call *call, const struct subject_agent *agent,      \
                         struct compute_observation *seen, struct fault *fault)                              \
    {                                                                                                        \
        (void)self;                                                                                          \
        return on_agent(what, call, agent, seen, fault);                                                     \
    }
#define REVISION_OPERATION(function, what)                                                                   \
    static bool function(void *self, const struct driver_call *call,                                         \
                         const struct subject_revision *revision, struct compute_observation *seen,          \
                         struct fault *fault)                                                                \
    {                                                                                                        \
        (void)self;                                                                                          \
        return on_revision(what, call, revision, seen, fault);                                               \
    }

NAMESPACE_OPERATION(ensure, "ensure")
NAMESPACE_OPERATION(delete, "delete")
AGENT_OPERATION(bind, "bind")
AGENT_OPERATION(provision, "provision")
AGENT_OPERATION(delete_credentials, "delete-credentials")
REVISION_OPERATION(prepare, "prepare")
REVISION_OPERATION(activate, "activate")
REVISION_OPERATION(deactivate, "deactivate")
REVISION_OPERATION(stop, "stop")
REVISION_OPERATION(retire, "retire")

static bool needs_stopped(void *self, const struct subject_revision *revision)
{
    (void)self;
    (void)revision;
    return true;
}

struct compute_operations script_operations = {.ensure_namespace = ensure, .delete_namespace = delete};

void script_run_agents(void)
{
    script_operations.prepare_revision = prepare;
    script_operations.activate_revision = activate;
    script_operations.deactivate_revision = deactivate;
    script_operations.stop_revision = stop;
    script_operations.retire_revision = retire;
}

void script_need_stopped_predecessors(void)
{
    script_operations.needs_stopped_predecessors = needs_stopped;
}

void script_bind(bool deletes_credentials)
{
    script_operations.bind_agent = bind;
    script_operations.provision_agent_credentials = provision;
    script_operations.delete_agent_credentials = deletes_credentials ? delete_credentials : NULL;
}

void script_open(void)
{
    script.open = true;
}

void script_open_with(char **steps, size_t count, bool quiet)
{
    if (count > STEPS_MOST)
        exit(2);
    script.steps = steps;
    script.count = count;
    script.quiet = quiet;
}
