/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/revision.h"

#include "lib/base/text.h"
#include "lib/driver/harness.h"

static bool refuse(struct fault *fault, const char *code, const char *message)
{
    return fault_set(fault, FAULT_PERMANENT, code, "%s", message);
}

static bool check_harness(const struct revision_work *work, struct fault *fault)
{
    const struct subject_revision *revision = work->revision;
    const struct reconciler_options *options = work->pass->reconciler->options;
    const struct harness *harness = harness_find(revision->harness_id, revision->harness_mode);

    if (!harness)
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_UNSUPPORTED",
                         "this worker runs no %s Harness \"%.60s\"", revision->harness_mode,
                         revision->harness_id);
    if (harness->sandboxed &&
        !(revision->sandbox_driver_id && options->sandbox_driver_id && options->sandbox_provisions))
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_UNSUPPORTED",
                         "%s \"%.60s\" runs in a sandbox only, and %s", revision->harness_mode,
                         revision->harness_id,
                         revision->sandbox_driver_id ? "this worker has no Sandbox Driver that provides it"
                                                     : "the revision froze none");
    if (!text_equal(harness->version, revision->harness_version))
        return fault_set(fault, FAULT_PERMANENT, "HARNESS_DESCRIPTOR_MISMATCH",
                         "the revision froze version \"%.60s\" of its Harness, and this worker has \"%s\"",
                         revision->harness_version, harness->version);
    return true;
}

/* What is pinned to a Driver of another name is not ours to touch, be it active or not. */
static bool check_pins(const struct revision_work *work, struct fault *fault)
{
    const struct subject_revision *revision = work->revision;
    const struct reconciler_options *options = work->pass->reconciler->options;

    if (!subject_is_here(work->pass, revision->compute_id, revision->compute_implementation))
        return fault_set(fault, FAULT_PERMANENT, "COMPUTE_DRIVER_MISMATCH",
                         "the revision is pinned to the Compute %.60s (%.60s)", revision->compute_id,
                         revision->compute_implementation);
    if (revision->sandbox_driver_id && !text_equal(revision->sandbox_driver_id, options->sandbox_driver_id))
        return fault_set(fault, FAULT_PERMANENT, "SANDBOX_DRIVER_MISMATCH",
                         "the revision is pinned to the Sandbox Driver %.60s", revision->sandbox_driver_id);
    return true;
}

static bool check_secret_driver(const struct revision_work *work, struct fault *fault)
{
    const struct secret_driver *secrets = work->pass->reconciler->options->secrets;
    const char *frozen = work->revision->secret_driver_id;

    if (!frozen || (secrets && text_equal(frozen, secrets->id)))
        return true;
    return fault_set(fault, FAULT_PERMANENT, "SECRET_DRIVER_MISMATCH",
                     "the revision is pinned to the Secret Driver %.60s", frozen);
}

static bool check_authentication(const struct revision_work *work, struct fault *fault)
{
    if (!work->revision->harness_auth)
        return refuse(fault, "HARNESS_AUTH_REQUIRED",
                      "the revision does not say how its Harness authenticates");
    if (!compute_runs_agents(work->pass->reconciler->options->compute))
        return refuse(fault, "HARNESS_AUTH_UNSUPPORTED", "this worker's Compute Driver runs no Agents");
    if (!work->revision->harness_secret)
        return refuse(fault, "HARNESS_AUTH_SOURCE_UNAVAILABLE",
                      "the Secret, or the service account, by which the Harness authenticates is gone");
    for (size_t i = 0; i < work->references.count; i++) {
        if (!work->references.secrets[i].present)
            return fault_set(fault, FAULT_PERMANENT, "SECRET_SOURCE_UNAVAILABLE",
                             "the Secret %s, which the Configuration binds, is gone",
                             work->references.secrets[i].id);
    }
    return true;
}

static bool check_candidate(const struct revision_work *work, struct fault *fault)
{
    if (!work->target.namespace_ready)
        return refuse(fault, "NAMESPACE_NOT_READY", "the Agent's Namespace is not ready");
    if (!work->target.has_principal)
        return refuse(fault, "INVALID_AGENT_PRINCIPAL", "the Agent has no service principal of its own");
    return check_harness(work, fault) && check_pins(work, fault) && check_secret_driver(work, fault) &&
           check_authentication(work, fault);
}

/* What is active was possible when it became so: its route and its predecessors are seen to even where this
 * worker would not begin it any more (K87), if only it is this Compute's. */
static bool check_active(const struct revision_work *work, struct fault *fault)
{
    if (!check_pins(work, fault))
        return false;
    if (!compute_runs_agents(work->pass->reconciler->options->compute))
        return refuse(fault, "HARNESS_AUTH_UNSUPPORTED", "this worker's Compute Driver runs no Agents");
    return true;
}

bool revision_is_possible(const struct revision_work *work, struct verdict *verdict)
{
    struct fault fault;

    if (work->target.active ? check_active(work, &fault) : check_candidate(work, &fault))
        return true;
    *verdict = verdict_of_fault(work->pass, &fault);
    return false;
}
