/* SPDX-License-Identifier: MIT
 *
 * Service keys: only their hashes are known here.
 */
#ifndef OCC_STORE_SERVICE_KEY_H
#define OCC_STORE_SERVICE_KEY_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

enum service_key_state { SERVICE_KEY_UNKNOWN, SERVICE_KEY_VALID, SERVICE_KEY_EXPIRED, SERVICE_KEY_REVOKED };

/* Who shows a key with this hash. */
struct service_key_holder {
    enum service_key_state state;
    const char *id;
    const char *name;
    const char *service_principal_id;
    const char *ended_at; /* when it expired or was revoked; NULL while valid */
};

/* Texts are NULL where the key is unknown; they hang on `context`. */
bool service_key_authenticate(struct pg *connection, const void *context, const char *hash,
                              const struct watch *watch, struct service_key_holder *holder,
                              struct fault *fault) MUST_USE;

/* Documents: id name servicePrincipalId state createdAt expiresAt revokedAt; newest first. */
bool service_key_list(struct pg *connection, const void *context, const struct watch *watch,
                      const cJSON **rows, struct fault *fault) MUST_USE;

/* NULL where there is none. */
bool service_key_find(struct pg *connection, const void *context, const char *id, const struct watch *watch,
                      const cJSON **found, struct fault *fault) MUST_USE;

/* Valid from now for `days` days. *expires_at hangs on `context`. */
bool service_key_insert(struct pg *connection, const void *context, const char *id, const char *name,
                        const char *hash, const char *service_principal_id, unsigned days,
                        const struct watch *watch, const char **expires_at, struct fault *fault) MUST_USE;

/* *revoked is false where it was revoked before. */
bool service_key_revoke(struct pg *connection, const char *id, const struct watch *watch, bool *revoked,
                        struct fault *fault) MUST_USE;

#endif
