/* SPDX-License-Identifier: MIT
 *
 * The one Installation that a database describes.
 */
#ifndef OCC_STORE_INSTALLATION_H
#define OCC_STORE_INSTALLATION_H

#include "lib/base/identifier.h"
#include "lib/io/pg.h"

struct installation {
    char id[IDENTIFIER_SIZE]; /* "ins_…" */
    const char *name;
    const char *created_at; /* RFC 3339, UTC, milliseconds */
};

/* Reads it; *found is NULL where there is none. Hangs on `context`. */
bool installation_read(struct pg *connection, const void *context, const struct watch *watch,
                       struct installation **found, struct fault *fault) MUST_USE;

/* The same where there must be one. Fault: FAULT_CONFIGURATION INSTALLATION_NOT_BOOTSTRAPPED. */
bool installation_require(struct pg *connection, const void *context, const struct watch *watch,
                          struct installation **installation, struct fault *fault) MUST_USE;

#endif
