/* SPDX-License-Identifier: MIT
 *
 * Namespaces: admission of their creation and deletion, and what of them a caller may see.
 */
#ifndef OCC_ADMIT_NAMESPACE_H
#define OCC_ADMIT_NAMESPACE_H

#include "lib/admit/caller.h"

/* What an admission leaves behind. */
struct namespace_admission {
    char id[IDENTIFIER_SIZE];
    const char *name;
    const char *work_id; /* the work that makes it true */
    bool changed;        /* false: the same was under way already, and nothing was written */
};

/* Creates one. `existing_namespace` names a namespace to adopt (installation:administer too), or is NULL;
 * whether the selected Compute Driver can adopt is the caller's to know before. The result hangs on
 * `context`.
 *
 * Faults: FAULT_INVALID NAME_INVALID; FAULT_DENIED; FAULT_CONFLICT NAMESPACE_NAME_TAKEN (by a tombstone too,
 * which the message says) or EXISTING_NAMESPACE_TAKEN. */
bool namespace_create(struct caller *caller, const void *context, const char *name,
                      const char *existing_namespace, struct namespace_admission *admitted,
                      struct fault *fault) MUST_USE;

/* Deletes one, by id or exact name; a deletion that failed is queued again, and one that is under way is left
 * alone.
 *
 * Faults: FAULT_NOT_FOUND NAMESPACE_NOT_FOUND (one that is deleted too); FAULT_DENIED; FAULT_CONFLICT
 * NAMESPACE_NOT_EMPTY (with what remains) or DELETION_HELD (somebody else began it who still may). */
bool namespace_delete(struct caller *caller, const void *context, const char *text,
                      struct namespace_admission *admitted, struct fault *fault) MUST_USE;

/* The document of one that the caller may read, by id or exact name; see lib/store/namespace_admission.h. */
bool namespace_get(struct caller *caller, const void *context, const char *text, const cJSON **found,
                   struct fault *fault) MUST_USE;

/* All that the caller may read, by name. */
bool namespace_list(struct caller *caller, const void *context, bool deleted_too, const cJSON **rows,
                    struct fault *fault) MUST_USE;

/* The identifier of one that the caller may read, by id or exact name, for commands that name a Namespace. */
bool namespace_resolve(struct caller *caller, const void *context, const char *text, const char **id,
                       struct fault *fault) MUST_USE;

#endif
