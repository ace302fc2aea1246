/* SPDX-License-Identifier: MIT
 *
 * The Drivers that occ-worker was built with.
 */
#ifndef OCC_WORKER_DRIVERS_H
#define OCC_WORKER_DRIVERS_H

#include "lib/config/startup.h"
#include "lib/driver/registry.h"

/* Opens the Compute Driver that the configuration selects. It hangs on `context`. Faults:
 * registry_open_compute's. */
bool drivers_open_compute(const void *context, const struct worker_settings *settings,
                          const struct startup *startup, const struct compute_driver **driver,
                          struct fault *fault) MUST_USE;

#endif
