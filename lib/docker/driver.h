/* SPDX-License-Identifier: MIT
 *
 * The Docker Compute Driver, for development: one bridge network per Namespace. It deploys no Agents.
 */
#ifndef OCC_DOCKER_DRIVER_H
#define OCC_DOCKER_DRIVER_H

#include "lib/driver/compute.h"

#define DOCKER_COMPUTE_ID "compute-docker-development"

/* Makes a Driver, implementation "docker-local", that hangs on `context`; its first operation connects.
 * `socket_path` comes from DOCKER_HOST. Fault: FAULT_CONFIGURATION DOCKER_HOST_INVALID.
 *
 * Its preflight asks the Engine for its version and for a list of networks. Faults of preflight:
 * FAULT_CONFIGURATION DOCKER_ENGINE_UNAVAILABLE (permission denied, or no socket at the path),
 * DOCKER_ANSWER_INVALID (something else listens there), DOCKER_API_UNSUPPORTED, DOCKER_ENGINE_UNSUPPORTED
 * (not Linux), DOCKER_ACCESS_DENIED; FAULT_UNAVAILABLE for what may pass (missing, refused, silent, failing).
 *
 * It refuses every Harness authentication, without asking the Engine: FAULT_PERMANENT
 * HARNESS_AUTH_UNSUPPORTED. */
bool docker_open_compute(const void *context, const char *socket_path, const struct compute_driver **driver,
                         struct fault *fault) MUST_USE;

#endif
