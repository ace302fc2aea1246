/* SPDX-License-Identifier: MIT
 *
 * The audit as operators see it.
 */
#ifndef OCC_STORE_AUDIT_LIST_H
#define OCC_STORE_AUDIT_LIST_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct audit_filter {
    const char *namespace_id; /* each NULL: any */
    const char *kind;
    const char *actor_id;
    const char *action;
    const char *work_id;
};

/* Documents, oldest first: id occurredAt kind actorId action namespaceId resourceKind resourceId outcome
 * details. The newest `limit` of all. */
bool audit_list(struct pg *connection, const void *context, const struct audit_filter *filter, unsigned limit,
                const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;

/* How far back audit_recent() looks: an event's time is its statement's, and it is seen only once its
 * transaction is committed, so that who follows the audit reads this much again and leaves out what it has
 * shown. */
#define AUDIT_RECENT_SECONDS 60

bool audit_recent(struct pg *connection, const void *context, const struct audit_filter *filter,
                  const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;

#endif
