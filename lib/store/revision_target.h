/* SPDX-License-Identifier: MIT
 *
 * The state in which a revision's deployment finds its Agent: re-read under the item's claim before each
 * effect. And the one write that a pass makes before its end: the publication.
 */
#ifndef OCC_STORE_REVISION_TARGET_H
#define OCC_STORE_REVISION_TARGET_H

#include "lib/base/identifier.h"
#include "lib/io/pg.h"

struct revision_target {
    int64_t lease_ms; /* what was left of the lease when the database answered */
    int64_t age_ms;   /* of the item, by the same reading of the clock */
    bool exists;      /* the Agent, and the item's revision is its own */
    bool deleting;
    bool wants_running;
    bool captured; /* a stop was admitted after the revision was */
    bool namespace_ready;
    char active_id[IDENTIFIER_SIZE]; /* the active revision; "": none */
    bool active;                     /* it is this one */
    bool superseded;                 /* a newer one is active, or was: its deployment was completed */
    bool has_principal;
    bool newer_begun;      /* a pass of a newer one's deployment may have reached Compute */
    bool newer_unfinished; /* and there will be another pass of it */
    bool attempted;        /* an earlier pass of this item left evidence */
    const char *refusal;   /* what OUTCOME_HOLD keeps (JSON); NULL: nothing; hangs on the context given */
};

size_t revision_target_add(struct pg_batch *batch, const char *key, const char *token);
/* False: the claim is lost. */
bool revision_target_read(const struct pg_result *result, const void *context,
                          struct revision_target *target);

/* Makes the item's revision the active one, where the claim is live, the Agent is to run, `expected_id`
 * (NULL: none) still is the active one, and is older. Committed or not, what came of it is read as `active`
 * of a target that is read afterwards: in the same batch, or, where the commit is not known, later under the
 * same token. Under its token the publication can be sent again, as it finds itself done. */
size_t revision_publish_add(struct pg_batch *batch, const char *key, const char *token, const char *agent_id,
                            const char *expected_id);

#endif
