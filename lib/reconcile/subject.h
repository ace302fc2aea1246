/* SPDX-License-Identifier: MIT
 *
 * Agents and revisions as Drivers are told of them (lib/driver/subject.h), read in a trip of a pass. For
 * lib/reconcile only.
 */
#ifndef OCC_RECONCILE_SUBJECT_H
#define OCC_RECONCILE_SUBJECT_H

#include "lib/driver/subject.h"
#include "lib/reconcile/pass.h"
#include "lib/store/revision_subject.h"

/* Where a trip's batch will have the answers. */
struct subject_places {
    size_t agent;
    size_t revision;
    size_t secrets;
};

/* Adds the reading of the item's Agent; subject_agent_read() gives NULL when the claim is lost or there is no
 * such Agent. What is read hangs on `context`. */
void subject_agent_add(struct pg_batch *batch, const struct pass *pass, struct subject_places *places);
const struct subject_agent *subject_agent_read(const struct pg_batch *batch, const void *context,
                                               const struct subject_places *places);

/* What a revision refers to, for the questions of its rights; whether or not it is still there. */
struct subject_references {
    const char *service_account_id; /* by which its Harness authenticates; NULL: by none */
    const struct revision_secret *secrets;
    size_t count;
};

/* The same for one of its revisions; `revision_id` NULL: the item's own. A Secret that is gone has no place
 * to be told of: the subject's harness_secret is NULL then, and a binding is left out. `references` may be
 * NULL. */
void subject_revision_add(struct pg_batch *batch, const struct pass *pass, const char *revision_id,
                          struct subject_places *places);
const struct subject_revision *subject_revision_read(const struct pg_batch *batch, const void *context,
                                                     const struct subject_places *places,
                                                     const struct subject_agent *agent,
                                                     struct subject_references *references);

/* Whether a revision is pinned to this worker's Compute. */
bool subject_is_here(const struct pass *pass, const char *compute_id, const char *implementation);

#endif
