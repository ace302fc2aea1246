/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver as IAM, Configuration, Secret and Sandbox.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

#define OPENS(capability)                                                                                    \
    static enum occ_result open_##capability(const struct occ_call *call, const struct occ_open *with,       \
                                             void **self, struct occ_answer *answer)                         \
    {                                                                                                        \
        static struct scripted capability;                                                                   \
                                                                                                             \
        return scripted_open(&capability, call, with, #capability ".open", self, answer);                    \
    }                                                                                                        \
                                                                                                             \
    static enum occ_result preflight_##capability(void *self, const struct occ_call *call,                   \
                                                  struct occ_answer *answer)                                 \
    {                                                                                                        \
        struct act act = act_plain(self, call, #capability ".preflight", answer);                            \
                                                                                                             \
        return act_run(&act);                                                                                \
    }

OPENS(iam)
OPENS(configuration)
OPENS(secret)
OPENS(sandbox)

static enum occ_result decide(void *self, const struct occ_call *call, const struct occ_question *question,
                              struct occ_decision *decision, struct occ_answer *answer)
{
    struct act act = act_plain(self, call, "iam.decide", answer);

    act.other = call->host->format(call, "%s:%s", question->resource_kind, question->action);
    act.namespace_id = question->namespace_id;
    act.agent_id = question->resource_id; /* whatever it is, a rule may name it */
    act.agent_name = question->actor_id;
    act.decision = decision;
    journal(&act, "asked", "\"actorId\":%s", call->host->json_quote(call, question->actor_id));
    decision->allowed = 1;
    (void)snprintf(decision->evidence, sizeof decision->evidence, "scripted");
    return act_run(&act);
}

static enum occ_result store_configuration(void *self, const struct occ_call *call,
                                           const struct occ_namespace *owner, const char *configuration_id,
                                           const char *document, size_t length, struct occ_answer *answer)
{
    struct act act = act_on_namespace(self, call, "configuration.store", owner, answer);

    act.other = act.id = configuration_id;
    act.bytes = document;
    act.length = length;
    act.effect = world_keep;
    return act_run(&act);
}

static enum occ_result read_configuration(void *self, const struct occ_call *call,
                                          const struct occ_namespace *owner, const char *configuration_id,
                                          const char **document, size_t *length, struct occ_answer *answer)
{
    struct act act = act_on_namespace(self, call, "configuration.read", owner, answer);

    act.other = act.id = configuration_id;
    act.bytes_out = document;
    act.length_out = length;
    act.effect = world_fetch;
    return act_run(&act);
}

static enum occ_result remove_configuration(void *self, const struct occ_call *call,
                                            const struct occ_namespace *owner, const char *configuration_id,
                                            struct occ_answer *answer)
{
    struct act act = act_on_namespace(self, call, "configuration.remove", owner, answer);

    act.other = act.id = configuration_id;
    act.effect = world_drop;
    return act_run(&act);
}

static enum occ_result store_secret(void *self, const struct occ_call *call,
                                    const struct occ_namespace *owner, const char *secret_id,
                                    const char *bytes, size_t length, struct occ_secret_kept *kept,
                                    struct occ_answer *answer)
{
    struct act act = act_on_namespace(self, call, "secret.store", owner, answer);

    act.other = act.id = secret_id;
    act.bytes = bytes;
    act.length = length;
    act.kept = kept;
    act.effect = world_keep;
    return act_run(&act);
}

/* A value is found by its place alone. */
static struct act on_place(void *self, const struct occ_call *call, const char *operation,
                           const struct occ_secret_place *place, struct occ_answer *answer)
{
    const struct occ_namespace owner = {.size = sizeof owner, .id = place->namespace_id};
    struct act act = act_on_namespace(self, call, operation, &owner, answer);

    act.namespace_ = NULL;
    act.place = place;
    act.other = place->secret_id;
    act.id = place->backend_name;
    return act;
}

static enum occ_result read_secret(void *self, const struct occ_call *call,
                                   const struct occ_secret_place *place, const char **bytes, size_t *length,
                                   struct occ_answer *answer)
{
    struct act act = on_place(self, call, "secret.read", place, answer);

    act.bytes_out = bytes;
    act.length_out = length;
    act.effect = world_fetch;
    return act_run(&act);
}

static enum occ_result remove_secret(void *self, const struct occ_call *call,
                                     const struct occ_secret_place *place, struct occ_answer *answer)
{
    struct act act = on_place(self, call, "secret.remove", place, answer);

    act.effect = world_drop;
    return act_run(&act);
}

static enum occ_result ensure_sandbox(void *self, const struct occ_call *call,
                                      const struct occ_namespace *wanted, struct occ_answer *answer)
{
    struct act act = act_on_namespace(self, call, "sandbox.ensure_namespace", wanted, answer);

    act.effect = world_sandbox;
    return act_run(&act);
}

static enum occ_result configure_agent(void *self, const struct occ_call *call,
                                       const struct occ_revision *revision, struct occ_answer *answer)
{
    struct act act = act_on_revision(self, call, "sandbox.configure_agent", revision, answer);

    act.effect = world_sandbox;
    return act_run(&act);
}

static enum occ_result provision_harness(void *self, const struct occ_call *call,
                                         const struct occ_revision *revision, const char **endpoint,
                                         struct occ_answer *answer)
{
    struct act act = act_on_revision(self, call, "sandbox.provision_harness", revision, answer);

    *endpoint = call->host->format(call, "http://%s.scripted.invalid:8080", revision->id);
    act.effect = world_sandbox;
    return act_run(&act);
}

static enum occ_result clean_up(void *self, const struct occ_call *call, const struct occ_agent *agent,
                                const struct occ_revision *revision, struct occ_answer *answer)
{
    struct act act = revision ? act_on_revision(self, call, "sandbox.cleanup", revision, answer)
                              : act_on_agent(self, call, "sandbox.cleanup", agent, answer);

    act.effect = world_clean_sandbox;
    return act_run(&act);
}

const struct occ_iam scripted_iam = {
    .size = sizeof scripted_iam,
    .id = "iam-scripted",
    .settings = scripted_settings,
    .open = open_iam,
    .preflight = preflight_iam,
    .decide = decide,
};

const struct occ_configuration scripted_configuration = {
    .size = sizeof scripted_configuration,
    .id = "config-scripted",
    .settings = scripted_settings,
    .open = open_configuration,
    .preflight = preflight_configuration,
    .store = store_configuration,
    .read = read_configuration,
    .remove = remove_configuration,
};

const struct occ_secret scripted_secret = {
    .size = sizeof scripted_secret,
    .id = "secret-scripted",
    .settings = scripted_settings,
    .open = open_secret,
    .preflight = preflight_secret,
    .store = store_secret,
    .read = read_secret,
    .remove = remove_secret,
};

const struct occ_sandbox scripted_sandbox = {
    .size = sizeof scripted_sandbox,
    .id = "sandbox-scripted",
    .settings = scripted_settings,
    .facets = OCC_SANDBOX_NETWORKING | OCC_SANDBOX_FILESYSTEM | OCC_SANDBOX_PROCESS,
    .open = open_sandbox,
    .preflight = preflight_sandbox,
    .ensure_namespace = ensure_sandbox,
    .configure_agent = configure_agent,
    .provision_harness = provision_harness,
    .cleanup = clean_up,
};
