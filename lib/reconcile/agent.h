/* SPDX-License-Identifier: MIT
 *
 * What the passes about Agents share. For lib/reconcile only.
 */
#ifndef OCC_RECONCILE_AGENT_H
#define OCC_RECONCILE_AGENT_H

#include "lib/reconcile/pass.h"
#include "lib/store/agent_target.h"

/* One trip: the Agent as it is now, and whether the actor may do `action` (of kind "agent") to it. False: the
 * verdict is the end. *evidence tells what allowed it. */
bool agent_confirm(struct pass *pass, const char *action, struct agent_target *target, const char **evidence,
                   struct verdict *verdict) MUST_USE;

#endif
