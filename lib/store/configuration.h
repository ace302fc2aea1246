/* SPDX-License-Identifier: MIT
 *
 * Configurations' rows as admissions see and change them; their texts are elsewhere. Lock order: Namespace,
 * Agent, Configuration, work.
 */
#ifndef OCC_STORE_CONFIGURATION_H
#define OCC_STORE_CONFIGURATION_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct configuration_row {
    const char *id;
    const char *namespace_id;
    const char *namespace_name;
    const char *existing_namespace; /* NULL: none */
    const char *kind;               /* "agent" */
    int64_t generation;
    const char *secret_bindings; /* as JSON */
    const char *digest;          /* of this generation's text; NULL: not known */
};

/* How the caller's transaction keeps the row until it ends. */
enum configuration_lock {
    CONFIGURATION_LOOK,  /* not at all */
    CONFIGURATION_SHARE, /* nobody changes it: for whoever needs row and text together */
    CONFIGURATION_ALONE, /* for whoever changes it */
};

/* NULL where there is none; hangs on `context`. */
bool configuration_find(struct pg *connection, const void *context, const char *id,
                        enum configuration_lock lock, const struct watch *watch,
                        struct configuration_row **found, struct fault *fault) MUST_USE;

/* The row of generation 1 with its text's digest, in the caller's transaction. */
bool configuration_insert(struct pg *connection, const char *id, const char *namespace_id,
                          const char *secret_bindings, const char *digest, const struct watch *watch,
                          struct fault *fault) MUST_USE;

/* Raises the generation of a row that the caller's transaction holds. `digest` is of its new text; NULL: the
 * text stays. */
bool configuration_change(struct pg *connection, const char *id, const char *secret_bindings,
                          const char *digest, const struct watch *watch, int64_t *generation,
                          struct fault *fault) MUST_USE;

bool configuration_remove(struct pg *connection, const char *id, const struct watch *watch,
                          struct fault *fault) MUST_USE;

/* The Agents that refer to it, the first few by name ("a (agt_…), b (agt_…)"), and how many there are. NULL:
 * none.
 */
bool configuration_users(struct pg *connection, const void *context, const char *id,
                         const struct watch *watch, const char **names, int64_t *count,
                         struct fault *fault) MUST_USE;

/* A text as the database sees it; hangs on the context that it was asked with. */
struct configuration_text {
    const char *normal; /* the database's own JSON of it with logging.level set, as text; numbers are exact */
    const char *digest; /* SHA-256 of its bytes, in hexadecimal */
};

/* `document` is a JSON object whose "logging", if it has one, is an object; `log_level` is "info" or another.
 *
 * Fault: FAULT_INVALID DOCUMENT_REFUSED, where the database does not take it; a transaction is then lost. */
bool configuration_normalize(struct pg *connection, const void *context, const char *document,
                             const char *log_level, const struct watch *watch,
                             struct configuration_text *text, struct fault *fault) MUST_USE;

/* Documents for people: id namespaceId namespaceName kind generation secretBindings agents createdAt ageMs;
 * of one, or of one Namespace or (NULL) all, by Namespace and age. */
bool configuration_document(struct pg *connection, const void *context, const char *id,
                            const struct watch *watch, const cJSON **found, struct fault *fault) MUST_USE;
bool configuration_documents(struct pg *connection, const void *context, const char *namespace_id,
                             const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;

#endif
