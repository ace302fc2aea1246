/* SPDX-License-Identifier: MIT
 *
 * The stored policy, as one question reads it. lib/iam/decision.h is what everybody else uses.
 */
#ifndef OCC_STORE_POLICY_H
#define OCC_STORE_POLICY_H

#include "lib/io/pg.h"

/* What the rows say; texts are owned by the result. */
struct policy_answer {
    bool actor_exists;
    const char *restriction_id; /* that matches; NULL: none */
    const char *binding_id;     /* that grants; NULL: none */
    const char *role_id;        /* of that binding */
};

/* NULL as resource_id or namespace_id: none. Always answers with one row. */
size_t policy_add(struct pg_batch *batch, const char *actor_id, const char *action, const char *resource_kind,
                  const char *resource_id, const char *namespace_id);
void policy_read(const struct pg_result *result, struct policy_answer *answer);

#endif
