/* SPDX-License-Identifier: MIT
 *
 * Rows for people: lists whose statements return one JSON object a row (json_build_object, which keeps the
 * order of its members), as operators' tools show them. What decides something is read by typed functions
 * instead.
 */
#ifndef OCC_STORE_DOCUMENTS_H
#define OCC_STORE_DOCUMENTS_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

/* Runs a statement of one JSON column. *rows is a JSON array and hangs on `context`. */
bool documents_query(struct pg *connection, const void *context, const struct pg_statement *statement,
                     const char *const *parameters, const struct watch *watch, const cJSON **rows,
                     struct fault *fault) MUST_USE;

/* The same where there is at most one row; *row is NULL where there is none. */
bool documents_one(struct pg *connection, const void *context, const struct pg_statement *statement,
                   const char *const *parameters, const struct watch *watch, const cJSON **row,
                   struct fault *fault) MUST_USE;

/* A statement that changes rows, in the caller's transaction; *changed tells whether it changed any. */
bool documents_change(struct pg *connection, const struct pg_statement *statement,
                      const char *const *parameters, const struct watch *watch, bool *changed,
                      struct fault *fault) MUST_USE;

/* The array {"a","b"} as a parameter; the texts must be identifiers (no quotes, no backslashes). */
char *documents_array(const void *context, const char *const *texts, size_t count)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
