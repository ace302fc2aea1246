/* SPDX-License-Identifier: MIT
 *
 * What every Driver gets with every operation, and how its operations end.
 *
 * Every operation is idempotent and safe to repeat after a crash at any point. It returns true when the thing
 * is as asked (ready, or gone), and false with a fault otherwise: FAULT_PENDING (converging: look again
 * later), FAULT_RETRYABLE (failed, an attempt is spent), FAULT_PERMANENT (will not succeed),
 * FAULT_CONFIGURATION (preflight only), or the fault of the call's watch passed on unchanged. Codes are the
 * Driver's own, as precise as it can be. A Driver knows nothing of SQL, leases or the queue.
 */
#ifndef OCC_DRIVER_CALL_H
#define OCC_DRIVER_CALL_H

#include "lib/base/fault.h"
#include "lib/base/identifier.h"
#include "lib/io/watch.h"

struct secret_driver;

struct driver_call {
    const void *memory;        /* the pass's context: results and scratch hang on it */
    const struct watch *watch; /* hand it to every wait: it renews the claim and hears the supervisor */
    const char *installation_id;
    int64_t deadline_ms; /* clock_now_ms: no request may last beyond it */
    bool observe_only;   /* only look whether the thing is as asked; change nothing (a deletion past its
                            deadline) */
    const struct secret_driver *secrets; /* to read a Secret's value with; NULL: none is selected */
};

#endif
