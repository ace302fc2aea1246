/* SPDX-License-Identifier: MIT
 *
 * Whether a revision's workload is ready, and if not, why: read off its Pods, its Deployment and, once it is
 * served, its Service's EndpointSlices.
 */
#ifndef OCC_KUBERNETES_AGENT_READINESS_H
#define OCC_KUBERNETES_AGENT_READINESS_H

#include "lib/driver/compute.h"
#include "lib/kubernetes/agent/topology.h"

/* True when exactly one live Pod of this Agent, revision and role is there and Ready, with no terminating
 * rival of the Agent and role. Sets seen->failure to what is wrong.
 *
 * Faults, FAULT_PENDING: REVISION_INCOMPLETE (no Pod yet, starting, a rival still ends, its probe fails),
 * REVISION_UNSCHEDULABLE, REVISION_IMAGE_UNAVAILABLE, REVISION_CRASHING (the exit's reason and status are in
 * the message and in seen->failure), REVISION_QUOTA_EXCEEDED, REVISION_POD_REJECTED (an admission refuses the
 * Pods); or the client's. */
bool kubernetes_workload_is_ready(struct kubernetes_client *client, const struct driver_call *call,
                                  const struct kubernetes_topology *topology, const char *role,
                                  struct compute_observation *seen, struct fault *fault) MUST_USE;

/* True when the gateway's Service has exactly one ready address, and it is that Pod's. FAULT_PENDING
 * REVISION_ENDPOINT_NOT_READY; or the client's. */
bool kubernetes_gateway_is_served(struct kubernetes_client *client, const struct driver_call *call,
                                  const struct kubernetes_topology *topology,
                                  struct compute_observation *seen, struct fault *fault) MUST_USE;

/* How many Pods of this Agent are still there, also terminating ones; revision NULL in `topology`: of any. */
bool kubernetes_count_pods(struct kubernetes_client *client, const struct driver_call *call,
                           const struct kubernetes_topology *topology, const char *space, const char *role,
                           size_t *count, struct fault *fault) MUST_USE;

#endif
