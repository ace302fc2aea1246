/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/namespace_target.h"

#include "lib/base/memory.h"
#include "lib/store/work_sql.h"

/* clang-format off */
static const struct pg_statement read_statement = {
    "namespace_target",
    "select n.id, n.name, n.existing_namespace, n.status, n.deleted_at is not null,"
    " " WORK_MS("w.lease_expires_at - statement_timestamp()") ","
    " greatest(0, " WORK_MS("statement_timestamp() - w.created_at") ")"
    " from occ.controller_work w join occ.namespaces n on n.id = w.namespace_id where " WORK_GUARD,
    2,
};
/* clang-format on */

size_t namespace_target_add(struct pg_batch *batch, const char *key, const char *token)
{
    return pg_batch_add(batch, &read_statement, (const char *[]){key, token});
}

bool namespace_target_read(const struct pg_result *result, const void *context,
                           struct namespace_target *target)
{
    const char *existing;

    if (pg_rows(result) == 0)
        return false;
    existing = pg_text(result, 0, 2);
    target->id = mem_text(context, pg_text(result, 0, 0));
    target->name = mem_text(context, pg_text(result, 0, 1));
    target->existing_namespace = existing ? mem_text(context, existing) : NULL;
    target->status = mem_text(context, pg_text(result, 0, 3));
    target->deleted = pg_true(result, 0, 4);
    target->lease_ms = pg_number(result, 0, 5);
    target->age_ms = pg_number(result, 0, 6);
    return true;
}
