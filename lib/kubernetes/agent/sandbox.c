/* SPDX-License-Identifier: MIT
 *
 * The Sandbox Driver's part. What it does not separate stays ours: without provision_harness the Harness is
 * our Deployment, without the networking facet our NetworkPolicy, without the filesystem facet our claim.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/text.h"

static const struct sandbox_operations *operations_of(const struct kubernetes_task *task)
{
    return task->compute->sandbox->operations;
}

static bool is_sandboxed(const struct kubernetes_task *task)
{
    return task->revision && task->topology.dedicated && task->revision->sandbox_driver_id &&
           task->compute->sandbox &&
           text_equal(task->revision->sandbox_driver_id, task->compute->sandbox->id);
}

bool kubernetes_sandbox_provisions(const struct kubernetes_task *task)
{
    return is_sandboxed(task) && operations_of(task)->provision_harness;
}

bool kubernetes_sandbox_fits(const struct kubernetes_task *task, struct fault *fault)
{
    const char *frozen = task->revision->sandbox_driver_id;

    if (!task->topology.dedicated)
        return true;
    if (frozen && !is_sandboxed(task))
        return fault_set(fault, FAULT_PERMANENT, "SANDBOX_DRIVER_MISMATCH",
                         "The revision is pinned to the Sandbox Driver %.60s, and this worker has %.60s",
                         frozen, task->compute->sandbox ? task->compute->sandbox->id : "none");
    if (!kubernetes_is_native(&task->topology) ||
        (kubernetes_sandbox_provisions(task) && task->compute->sandbox->facets == SANDBOX_ALL))
        return true;
    return fault_set(fault, FAULT_PERMANENT, "HARNESS_UNSUPPORTED",
                     "A dedicated openclaw Harness runs only with a Sandbox Driver that provides it and "
                     "separates network, files and processes");
}

/* What the other Driver saw is believed where it speaks of what it was asked about; its words are ours then.
 */
static bool heard(struct kubernetes_task *task, const struct compute_observation *said, bool done,
                  const char *doing, struct fault *fault)
{
    const char *const named[][2] = {{task->seen->namespace_id, said->namespace_id},
                                    {task->seen->agent_id, said->agent_id},
                                    {task->seen->revision_id, said->revision_id}};

    if (!done && (fault->class == FAULT_CLAIM_LOST || fault->class == FAULT_CANCELLED))
        return false;
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        if ((done || named[i][1][0]) && !text_equal(named[i][0], named[i][1]))
            return fault_set(fault, FAULT_PERMANENT, "INVALID_DRIVER_OBSERVATION",
                             "The Sandbox Driver %.60s was asked to %s, and does not speak of %s",
                             task->compute->sandbox->id, doing, named[i][0]);
    }
    for (size_t i = 0; i < said->warnings && i < COMPUTE_WARNINGS; i++)
        compute_warn(task->seen, said->warning[i].code, "%s", said->warning[i].message);
    task->seen->failure = said->failure;
    return done;
}

bool kubernetes_sandbox_configure(struct kubernetes_task *task, struct fault *fault)
{
    struct compute_observation said = {0};
    bool done;

    if (!is_sandboxed(task) || !operations_of(task)->configure_agent)
        return true;
    done = operations_of(task)->configure_agent(task->compute->sandbox->self, task->call, task->revision,
                                                &said, fault);
    return heard(task, &said, done, "configure", fault);
}

bool kubernetes_sandbox_provision(struct kubernetes_task *task, struct fault *fault)
{
    struct compute_observation said = {0};
    const char *endpoint;
    bool done;

    done = operations_of(task)->provision_harness(task->compute->sandbox->self, task->call, task->revision,
                                                  &endpoint, &said, fault);
    if (!heard(task, &said, done, "provide the Harness", fault))
        return false;
    task->topology.harness_endpoint = endpoint;
    return true;
}

bool kubernetes_sandbox_cleanup(struct kubernetes_task *task, struct fault *fault)
{
    struct compute_observation said = {0};
    bool done;

    if (task->revision && task->topology.dedicated && !kubernetes_sandbox_fits(task, fault) &&
        fault_is(fault, "SANDBOX_DRIVER_MISMATCH"))
        return false;
    if (task->revision ? !is_sandboxed(task) : !task->compute->sandbox)
        return true;
    done = operations_of(task)->cleanup(task->compute->sandbox->self, task->call, task->agent, task->revision,
                                        &said, fault);
    return heard(task, &said, done, "clean up", fault);
}
