/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/listener.h"

static const struct pg_statement channel_is_listened = {
    .name = "listener_check",
    .sql = "select exists (select 1 from pg_catalog.pg_listening_channels() as c (name)"
           " where c.name = '" LISTENER_CHANNEL "')",
    .parameters = 0,
};

bool listener_check(struct pg *connection, const void *context, const struct watch *watch, bool *listening,
                    struct fault *fault)
{
    const struct pg_result *result;

    if (!pg_query(connection, context, &channel_is_listened, NULL, watch, &result, fault))
        return false;
    *listening = pg_true(result, 0, 0);
    return true;
}
