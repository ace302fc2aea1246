/* SPDX-License-Identifier: MIT
 *
 * Pieces of SQL about maintenance: the passes that look after an active revision from time to time, where its
 * Compute Driver asks for them. For lib/store only.
 *
 * They are a chain. A completed deployment makes the first item, and whatever ends an item (a pass, a denial,
 * used-up attempts, recovery) makes the next in the same statement, so that no outage ends the chain (K89).
 * It ends by itself when the revision is not the active one any more or the Agent is not to run, and when a
 * Driver that asks for none completes an item. A deployment that fails leaves what is active active: it
 * begins the chain of that revision where there is none, be it its own, which was published and did not get
 * further, or an earlier one's, whose chain ended while the Agent was not to run.
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
 * `ended`, and one for the active revision of the Agent of each that has `failed` where it has none,
 * `interval` milliseconds from now (a bigint; null or 0: none). The key's bucket is when it is due, in
 * milliseconds of the Unix epoch, and above those that have ended, so that it rises whatever the clock does.
 * It counts as admitted when it is due, as its deadline and its age in the backlog count from there.
 * The Agent comes by a LIMIT, without which it may become a hash of all that run.
 *
 * The Agent must have been locked (NO KEY UPDATE) before the work, as the admission's trigger locks it. */
/* clang-format off */
#define MAINTENANCE_NEXT(ended, failed, interval)                                                            \
    " maintenance as (insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id,"\
    " actor_id, available_at, created_at, result_data)"                                                      \
    " select 'agent_revision:' || m.revision_id || ':maintenance:' || m.bucket, m.namespace_id, m.agent_id," \
    " m.revision_id, m.actor_id, m.due, m.due,"                                                              \
    " jsonb_build_object('maintenanceIntervalMs', m.every)"                                                  \
    " from (select s.namespace_id, s.agent_id, a.active_revision_id as revision_id, case"                    \
    " when s.revision_id = a.active_revision_id then s.actor_id else (select d.actor_id"                     \
    " from occ.controller_work d where d.idempotency_key = " WORK_DEPLOYMENT_KEY("a.active_revision_id")     \
    " limit 1) end as actor_id, n.every, n.bucket, timestamptz 'epoch' + " WORK_INTERVAL("n.bucket")         \
    " as due from ruling s cross join lateral (select o.active_revision_id from occ.agents o"                \
    " where o.id = s.agent_id and o.status = 'active' and o.desired_runtime_state = 'running'"               \
    " and o.active_revision_id is not null and (o.active_revision_id = s.revision_id or " failed ")"         \
    " limit 1) a cross join lateral"                                                                         \
    " (select coalesce(bool_or(k.state in ('queued', 'claimed')), false) as there,"                          \
    " max(split_part(k.idempotency_key, ':', 4)::numeric) as latest from occ.controller_work k"              \
    " where " failed " and k.revision_id = a.active_revision_id and " MAINTENANCE_IS("k") ") k"              \
    " cross join lateral (select " interval " as every, least(253402300799999, greatest("                    \
    "case when " MAINTENANCE_IS("s") " then split_part(s.idempotency_key, ':', 4)::numeric"                  \
    " else coalesce(k.latest, -1) end + 1,"                                                                  \
    " floor(date_part('epoch', statement_timestamp()) * 1000)::numeric + " interval "))::bigint as bucket) n"\
    " where (" ended " or " failed ") and not k.there) m"                                                    \
    " where m.every > 0 and m.actor_id is not null on conflict do nothing returning 1)"
/* clang-format on */

#endif
