/* SPDX-License-Identifier: MIT
 *
 * The state of the queue and of who works on it, for `occctl status`.
 */
#ifndef OCC_STORE_STATUS_H
#define OCC_STORE_STATUS_H

#include "lib/io/json.h"
#include "lib/io/pg.h"

/* One document: namespaces{provisioning ready failed deleting deleted}, queue{queued claimed failed eligible
 * oldestPendingAgeMs longestWaitMs}, workers{claiming sessions liveClaims lastOutcomeAt}.
 *
 * There is no register of workers. `claiming` is what the database shows: "yes" (a claim is live, or a
 * worker's session is connected and nothing eligible has waited longer than STATUS_PATIENCE_SECONDS), "no"
 * (something has, and no claim is live), else "unknown" (nothing waits, and no session of a worker is seen:
 * one that uses another database role is not visible to this one). */
#define STATUS_PATIENCE_SECONDS 10

bool status_read(struct pg *connection, const void *context, const struct watch *watch, const cJSON **status,
                 struct fault *fault) MUST_USE;

#endif
