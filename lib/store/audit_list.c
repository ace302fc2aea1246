/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/audit_list.h"

#include "lib/store/documents.h"
#include "lib/store/moment.h"

#define TEXT_OF(number) TEXT_OF_(number)
#define TEXT_OF_(number) #number

#define DOCUMENT                                                                                             \
    "json_build_object('id', event.id, 'occurredAt', " MOMENT_SQL(                                           \
        "event.occurred_at") ","                                                                             \
                             " 'kind', event.kind, 'actorId', event.actor_id, 'action', event.action,"       \
                             " 'namespaceId', event.namespace_id, 'resourceKind', event.resource_kind,"      \
                             " 'resourceId', event.resource_id, 'outcome', event.outcome, 'details', "       \
                             "event.details)"

#define FILTER                                                                                               \
    "    ($1::text is null or event.namespace_id = $1::text)"                                                \
    " and ($2::text is null or event.kind = $2::text)"                                                       \
    " and ($3::text is null or event.actor_id = $3::text)"                                                   \
    " and ($4::text is null or event.action = $4::text)"                                                     \
    " and ($5::text is null or event.details ->> 'workId' = $5::text)"

static const struct pg_statement list_statement = {
    NULL,
    "select " DOCUMENT " from (select * from occ.audit_events as event where" FILTER
    "   order by event.occurred_at desc, event.id desc limit $6::integer) as event"
    " order by event.occurred_at, event.id",
    6,
};

static const struct pg_statement recent_statement = {
    NULL,
    "select " DOCUMENT " from occ.audit_events as event where" FILTER
    " and event.occurred_at > statement_timestamp() - interval '" TEXT_OF(
        AUDIT_RECENT_SECONDS) " s'"
                              " order by event.occurred_at, event.id",
    5,
};

bool audit_list(struct pg *connection, const void *context, const struct audit_filter *filter, unsigned limit,
                const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    char number[16];
    const char *const parameters[] = {filter->namespace_id, filter->kind,    filter->actor_id,
                                      filter->action,       filter->work_id, number};

    (void)snprintf(number, sizeof number, "%u", limit);
    return documents_query(connection, context, &list_statement, parameters, watch, rows, fault);
}

bool audit_recent(struct pg *connection, const void *context, const struct audit_filter *filter,
                  const struct watch *watch, const cJSON **rows, struct fault *fault)
{
    const char *const parameters[] = {filter->namespace_id, filter->kind, filter->actor_id, filter->action,
                                      filter->work_id};

    return documents_query(connection, context, &recent_statement, parameters, watch, rows, fault);
}
