/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/row.h"

bool row_find(struct pg *connection, const void *context, const struct pg_statement *statement,
              const char *const *parameters, const struct watch *watch, const struct pg_result **found,
              struct fault *fault)
{
    const struct pg_result *result;

    if (!pg_query(connection, context, statement, parameters, watch, &result, fault))
        return false;
    *found = pg_rows(result) > 0 ? result : NULL;
    return true;
}
