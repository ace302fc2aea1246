/* SPDX-License-Identifier: MIT
 *
 * Agent work, target stopped.
 *
 * No Compute Driver of this build runs Agents, so none of its revisions can be running here. An Agent without
 * an active revision is stopped already. One with an active revision was deployed by another worker: pinned
 * to another Compute it ends COMPUTE_DRIVER_MISMATCH, pinned to a Compute of our name that cannot run it, it
 * ends HARNESS_UNSUPPORTED; both are permanent, Compute is not called, and the Agent is left as it is.
 */
#include "lib/base/build.h"

#include "lib/reconcile/agent.h"

struct verdict agent_stop_pass(struct pass *pass)
{
    struct agent_target target;
    struct verdict verdict;
    const char *evidence;

    if (!agent_confirm(pass, "operate", &target, &evidence, &verdict))
        return verdict;
    if (!target.exists)
        return verdict_of(OUTCOME_FAIL, "INVALID_AGENT_OWNER");
    if (target.deleting)
        return verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    if (target.wants_running)
        return verdict_of(OUTCOME_CLOSE, "STOP_SUPERSEDED");
    if (!target.has_active)
        return verdict_of(OUTCOME_CLOSE, "AGENT_ALREADY_STOPPED");
    return verdict_of(OUTCOME_FAIL,
                      target.active_elsewhere ? "COMPUTE_DRIVER_MISMATCH" : "HARNESS_UNSUPPORTED");
}
