/* SPDX-License-Identifier: MIT
 *
 * One row that something is decided by, where a document for people would not do.
 */
#ifndef OCC_STORE_ROW_H
#define OCC_STORE_ROW_H

#include "lib/io/pg.h"

/* Runs a statement of which at most one row is wanted. *found is the result that holds it, as row 0, and
 * hangs on `context`; NULL where there is none. */
bool row_find(struct pg *connection, const void *context, const struct pg_statement *statement,
              const char *const *parameters, const struct watch *watch, const struct pg_result **found,
              struct fault *fault) MUST_USE;

#endif
