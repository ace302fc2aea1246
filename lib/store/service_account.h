/* SPDX-License-Identifier: MIT
 *
 * Service accounts at model providers: names for a Secret of the same Namespace, which is their credential.
 * Lock order: Namespace, service account, Secret.
 */
#ifndef OCC_STORE_SERVICE_ACCOUNT_H
#define OCC_STORE_SERVICE_ACCOUNT_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct service_account_row {
    const char *id;
    const char *namespace_id;
    const char *name;
    const char *secret_id; /* the credential's */
};

/* By identifier or exact name in the Namespace; with NULL as `namespace_id`, by identifier only, wherever it
 * is. `lock` takes the row FOR UPDATE until the transaction ends. *found is NULL where there is none; it
 * hangs on `context`. */
bool service_account_find(struct pg *connection, const void *context, const char *namespace_id,
                          const char *text, bool lock, const struct watch *watch,
                          struct service_account_row **found, struct fault *fault) MUST_USE;

/* *done is false, and nothing was written, where the name is taken: a concurrent admission's end is waited
 * for. */
bool service_account_insert(struct pg *connection, const struct service_account_row *row,
                            const struct watch *watch, bool *done, struct fault *fault) MUST_USE;

/* Sets name and credential of row->id. *done as above. */
bool service_account_change(struct pg *connection, const struct service_account_row *row,
                            const struct watch *watch, bool *done, struct fault *fault) MUST_USE;

/* Bindings and restrictions of exactly this account go with it. */
bool service_account_remove(struct pg *connection, const char *id, const struct watch *watch,
                            struct fault *fault) MUST_USE;

/* The Agents that authenticate with it: "\"support\" (agt_…), … and 4 more", of which three are named; NULL:
 * none. Hangs on `context`. */
bool service_account_uses(struct pg *connection, const void *context, const char *id,
                          const struct watch *watch, const char **uses, struct fault *fault) MUST_USE;

/* Documents: id name namespaceId credential{kind namespaceId id} secretName createdAt ageMs, of one Namespace
 * or for NULL of all, by Namespace and name; and of one, NULL where there is none. */
bool service_account_list(struct pg *connection, const void *context, const char *namespace_id,
                          const struct watch *watch, const cJSON **rows, struct fault *fault) MUST_USE;
bool service_account_document(struct pg *connection, const void *context, const char *id,
                              const struct watch *watch, const cJSON **found, struct fault *fault) MUST_USE;

#endif
