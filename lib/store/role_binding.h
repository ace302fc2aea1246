/* SPDX-License-Identifier: MIT
 *
 * Access bindings: who holds which role, and where.
 */
#ifndef OCC_STORE_ROLE_BINDING_H
#define OCC_STORE_ROLE_BINDING_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct role_binding {
    const char *id;
    const char *namespace_id; /* NULL: the whole Installation, or the exact resource's Namespace */
    const char *identity_id;  /* exactly one of these two */
    const char *group_id;
    const char *role_id;
    const char *resource_kind; /* both or neither */
    const char *resource_id;
};

/* Documents: id roleId roleName identityId groupId groupName namespaceId resourceKind resourceId createdAt.
 */
bool role_binding_list(struct pg *connection, const void *context, const struct watch *watch,
                       const cJSON **rows, struct fault *fault) MUST_USE;

/* NULL where there is none. */
bool role_binding_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                       const cJSON **found, struct fault *fault) MUST_USE;

/* *inserted is false where the very same is there already. */
bool role_binding_insert(struct pg *connection, const struct role_binding *binding, const struct watch *watch,
                         bool *inserted, struct fault *fault) MUST_USE;

bool role_binding_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                         struct fault *fault) MUST_USE;

/* How many bindings name this identity, group or role. */
bool role_binding_uses(struct pg *connection, const char *id, const struct watch *watch, int64_t *count,
                       struct fault *fault) MUST_USE;

/* Whether such a resource is there (a tombstone is not), and its Namespace (NULL: none has it). Hangs on
 * `context`. */
bool role_binding_resource(struct pg *connection, const void *context, const char *kind, const char *id,
                           const struct watch *watch, bool *exists, const char **namespace_id,
                           struct fault *fault) MUST_USE;

#endif
