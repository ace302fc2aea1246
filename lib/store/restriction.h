/* SPDX-License-Identifier: MIT
 *
 * Restrictions: what is denied to everybody, whatever was granted.
 */
#ifndef OCC_STORE_RESTRICTION_H
#define OCC_STORE_RESTRICTION_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct restriction {
    const char *id;
    const char *namespace_id; /* NULL: everywhere */
    const char *action;
    const char *resource_kind;
    const char *resource_id; /* NULL: every resource of the kind */
};

/* Documents: id effect permission action resourceKind resourceId namespaceId createdAt. */
bool restriction_list(struct pg *connection, const void *context, const struct watch *watch,
                      const cJSON **rows, struct fault *fault) MUST_USE;

/* NULL where there is none. */
bool restriction_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                      const cJSON **found, struct fault *fault) MUST_USE;

bool restriction_insert(struct pg *connection, const struct restriction *restriction,
                        const struct watch *watch, struct fault *fault) MUST_USE;

bool restriction_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                        struct fault *fault) MUST_USE;

#endif
