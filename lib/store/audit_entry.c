/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/audit_entry.h"

#include "lib/base/memory.h"

static const struct pg_statement statement = {
    "audit_entry",
    "insert into occ.audit_events (kind, actor_id, action, namespace_id, resource_kind, resource_id, "
    "outcome, details)"
    " values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::jsonb)",
    8,
};

void audit_entry_add(struct pg_batch *batch, const struct audit_entry *entry)
{
    const char *const parameters[] = {
        entry->kind,          entry->actor_id,
        entry->action,        entry->namespace_id,
        entry->resource_kind, entry->resource_id,
        entry->outcome,       entry->details ? json_write(batch, entry->details) : "{}",
    };

    pg_batch_add(batch, &statement, parameters);
}

bool audit_entry_write(struct pg *connection, const struct audit_entry *entry, const struct watch *watch,
                       struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    bool done;

    audit_entry_add(batch, entry);
    done = pg_run(connection, batch, watch, fault);
    talloc_free(batch);
    return done;
}
