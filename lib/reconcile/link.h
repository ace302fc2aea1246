/* SPDX-License-Identifier: MIT
 *
 * The reconciler's one connection, and the state that outlives a pass. For lib/reconcile only.
 */
#ifndef OCC_RECONCILE_LINK_H
#define OCC_RECONCILE_LINK_H

#include "lib/io/pg.h"
#include "lib/reconcile/reconciler.h"
#include "lib/store/claim.h"

struct reconciler {
    const struct reconciler_options *options;
    const struct reconcile_host *host;
    struct pg *connection; /* NULL: none */
    struct claim_search search;
    bool away;       /* the database is known to be away: said once */
    int64_t said_ms; /* when that was said last; 0: never */
    int unsaid;      /* how often it was not said since, as it had been said a moment ago */
    int backoff_ms;  /* before the next attempt to reach it */
};

/* What the host wants now. */
enum host_order link_order(const struct reconciler *reconciler);

/* A watch that ends a wait when the host says abort (or also when it says finish), with FAULT_CANCELLED
 * WORKER_DRAINING. */
struct watch link_watch_abort(struct reconciler *reconciler);
struct watch link_watch_finish(struct reconciler *reconciler);

/* Makes sure of a usable connection. With `held`, while a claim is held, no name server is asked. Faults as
 * pg_connect. */
bool link_open(struct reconciler *reconciler, bool held, const struct watch *watch,
               struct fault *fault) MUST_USE;
/* Lets a connection go that cannot be used any more; `always`: any. */
void link_drop(struct reconciler *reconciler, bool always);

/* Waits before the next attempt, longer each time (100 ms to 5 s, until link_up), and says once that the
 * database is away. False with the watch's fault. */
bool link_back_off(struct reconciler *reconciler, const struct fault *why, const struct watch *watch,
                   struct fault *fault) MUST_USE;
void link_up(struct reconciler *reconciler);

#endif
