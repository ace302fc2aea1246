/* SPDX-License-Identifier: MIT
 *
 * How admissions use Drivers.
 */
#ifndef OCC_ADMIT_DRIVER_H
#define OCC_ADMIT_DRIVER_H

#include "lib/admit/caller.h"
#include "lib/driver/call.h"

/* Bounds one operation: shorter than a session may idle in a transaction. */
#define ADMIT_DRIVER_TIMEOUT_MS 30000

/* The call of one operation; what it returns hangs on `memory`. */
struct driver_call driver_call_new(const struct caller *caller, const void *memory);

/* Turns the fault of an operation into what a caller is told, and returns false. FAULT_PENDING and
 * FAULT_RETRYABLE: FAULT_UNAVAILABLE, as nobody tries again for them. FAULT_PERMANENT: FAULT_CONFLICT, as
 * something is in another state than it should. Everything else stays. */
bool driver_failed(struct fault *fault);

#endif
