/* SPDX-License-Identifier: MIT
 *
 * Agent work, target deleted.
 *
 * No Compute Driver of this build runs Agents: a revision that is pinned to this Compute has nothing there
 * that would have to be retired. One that is pinned to another Compute may have, so that the deletion ends
 * COMPUTE_DRIVER_MISMATCH, permanently, and everything stays for a repetition by a worker of that Compute.
 */
#include "lib/base/build.h"

#include "lib/reconcile/agent.h"

struct verdict agent_delete_pass(struct pass *pass)
{
    struct agent_target target;
    struct verdict verdict;
    const char *evidence;

    if (!agent_confirm(pass, "delete", &target, &evidence, &verdict))
        return verdict;
    if (!target.exists)
        return verdict_of(OUTCOME_FAIL, "INVALID_AGENT_OWNER");
    if (!target.deleting)
        return verdict_of(OUTCOME_CLOSE, "SUPERSEDED_TARGET");
    if (target.any_elsewhere)
        return verdict_of(OUTCOME_FAIL, "COMPUTE_DRIVER_MISMATCH");
    verdict = verdict_of(OUTCOME_DONE, "AGENT_DELETED");
    verdict.removes_agent = true;
    verdict.evidence = evidence;
    return verdict;
}
