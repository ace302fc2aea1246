/* SPDX-License-Identifier: MIT
 *
 * Groups: named sets of people.
 */
#ifndef OCC_STORE_GROUP_H
#define OCC_STORE_GROUP_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

/* Documents: id name members[…identity ids] createdAt; by name. */
bool group_list(struct pg *connection, const void *context, const struct watch *watch, const cJSON **rows,
                struct fault *fault) MUST_USE;

/* By id, else by exact name; NULL where there is none. */
bool group_find(struct pg *connection, const void *context, const char *text, const struct watch *watch,
                const cJSON **found, struct fault *fault) MUST_USE;

/* *inserted is false where the name is taken. */
bool group_insert(struct pg *connection, const char *id, const char *name, const struct watch *watch,
                  bool *inserted, struct fault *fault) MUST_USE;

/* *added is false where the identity is no person, or a member already. */
bool group_add_member(struct pg *connection, const char *id, const char *identity_id,
                      const struct watch *watch, bool *added, struct fault *fault) MUST_USE;

/* *removed is false where it is no member. */
bool group_remove_member(struct pg *connection, const char *id, const char *identity_id,
                         const struct watch *watch, bool *removed, struct fault *fault) MUST_USE;

/* Memberships go with it; bindings to it must be gone. */
bool group_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                  struct fault *fault) MUST_USE;

#endif
