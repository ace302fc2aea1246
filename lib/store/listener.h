/* SPDX-License-Identifier: MIT
 *
 * Is the session that listens still the one that it was? A connection whose other end changed silently looks
 * open and hears nothing.
 */
#ifndef OCC_STORE_LISTENER_H
#define OCC_STORE_LISTENER_H

#include "lib/io/pg.h"

/* The channel on which new work is announced. */
#define LISTENER_CHANNEL "occ_controller_work"

/* Whether this session listens on LISTENER_CHANNEL. Faults: pg_query's. */
bool listener_check(struct pg *connection, const void *context, const struct watch *watch, bool *listening,
                    struct fault *fault) MUST_USE;

#endif
