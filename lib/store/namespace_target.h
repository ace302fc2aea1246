/* SPDX-License-Identifier: MIT
 *
 * The Namespace that an item of work is about, re-read under the item's claim before each effect. Where the
 * claim is live, the row that comes back confirms token and lease as well.
 */
#ifndef OCC_STORE_NAMESPACE_TARGET_H
#define OCC_STORE_NAMESPACE_TARGET_H

#include "lib/io/pg.h"

struct namespace_target {
    const char *id;
    const char *name;
    const char *existing_namespace; /* NULL: managed */
    const char *status;             /* provisioning ready failed deleting */
    bool deleted;                   /* a tombstone */
    int64_t lease_ms;               /* what was left of the lease when the database answered */
    int64_t age_ms;                 /* of the work, since its admission */
};

size_t namespace_target_add(struct pg_batch *batch, const char *key, const char *token);
/* False: the claim is lost. Texts hang on `context`. */
bool namespace_target_read(const struct pg_result *result, const void *context,
                           struct namespace_target *target);

#endif
