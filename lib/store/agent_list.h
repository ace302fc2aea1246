/* SPDX-License-Identifier: MIT
 *
 * Agents and their revisions as operators see them.
 *
 * The lifecycle state of an Agent is what its draft, its wish and its latest work come to:
 *
 *   draft      nothing was ever deployed or stopped
 *   deploying  the newest revision's deployment has not ended
 *   running    the newest revision is active, and its deployment succeeded
 *   stopping   a stop or the deletion has not ended
 *   stopped    no revision is active, and none is wanted
 *   failed     the latest deployment, stop or deletion ended otherwise
 */
#ifndef OCC_STORE_AGENT_LIST_H
#define OCC_STORE_AGENT_LIST_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

/* Documents, by Namespace and name: id name namespaceId namespaceName state configurationId executionMode
 * harnessAuth servicePrincipalId desiredRuntimeState status activeRevision{id number admittedAt}
 * newestRevision{…} createdAt ageMs work{id state attempt code}. `namespace_id` NULL: of all Namespaces. */
bool agent_list_documents(struct pg *connection, const void *context, const char *namespace_id,
                          const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;

/* One; NULL where there is none. */
bool agent_document(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                    const cJSON **found, struct fault *fault) MUST_USE;

/* The revisions of an Agent, oldest first: id number namespaceId agentId active admittedAt ageMs
 * configurationId configurationGeneration harness{…} compute{…} harnessAuth secretBindings secretDriverId
 * sandboxDriverId work{…}. */
bool agent_revision_documents(struct pg *connection, const void *context, const char *agent_id,
                              const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;

/* At which generation the Agent's Configuration is, and which the newest revision froze of the same one; 0
 * where that one froze another, or there is none. */
bool agent_generations(struct pg *connection, const char *id, const struct watch *watch, int64_t *generation,
                       int64_t *frozen, struct fault *fault) MUST_USE;

#endif
