/* SPDX-License-Identifier: MIT
 *
 * Pieces of SQL about maintenance: the passes that look after an active revision from time to time, where its
 * Compute Driver asks for them. For lib/store only.
 *
 * They are a chain. A completed deployment makes the first item, and whatever ends an item (a pass, a denial,
 * used-up attempts, recovery) makes the next in the same statement, so that no outage ends the chain (K89).
 * It ends by itself when the revision is not the active one any more or the Agent is not to run, and when a
 * Driver that asks for none completes an item.
 */
#ifndef OCC_STORE_MAINTENANCE_SQL_H
#define OCC_STORE_MAINTENANCE_SQL_H

#include "lib/store/work_sql.h"

/* Whether a row is an item of maintenance. */
#define MAINTENANCE_IS(row)                                                                                  \
    "(" row ".revision_id is not null and " row ".idempotency_key"                                           \
    " <> 'agent_revision:' || " row ".revision_id || ':reconcile')"

/* The interval, in milliseconds, that travels with the queued item; null where there is none. Whatever number
 * stands there, it is cut to ten years. */
#define MAINTENANCE_INTERVAL(row)                                                                            \
    "case when jsonb_typeof(" row ".result_data -> 'maintenanceIntervalMs') = 'number'"                      \
    " then least((" row ".result_data ->> 'maintenanceIntervalMs')::numeric, 315360000000)::bigint end"

/* A CTE `maintenance` that makes the next item after each row of `ruling` (WORK_SUBJECT, aliased s) that has
 * `ended`, `interval` milliseconds from now (a bigint; null or 0: none). The key's bucket is when it is due,
 * in milliseconds of the Unix epoch, and above the one that has ended, so that it rises whatever the clock
 * does. It counts as admitted when it is due, as its deadline and its age in the backlog count from there.
 *
 * The Agent must have been locked (NO KEY UPDATE) before the work, as the admission's trigger locks it. */
/* clang-format off */
#define MAINTENANCE_NEXT(ended, interval)                                                                    \
    " maintenance as (insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id,"\
    " actor_id, available_at, created_at, result_data)"                                                      \
    " select 'agent_revision:' || m.revision_id || ':maintenance:' || m.bucket, m.namespace_id, m.agent_id," \
    " m.revision_id, m.actor_id, m.due, m.due,"                                                              \
    " jsonb_build_object('maintenanceIntervalMs', m.every)"                                                  \
    " from (select s.namespace_id, s.agent_id, s.revision_id, s.actor_id, n.every, n.bucket,"                \
    " timestamptz 'epoch' + " WORK_INTERVAL("n.bucket") " as due from ruling s cross join lateral"           \
    " (select " interval " as every, least(253402300799999, greatest(case when " MAINTENANCE_IS("s")         \
    " then split_part(s.idempotency_key, ':', 4)::numeric + 1 else 0 end,"                                   \
    " floor(date_part('epoch', statement_timestamp()) * 1000)::numeric + " interval "))::bigint as bucket) n"\
    " where " ended ") m"                                                                                    \
    " where m.every > 0 and exists (select from occ.agents a where a.id = m.agent_id"                        \
    " and a.active_revision_id = m.revision_id and a.status = 'active'"                                      \
    " and a.desired_runtime_state = 'running') on conflict do nothing returning 1)"
/* clang-format on */

#endif
