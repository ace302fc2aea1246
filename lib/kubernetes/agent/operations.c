/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/operations.h"

#include "lib/base/text.h"
#include "lib/kubernetes/agent/task.h"

/* ---- Who may authenticate how */

struct accepted {
    const char *harness;
    const char *method;
};

static const struct accepted accepted[] = {
    {"openclaw", "api_key"},
    {"codex", "api_key"},
    {"codex", "codex_pat"},
    {"codex", "chatgpt_service_account"},
};

static bool is_accepted(const char *harness, const char *method)
{
    for (size_t i = 0; i < COUNT_OF(accepted); i++) {
        if (text_equal(accepted[i].harness, harness) && text_equal(accepted[i].method, method))
            return true;
    }
    return false;
}

static bool is_known(const char *method)
{
    for (size_t i = 0; i < COUNT_OF(accepted); i++) {
        if (text_equal(accepted[i].method, method))
            return true;
    }
    return false;
}

static bool check_pair(const struct kubernetes_compute *compute, const struct subject_harness *harness,
                       struct fault *fault)
{
    const bool dedicated = text_equal(harness->mode, "dedicated");
    const struct sandbox_driver *sandbox = compute->sandbox;

    if (text_equal(harness->id, dedicated ? "codex" : "openclaw"))
        return true;
    if (!dedicated || !text_equal(harness->id, "openclaw"))
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_UNSUPPORTED",
                         "Kubernetes runs no %.20s Harness \"%.60s\"", harness->mode, harness->id);
    if (sandbox && sandbox->operations->provision_harness && sandbox->facets == SANDBOX_ALL)
        return true;
    return fault_set(fault, FAULT_PERMANENT, "HARNESS_UNSUPPORTED",
                     "A dedicated openclaw Harness runs only with a Sandbox Driver that provides it and "
                     "separates network, files and processes; %s",
                     sandbox ? "the selected one does not" : "none is selected");
}

/* A reference and no value: {"method":…,"source":{"kind":"secret",…}} or {"method":…,"serviceAccountId":…}.
 */
static bool has_source(const cJSON *auth, const char *method)
{
    const char *kind = json_text(json_object(auth, "source"), "kind");

    if (text_equal(method, "chatgpt_service_account"))
        return !text_is_empty(json_text(auth, "serviceAccountId"));
    return kind && text_equal(kind, "secret") && !text_is_empty(json_text(json_object(auth, "source"), "id"));
}

static bool check_auth(const struct driver_call *call, const struct subject_harness *harness,
                       struct fault *fault)
{
    const cJSON *auth = harness->auth ? json_read(call->memory, harness->auth, strlen(harness->auth)) : NULL;
    const char *method = json_text(auth, "method");

    if (!method)
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_AUTH_REQUIRED",
                         "The Agent does not say how its Harness authenticates");
    if (!is_known(method))
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_AUTH_UNSUPPORTED",
                         "Kubernetes knows no Harness authentication \"%.60s\"", method);
    if (!is_accepted(harness->id, method))
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_AUTH_UNSUPPORTED",
                         "The Harness %s does not authenticate by %s: only codex does", harness->id, method);
    if (!has_source(auth, method))
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_AUTH_UNSUPPORTED",
                         "The Harness authentication %s names no %s", method,
                         text_equal(method, "chatgpt_service_account") ? "service account" : "Secret");
    if (!call->secrets)
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_AUTH_SOURCE_UNAVAILABLE",
                         "No Secret Driver is selected that could read what the Harness authenticates with");
    return true;
}

bool kubernetes_validate_harness_auth(void *self, const struct driver_call *call,
                                      const struct subject_harness *harness, struct fault *fault)
{
    return check_pair(self, harness, fault) && check_auth(call, harness, fault);
}

/* Two dedicated Harnesses would write to one claim. An embedded one cannot even be prepared beside another.
 */
bool kubernetes_needs_stopped_predecessors(void *self, const struct subject_revision *revision)
{
    (void)self;
    return text_equal(revision->harness_mode, "dedicated");
}

/* ---- Operations */

typedef bool (*task_step)(struct kubernetes_task *task, struct fault *fault);

static bool carry_out(void *self, const struct driver_call *call, const struct subject_agent *agent,
                      const struct subject_revision *revision, task_step step,
                      struct compute_observation *seen, struct fault *fault)
{
    struct kubernetes_task task = {
        .compute = self, .call = call, .agent = agent, .revision = revision, .seen = seen};

    (void)text_copy(seen->namespace_id, sizeof seen->namespace_id, agent->owner.id);
    (void)text_copy(seen->agent_id, sizeof seen->agent_id, agent->id);
    if (revision)
        (void)text_copy(seen->revision_id, sizeof seen->revision_id, revision->id);
    return step(&task, fault) || kubernetes_fault_in_pass(fault);
}

bool kubernetes_prepare_revision(void *self, const struct driver_call *call,
                                 const struct subject_revision *revision, struct compute_observation *seen,
                                 struct fault *fault)
{
    return carry_out(self, call, revision->agent, revision, kubernetes_do_prepare, seen, fault);
}

bool kubernetes_activate_revision(void *self, const struct driver_call *call,
                                  const struct subject_revision *revision, struct compute_observation *seen,
                                  struct fault *fault)
{
    return carry_out(self, call, revision->agent, revision, kubernetes_do_activate, seen, fault);
}

bool kubernetes_deactivate_revision(void *self, const struct driver_call *call,
                                    const struct subject_revision *revision, struct compute_observation *seen,
                                    struct fault *fault)
{
    return carry_out(self, call, revision->agent, revision, kubernetes_do_deactivate, seen, fault);
}

bool kubernetes_stop_revision(void *self, const struct driver_call *call,
                              const struct subject_revision *revision, struct compute_observation *seen,
                              struct fault *fault)
{
    return carry_out(self, call, revision->agent, revision, kubernetes_do_stop, seen, fault);
}

bool kubernetes_retire_revision(void *self, const struct driver_call *call,
                                const struct subject_revision *revision, struct compute_observation *seen,
                                struct fault *fault)
{
    return carry_out(self, call, revision->agent, revision, kubernetes_do_retire, seen, fault);
}

bool kubernetes_delete_agent(void *self, const struct driver_call *call, const struct subject_agent *agent,
                             struct compute_observation *seen, struct fault *fault)
{
    return carry_out(self, call, agent, NULL, kubernetes_do_delete, seen, fault);
}
