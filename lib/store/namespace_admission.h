/* SPDX-License-Identifier: MIT
 *
 * Namespaces as admissions see and change them. Lock order: Namespace, Agent, work.
 */
#ifndef OCC_STORE_NAMESPACE_ADMISSION_H
#define OCC_STORE_NAMESPACE_ADMISSION_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct namespace_row {
    const char *id;
    const char *name;
    const char *status;             /* provisioning, ready, failed, deleting */
    const char *existing_namespace; /* NULL: none */
    const char *created_at;
    const char *deleted_at; /* NULL unless a tombstone */
};

/* How the caller's transaction keeps the row until it ends. */
enum namespace_lock {
    NAMESPACE_LOOK,  /* not at all */
    NAMESPACE_SHARE, /* its status stays, and others may share: for whoever changes what it owns */
    NAMESPACE_ALONE, /* for whoever deletes it, and counts what it owns */
};

/* By identifier, else by exact name (a name may look like an identifier); tombstones too. *found is NULL
 * where there is none; it hangs on `context`. */
bool namespace_find(struct pg *connection, const void *context, const char *text, enum namespace_lock lock,
                    const struct watch *watch, struct namespace_row **found, struct fault *fault) MUST_USE;

/* By exact name only. */
bool namespace_find_name(struct pg *connection, const void *context, const char *name,
                         const struct watch *watch, struct namespace_row **found,
                         struct fault *fault) MUST_USE;

/* The one that is not deleted and names this existing namespace. */
bool namespace_find_existing(struct pg *connection, const void *context, const char *existing_namespace,
                             const struct watch *watch, struct namespace_row **found,
                             struct fault *fault) MUST_USE;

/* The row `provisioning` and its work, in the caller's transaction. *inserted is false, and nothing was
 * written, when the name or the existing namespace is taken: a concurrent admission's end is waited for. */
bool namespace_insert(struct pg *connection, const char *id, const char *name, const char *existing_namespace,
                      const char *actor_id, const struct watch *watch, bool *inserted,
                      struct fault *fault) MUST_USE;

/* What the Namespace still owns ("2 Agents, 1 Secret"); NULL: nothing. Hangs on `context`. */
bool namespace_remains(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                       const char **remains, struct fault *fault) MUST_USE;

/* `deleting` and the work of it, in the caller's transaction, which holds the row. */
bool namespace_begin_delete(struct pg *connection, const char *id, const char *actor_id,
                            const struct watch *watch, struct fault *fault) MUST_USE;

/* The work key of a Namespace's target, "ready" or "deleted". Hangs on `context`. */
const char *namespace_work_key(const void *context, const char *id, const char *target)
    __attribute__((returns_nonnull));

/* Identifiers of all Namespaces, by name; tombstones only when asked. They hang on `context`. */
bool namespace_ids(struct pg *connection, const void *context, bool deleted_too, const struct watch *watch,
                   const char ***ids, size_t *count, struct fault *fault) MUST_USE;

/* Documents of these Namespaces, by name: id name status existingNamespace createdAt deletedAt work{…}. */
bool namespace_documents(struct pg *connection, const void *context, const char *const *ids, size_t count,
                         const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;

#endif
