/* SPDX-License-Identifier: MIT
 *
 * One new row of evidence.
 */
#ifndef OCC_STORE_AUDIT_ENTRY_H
#define OCC_STORE_AUDIT_ENTRY_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

struct audit_entry {
    const char *kind; /* "mutation", "authorization_denial" */
    const char *actor_id;
    const char *action;        /* "openclaw.namespaces.create" */
    const char *namespace_id;  /* NULL: none */
    const char *resource_kind; /* NULL: none */
    const char *resource_id;   /* NULL: none; needs a kind */
    const char *outcome;       /* "success", "failure", "denied" */
    const cJSON *details;      /* an object; NULL: {} */
};

/* Adds the row to a batch. */
void audit_entry_add(struct pg_batch *batch, const struct audit_entry *entry);

/* Writes it in a trip of its own, in the caller's transaction if there is one. */
bool audit_entry_write(struct pg *connection, const struct audit_entry *entry, const struct watch *watch,
                       struct fault *fault) MUST_USE;

#endif
