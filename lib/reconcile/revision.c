/* SPDX-License-Identifier: MIT
 *
 * Revision work.
 *
 * No Compute Driver of this build runs Agents. Each revision ends permanently with the code that says why,
 * and Compute is not called: it could neither prepare nor activate it.
 */
#include "lib/base/build.h"

#include "lib/reconcile/agent.h"

static const char *refusal(const struct agent_target *target)
{
    if (!target->namespace_ready)
        return "NAMESPACE_NOT_READY";
    if (!target->revision_supported)
        return "HARNESS_UNSUPPORTED";
    if (target->revision_elsewhere)
        return "COMPUTE_DRIVER_MISMATCH";
    return target->revision_authenticated ? "HARNESS_AUTH_UNSUPPORTED" : "HARNESS_AUTH_REQUIRED";
}

struct verdict revision_pass(struct pass *pass)
{
    struct agent_target target;
    struct verdict verdict;
    const char *evidence;

    if (!agent_confirm(pass, "deploy", &target, &evidence, &verdict))
        return verdict;
    if (!target.exists || !target.revision_exists)
        return verdict_of(OUTCOME_FAIL, "INVALID_REVISION_OWNER");
    if (target.deleting || !target.wants_running)
        return verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    if (target.revision_is_older)
        return verdict_of(OUTCOME_CLOSE, "REVISION_SUPERSEDED");
    return verdict_of(OUTCOME_FAIL, refusal(&target));
}
