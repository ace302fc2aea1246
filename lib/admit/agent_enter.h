/* SPDX-License-Identifier: MIT
 *
 * What the admissions of Agents share.
 */
#ifndef OCC_ADMIT_AGENT_ENTER_H
#define OCC_ADMIT_AGENT_ENTER_H

#include "lib/admit/agent.h"
#include "lib/admit/place.h"
#include "lib/store/agent_admission.h"

/* The Agent that is meant, not locked, without asking IAM. */
bool agent_look(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                struct agent_row **agent, struct fault *fault) MUST_USE;

/* How an admission keeps the Agent until its transaction ends. */
enum agent_hold {
    AGENT_LOOKED_AT, /* not at all; its Namespace is kept, as in the others */
    AGENT_HELD,      /* nobody else changes it */
    AGENT_HELD_ALONE /* nor shares its Namespace */
};

/* In an admission: finds the Namespace, which is kept, and then the Agent. */
bool agent_enter(struct admission *admission, const char *namespace_text, const char *text,
                 enum agent_hold hold, struct namespace_row **place, struct agent_row **agent,
                 struct fault *fault) MUST_USE;

/* Refuses one that is being deleted. */
bool agent_open(const struct agent_row *agent, struct fault *fault) MUST_USE;

/* A question about the Agent: {action}:agent on exactly this one. */
struct iam_question agent_question(const struct agent_row *agent, const char *action);

/* The draft that `request` makes of `agent` (NULL: of nothing), its references found in the Namespace. It
 * hangs on admission->memory. */
bool agent_draft_find(struct admission *admission, const char *namespace_id,
                      const struct agent_request *request, const struct agent_row *agent,
                      struct agent_draft *draft, struct fault *fault) MUST_USE;

/* Fills the result, whose texts hang on `context`. */
void agent_admit(const void *context, const char *id, const char *name, const char *work_id,
                 struct agent_admission *admitted);

#endif
