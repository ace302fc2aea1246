/* SPDX-License-Identifier: MIT
 *
 * What the Compute contract asks about Agents and revisions (lib/driver/compute.h), on Kubernetes.
 */
#ifndef OCC_KUBERNETES_AGENT_OPERATIONS_H
#define OCC_KUBERNETES_AGENT_OPERATIONS_H

#include "lib/driver/compute.h"
#include "lib/driver/sandbox.h"
#include "lib/kubernetes/agent/readiness.h"

/* What all of them work with. */
struct kubernetes_compute {
    struct compute_driver driver;
    const struct kubernetes_settings *settings;
    struct kubernetes_client *client;
    const struct sandbox_driver *sandbox; /* NULL: none */
};

/* Each is an operation of struct compute_operations with the compute's `self`, a struct kubernetes_compute.
 * There is no bind_agent: what an Agent has as a whole is made when its first revision is prepared. Every
 * operation names in `seen` what it speaks of. */
bool kubernetes_validate_harness_auth(void *self, const struct driver_call *call,
                                      const struct subject_harness *harness, struct fault *fault);
bool kubernetes_needs_stopped_predecessors(void *self, const struct subject_revision *revision);
bool kubernetes_prepare_revision(void *self, const struct driver_call *call,
                                 const struct subject_revision *revision, struct compute_observation *seen,
                                 struct fault *fault);
bool kubernetes_activate_revision(void *self, const struct driver_call *call,
                                  const struct subject_revision *revision, struct compute_observation *seen,
                                  struct fault *fault);
bool kubernetes_deactivate_revision(void *self, const struct driver_call *call,
                                    const struct subject_revision *revision, struct compute_observation *seen,
                                    struct fault *fault);
bool kubernetes_stop_revision(void *self, const struct driver_call *call,
                              const struct subject_revision *revision, struct compute_observation *seen,
                              struct fault *fault);
bool kubernetes_retire_revision(void *self, const struct driver_call *call,
                                const struct subject_revision *revision, struct compute_observation *seen,
                                struct fault *fault);
bool kubernetes_delete_agent(void *self, const struct driver_call *call, const struct subject_agent *agent,
                             struct compute_observation *seen, struct fault *fault);

#endif
