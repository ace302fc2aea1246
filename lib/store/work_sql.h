/* SPDX-License-Identifier: MIT
 *
 * Pieces of SQL that the statements about work share, so that a rule is written once. For lib/store only.
 */
#ifndef OCC_STORE_WORK_SQL_H
#define OCC_STORE_WORK_SQL_H

#include "lib/io/pg.h"
#include "lib/store/work.h"

/* An interval in whole milliseconds, and whole milliseconds as an interval. */
#define WORK_MS(interval) "floor(date_part('epoch', " interval ") * 1000)::bigint"
#define WORK_INTERVAL(milliseconds) "(" milliseconds " * interval '1 millisecond')"

/* A row of `w` as work_item_read() takes it. */
/* clang-format off */
#define WORK_COLUMNS                                                                                         \
    "w.idempotency_key, w.namespace_id, w.agent_id, w.revision_id, w.namespace_target, w.agent_target,"      \
    " w.actor_id, w.attempt_count,"                                                                          \
    " greatest(0, " WORK_MS("statement_timestamp() - w.created_at") "),"                                     \
    " greatest(0, " WORK_MS("statement_timestamp() - w.available_at") ")"
/* clang-format on */
#define WORK_COLUMN_COUNT 10

/* The key of a revision's deployment, to look for. Keys have the database's collation and identifiers "C",
 * which would be that of the comparison: the index of the keys could not serve it. */
/* clang-format off */
#define WORK_DEPLOYMENT_KEY(revision_id)                                                                     \
    "('agent_revision:' || " revision_id " || ':reconcile') collate pg_catalog.\"default\""
/* clang-format on */

/* The columns of `w` from which evidence is written. */
#define WORK_SUBJECT                                                                                         \
    "w.idempotency_key, w.namespace_id, w.agent_id, w.revision_id, w.namespace_target, w.agent_target,"      \
    " w.actor_id, w.attempt_count, w.created_at"

/* The guard of everything that a claim may do: key $1, token $2, claimed, lease not over. One clock reading a
 * statement, so that the parts of a statement (and occ.tombstone_namespace) agree about the lease.
 *
 * As a CASE, since a plain "state = 'claimed'" lets the planner take the index of claimed rows, which looks
 * tiny to it, in place of the key: while vacuum is held back that index is full of dead entries, and each
 * guarded statement walks over all of them. */
#define WORK_GUARD                                                                                           \
    "w.idempotency_key = $1::text and case when w.state = 'claimed' and w.claim_token = $2::uuid"            \
    " then w.lease_expires_at > statement_timestamp() else false end"

/* Backoff of a failure after `attempts`: uniform random over [0, min(300 s, 1 s * 2^(attempts - 1))]. */
#define WORK_BACKOFF(attempts)                                                                               \
    "(random() * least(300.0, power(2, least(greatest(" attempts ", 1) - 1, 20))) * interval '1 second')"

/* The wait before a candidate that could not be stopped `stops` times is stopped again (K93). */
#define WORK_HOLD(stops) "(least(300, power(2, least(" stops ", 20))) * interval '1 second')"

/* The wait of a deferral: a server's Retry-After (milliseconds; 0: none), else a share of the item's age. */
#define WORK_DEFERRAL(retry_after, created_at)                                                               \
    "case when " retry_after " > 0 then " WORK_INTERVAL(                                                     \
        "least(" retry_after                                                                                 \
        ", 30000)") " else least(interval '5 seconds', greatest(interval '500 milliseconds',"                \
                    " (statement_timestamp() - " created_at ") / 40)) end"

/* The audit events about the rows of `ruling`, aliased s: a `reconcile` event where `written`, and one about
 * the lifecycle (of the Namespace, or with an `action` that is SQL) where it `changed`. Each is (kind,)
 * outcome and more details as SQL. One INSERT for both: PostgreSQL reads a table's checks anew for each
 * INSERT of a statement, which costs more than the row. */
/* clang-format off */
#define WORK_EVENTS(kind, outcome, more, written, action, change_outcome, change_more, changed)              \
    WORK_EVENTS_OF(kind, outcome, more, written, "'openclaw.namespaces.lifecycle." action "'",               \
                   change_outcome, change_more, changed)
#define WORK_EVENTS_OF(kind, outcome, more, written, action, change_outcome, change_more, changed)           \
    "insert into occ.audit_events (kind, actor_id, action, namespace_id, resource_kind, resource_id,"        \
    " outcome, details)"                                                                                     \
    " select e.kind, s.actor_id, e.action, s.namespace_id,"                                                  \
    " case when s.revision_id is not null then 'agent_revision' when s.agent_id is not null then 'agent'"    \
    " else 'namespace' end, coalesce(s.revision_id, s.agent_id, s.namespace_id), e.outcome,"                 \
    " jsonb_build_object('workId', s.idempotency_key, 'reasonCode', s.code, 'attemptCount', s.attempt_count)" \
    " || coalesce(e.more, '{}') from ruling s cross join lateral"                                            \
    " (values (" kind ", 'reconcile', " outcome ", " more "::jsonb, " written "),"                           \
    " ('mutation', " action ", " change_outcome ", " change_more "::jsonb, "                                 \
    changed ")) e (kind, action, outcome, more, wanted) where e.wanted"
/* clang-format on */

/* Of the details of a change, what its `reconcile` event tells, too. */
#define WORK_WARNINGS(more) "jsonb_strip_nulls(jsonb_build_object('warnings', " more "::jsonb -> 'warnings'))"

/* The code of the latest `reconcile` event about the item of row `s`. */
#define WORK_LATEST_CODE                                                                                     \
    "(select e.details ->> 'reasonCode' from occ.audit_events e"                                             \
    " where e.details ->> 'workId' = s.idempotency_key and e.action = 'reconcile'"                           \
    " order by e.occurred_at desc, e.id desc limit 1)"

/* Reads WORK_COLUMNS, which come first in the row; the texts are copied to `context`. */
void work_item_read(const void *context, const struct pg_result *result, size_t row, struct work_item *item);

#endif
