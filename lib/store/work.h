/* SPDX-License-Identifier: MIT
 *
 * A row of controller_work, as the worker knows it.
 */
#ifndef OCC_STORE_WORK_H
#define OCC_STORE_WORK_H

#include "lib/base/build.h"

/* The five kinds, derived from a row's shape. */
enum work_kind {
    WORK_NAMESPACE_ENSURE,
    WORK_NAMESPACE_DELETE,
    WORK_AGENT_STOP,
    WORK_AGENT_DELETE,
    WORK_AGENT_REVISION,
};

/* "namespace_ensure", as metrics name it. */
const char *work_kind_name(enum work_kind kind);
/* "namespace.ensure", as worker.completed names it. */
const char *work_kind_operation(enum work_kind kind);

struct work_item {
    const char *key; /* idempotency key, at most 512 bytes */
    enum work_kind kind;
    const char *namespace_id;
    const char *agent_id;    /* NULL where the shape has none */
    const char *revision_id; /* NULL where the shape has none */
    const char *actor_id;
    unsigned attempt;  /* counted by the claim: 1 on the first */
    int64_t age_ms;    /* since created_at, by the database's clock, when it was claimed */
    int64_t waited_ms; /* since it became available, likewise */
};

/* Revision work is a deployment, or maintenance, which keeps an active revision in order: the key says which.
 */
bool work_is_deployment(enum work_kind kind, const char *key);
bool work_is_maintenance(enum work_kind kind, const char *key);

#endif
