/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/installation.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/moment.h"

static const struct pg_statement read_statement = {
    "installation_read",
    "select id, name, " MOMENT_SQL("created_at") " from occ.installation",
    0,
};

bool installation_read(struct pg *connection, const void *context, const struct watch *watch,
                       struct installation **found, struct fault *fault)
{
    const struct pg_result *result;
    struct installation *installation;

    if (!pg_query(connection, context, &read_statement, NULL, watch, &result, fault))
        return false;
    if (pg_rows(result) == 0) {
        *found = NULL;
        return true;
    }
    installation = mem_new(context, struct installation);
    text_copy(installation->id, sizeof installation->id, pg_text(result, 0, 0));
    installation->name = mem_text(installation, pg_text(result, 0, 1));
    installation->created_at = mem_text(installation, pg_text(result, 0, 2));
    *found = installation;
    return true;
}

bool installation_require(struct pg *connection, const void *context, const struct watch *watch,
                          struct installation **installation, struct fault *fault)
{
    struct installation *found;

    if (!installation_read(connection, context, watch, &found, fault))
        return false;
    if (!found)
        return fault_set(
            fault, FAULT_CONFIGURATION, "INSTALLATION_NOT_BOOTSTRAPPED",
            "The database describes no Installation: run occ-bootstrap once before anything else.");
    *installation = found;
    return true;
}
