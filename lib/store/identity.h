/* SPDX-License-Identifier: MIT
 *
 * Identities: people (principals) and programs (service principals).
 */
#ifndef OCC_STORE_IDENTITY_H
#define OCC_STORE_IDENTITY_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

/* Documents: id kind issuer subject namespaceId agentId email createdAt; people first, by issuer and subject.
 */
bool identity_list(struct pg *connection, const void *context, const struct watch *watch, const cJSON **rows,
                   struct fault *fault) MUST_USE;

/* NULL where there is none. */
bool identity_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                   const cJSON **found, struct fault *fault) MUST_USE;

/* A person (issuer and subject), or a service principal of the Installation (both NULL). *inserted is false
 * where that person is known already. */
bool identity_insert(struct pg *connection, const char *id, const char *issuer, const char *subject,
                     const struct watch *watch, bool *inserted, struct fault *fault) MUST_USE;

/* Memberships and service keys go with it; bindings to it must be gone. */
bool identity_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                     struct fault *fault) MUST_USE;

#endif
