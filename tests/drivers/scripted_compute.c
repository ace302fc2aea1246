/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver as Compute.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

static enum occ_result open_compute(const struct occ_call *call, const struct occ_open *with, void **self,
                                    struct occ_answer *answer)
{
    static struct scripted compute;

    return scripted_open(&compute, call, with, "open", self, answer);
}

static enum occ_result preflight(void *self, const struct occ_call *call, struct occ_answer *answer)
{
    struct act act = act_plain(self, call, "preflight", answer);

    return act_run(&act);
}

static enum occ_result validate_harness_auth(void *self, const struct occ_call *call,
                                             const struct occ_harness *harness, struct occ_answer *answer)
{
    struct act act = act_plain(self, call, "validate_harness_auth", answer);

    act.other = call->host->format(call, "%s:%s", harness->id, harness->mode);
    return act_run(&act);
}

static uint32_t needs_stopped_predecessors(void *self, const struct occ_revision *revision)
{
    const struct scripted *compute = self;
    char path[sizeof compute->folder + 20], modes[100] = "";
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/needs-stopped", compute->folder);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (!fgets(modes, sizeof modes, file))
        modes[0] = '\0';
    (void)fclose(file);
    return strstr(modes, revision->harness_mode) != NULL;
}

#define ON_NAMESPACE(function, world)                                                                        \
    static enum occ_result function(void *self, const struct occ_call *call,                                 \
                                    const struct occ_namespace *subject, struct occ_answer *answer)          \
    {                                                                                                        \
        struct act act = act_on_namespace(self, call, #function, subject, answer);                           \
                                                                                                             \
        act.effect = world;                                                                                  \
        return act_run(&act);                                                                                \
    }

#define ON_AGENT(function, world)                                                                            \
    static enum occ_result function(void *self, const struct occ_call *call,                                 \
                                    const struct occ_agent *subject, struct occ_answer *answer)              \
    {                                                                                                        \
        struct act act = act_on_agent(self, call, #function, subject, answer);                               \
                                                                                                             \
        act.effect = world;                                                                                  \
        return act_run(&act);                                                                                \
    }

#define ON_REVISION(function, world)                                                                         \
    static enum occ_result function(void *self, const struct occ_call *call,                                 \
                                    const struct occ_revision *subject, struct occ_answer *answer)           \
    {                                                                                                        \
        struct act act = act_on_revision(self, call, #function, subject, answer);                            \
                                                                                                             \
        act.effect = world;                                                                                  \
        return act_run(&act);                                                                                \
    }

ON_NAMESPACE(ensure_namespace, world_ensure_namespace)
ON_NAMESPACE(delete_namespace, world_delete_namespace)
ON_AGENT(bind_agent, world_bind_agent)
ON_REVISION(prepare_revision, world_prepare)
ON_REVISION(activate_revision, world_activate)
ON_REVISION(deactivate_revision, world_deactivate)
ON_REVISION(stop_revision, world_stop)
ON_REVISION(retire_revision, world_retire)
ON_AGENT(provision_agent_credentials, world_provision)
ON_AGENT(delete_agent_credentials, world_delete_agent)

const struct occ_compute scripted_compute = {
    .size = sizeof scripted_compute,
    .id = "compute-scripted",
    .implementation = "scripted-1",
    .settings = scripted_settings,
    .supports_existing_namespaces = 1,
    .open = open_compute,
    .preflight = preflight,
    .ensure_namespace = ensure_namespace,
    .delete_namespace = delete_namespace,
    .validate_harness_auth = validate_harness_auth,
    .bind_agent = bind_agent,
    .needs_stopped_predecessors = needs_stopped_predecessors,
    .prepare_revision = prepare_revision,
    .activate_revision = activate_revision,
    .deactivate_revision = deactivate_revision,
    .stop_revision = stop_revision,
    .retire_revision = retire_revision,
    .provision_agent_credentials = provision_agent_credentials,
    .delete_agent_credentials = delete_agent_credentials,
};
