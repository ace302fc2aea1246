/* SPDX-License-Identifier: MIT
 *
 * Secrets as admissions see and change them: names and places, never values. Lock order: Namespace, Secret.
 */
#ifndef OCC_STORE_STORED_SECRET_H
#define OCC_STORE_STORED_SECRET_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct stored_secret_row {
    const char *id;
    const char *namespace_id;
    const char *name;
    const char *driver_id;
    const char *backend_namespace_name;
    const char *backend_name;
    const char *backend_key;
    const char *backend_uid; /* NULL: not known */
    bool registered;         /* the value is somebody else's: only its place is kept here */
};

/* By identifier or exact name in the Namespace; with NULL as `namespace_id`, by identifier only, wherever it
 * is. `lock` takes the row FOR UPDATE until the transaction ends: nothing begins to refer to it meanwhile.
 * *found is NULL where there is none; it hangs on `context`. */
bool stored_secret_find(struct pg *connection, const void *context, const char *namespace_id,
                        const char *text, bool lock, const struct watch *watch,
                        struct stored_secret_row **found, struct fault *fault) MUST_USE;

/* *inserted is false, and nothing was written, where the name or the place is taken: a concurrent admission's
 * end is waited for. */
bool stored_secret_insert(struct pg *connection, const struct stored_secret_row *row,
                          const struct watch *watch, bool *inserted, struct fault *fault) MUST_USE;

/* Another Secret of this place; NULL: there is none. `id` is the one that may be there. Hangs on `context`.
 */
bool stored_secret_at(struct pg *connection, const void *context, const struct stored_secret_row *row,
                      const struct watch *watch, const char **id, struct fault *fault) MUST_USE;

/* Sets the place of row->id. */
bool stored_secret_move(struct pg *connection, const struct stored_secret_row *row, const struct watch *watch,
                        struct fault *fault) MUST_USE;

/* Bindings and restrictions of exactly this Secret go with it. */
bool stored_secret_remove(struct pg *connection, const char *id, const struct watch *watch,
                          struct fault *fault) MUST_USE;

/* What refers to it: "the Agent \"support\" (agt_…), the Configuration cfg_… and 4 more", of which three are
 * named; NULL: nothing. Revisions do not count. Hangs on `context`. */
bool stored_secret_uses(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                        const char **uses, struct fault *fault) MUST_USE;

/* Documents: id name namespaceId driverId registered backend{namespaceName name key uid} createdAt ageMs, of
 * one Namespace, or for NULL of all, by Namespace and name; and of one, NULL where there is none. */
bool stored_secret_list(struct pg *connection, const void *context, const char *namespace_id,
                        const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;
bool stored_secret_document(struct pg *connection, const void *context, const char *id,
                            const struct watch *watch, const cJSON **found, struct fault *fault) MUST_USE;

#endif
