/* SPDX-License-Identifier: MIT
 *
 * Roles: named lists of permissions, of the Installation or of one Namespace.
 */
#ifndef OCC_STORE_ROLE_H
#define OCC_STORE_ROLE_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

/* Documents: id name namespaceId permissions["namespace:create"…] createdAt; of the Installation first, by
 * name. */
bool role_list(struct pg *connection, const void *context, const struct watch *watch, const cJSON **rows,
               struct fault *fault) MUST_USE;

/* By id, else by exact name among the Installation's (`namespace_id` NULL) or that Namespace's and the
 * Installation's roles; NULL where there is none. */
bool role_find(struct pg *connection, const void *context, const char *text, const char *namespace_id,
               const struct watch *watch, const cJSON **found, struct fault *fault) MUST_USE;

/* `permissions`: [{"action":…,"resourceKind":…}]. *inserted is false where the name is taken there. */
bool role_insert(struct pg *connection, const char *id, const char *namespace_id, const char *name,
                 const char *permissions, const struct watch *watch, bool *inserted,
                 struct fault *fault) MUST_USE;

/* Another name, other permissions (a JSON array), or both; NULL leaves what there is. *updated is false, and
 * nothing was written, where the name is taken. */
bool role_update(struct pg *connection, const char *id, const char *name, const char *permissions,
                 const struct watch *watch, bool *updated, struct fault *fault) MUST_USE;

/* Bindings of it must be gone. */
bool role_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                 struct fault *fault) MUST_USE;

#endif
