/* SPDX-License-Identifier: MIT
 *
 * The queue as operators see it.
 */
#ifndef OCC_STORE_WORK_LIST_H
#define OCC_STORE_WORK_LIST_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct work_filter {
    const char *const *namespace_ids; /* only these: what the caller may read */
    size_t namespace_count;
    const char *state; /* "queued" …; "pending": queued and claimed; NULL: any */
    const char *kind;  /* "namespace_ensure" …; NULL: any */
    unsigned limit;    /* the newest so many */
};

/* Documents, oldest first: id kind operation namespaceId namespaceName agentId revisionId actorId state
 * attempt code message failure warnings codeAt why nextAttemptAt nextAttemptInMs leaseExpiresAt createdAt
 * availableAt completedAt ageMs result.
 *
 * `code` is the outcome's, or before there is one that of the latest evidence. `why` says in words why it is
 * not done yet (null once it is); nextAttemptAt is null where nothing is waited for but a worker. */
bool work_list(struct pg *connection, const void *context, const struct work_filter *filter,
               const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;

/* One by its key; NULL where there is none. */
bool work_find(struct pg *connection, const void *context, const char *work_id, const struct watch *watch,
               const cJSON **found, struct fault *fault) MUST_USE;

#endif
