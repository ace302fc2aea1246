/* SPDX-License-Identifier: MIT
 *
 * An explicit transaction over several trips, for admissions: what is decided and read in it stands until
 * what is written in it is committed. The worker never uses this (a pass is one batch); an admission holds
 * its locks for a few trips and the session's idle_in_transaction_session_timeout bounds a client that stops
 * in the middle.
 *
 * READ COMMITTED: rows on which a decision rests are locked by the statements that read them.
 */
#ifndef OCC_STORE_TRANSACTION_H
#define OCC_STORE_TRANSACTION_H

#include "lib/io/pg.h"

bool transaction_begin(struct pg *connection, const struct watch *watch, struct fault *fault) MUST_USE;

/* False: pg_outcome_unknown() tells whether it may be committed all the same. */
bool transaction_commit(struct pg *connection, const struct watch *watch, struct fault *fault) MUST_USE;

/* Gives everything up. A connection that is broken, or breaks here, has nothing left to give up, so that
 * there is no fault: the one that led here is the one to tell. */
void transaction_rollback(struct pg *connection, const struct watch *watch);

#endif
