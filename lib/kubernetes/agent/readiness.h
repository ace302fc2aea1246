/* SPDX-License-Identifier: MIT
 *
 * Whether a revision's workload is ready, and if not, why: read off its Pods, its Deployment and, once it is
 * served, its Service's EndpointSlices.
 */
#ifndef OCC_KUBERNETES_AGENT_READINESS_H
#define OCC_KUBERNETES_AGENT_READINESS_H

#include "lib/driver/compute.h"
#include "lib/kubernetes/agent/topology.h"

/* True when exactly one live Pod of this Agent, revision and role is there and Ready, with no rival: another
 * Pod of the Agent and role that lives or still terminates. Pods that have ended (Evicted, Failed) and linger
 * are none. *pod (may be NULL) is the one. Else sets seen->failure to what is wrong: component "gateway" or
 * "harness", check "pods", "scheduling", "volume", "image", "container", "startup-probe", "readiness-probe"
 * or "admission", and a code of the reason (OOM_KILLED_137, IMAGE_PULL_BACK_OFF).
 *
 * Faults, FAULT_PENDING: REVISION_INCOMPLETE (no Pod yet, starting, a rival), REVISION_PROBE_FAILING (it runs
 * for ten seconds and longer), REVISION_UNSCHEDULABLE, REVISION_IMAGE_UNAVAILABLE, REVISION_CONTAINER_INVALID
 * (the node cannot make the container), REVISION_CRASHING (the exit's reason and status are told),
 * REVISION_QUOTA_EXCEEDED, REVISION_POD_REJECTED (an admission refuses the Pods); or the client's. Of what
 * the cluster says, the messages have the scheduler's, the quota's and the admission's words and why a
 * container cannot be made: one printable line, cut. Never a pull's, in which a registry may have put an
 * address with a signature. */
bool kubernetes_workload_is_ready(struct kubernetes_client *client, const struct driver_call *call,
                                  const struct kubernetes_topology *topology, const char *role,
                                  const cJSON **pod, struct compute_observation *seen,
                                  struct fault *fault) MUST_USE;

/* True when the ready addresses of the gateway's Service are exactly one, and it is that Pod's. FAULT_PENDING
 * REVISION_ENDPOINT_NOT_READY; or the client's. */
bool kubernetes_gateway_is_served(struct kubernetes_client *client, const struct driver_call *call,
                                  const struct kubernetes_topology *topology, const cJSON *pod,
                                  struct compute_observation *seen, struct fault *fault) MUST_USE;

/* The Pods of this Agent that are still there, also terminating ones; revision NULL in `topology`: of any. */
bool kubernetes_list_pods(struct kubernetes_client *client, const struct driver_call *call,
                          const struct kubernetes_topology *topology, const char *space, const cJSON **pods,
                          struct fault *fault) MUST_USE;

#endif
