/* SPDX-License-Identifier: MIT
 *
 * One operation on an Agent or a revision under way, and the steps that operations are made of. For
 * lib/kubernetes/agent only.
 *
 * Every step looks before it writes, and writes what it finds different; a repetition after a crash at any
 * point goes on from there, and where nothing differs nothing is written (K119).
 */
#ifndef OCC_KUBERNETES_AGENT_TASK_H
#define OCC_KUBERNETES_AGENT_TASK_H

#include "lib/kubernetes/agent/intent.h"
#include "lib/kubernetes/agent/operations.h"

struct kubernetes_task {
    const struct kubernetes_compute *compute;
    const struct driver_call *call;
    const struct subject_agent *agent;
    const struct subject_revision *revision; /* NULL: the Agent as a whole */
    struct compute_observation *seen;
    struct kubernetes_tenant tenant;
    struct kubernetes_topology topology;
    const struct secret *token; /* of the transport; NULL: not read yet */
    const char *left;           /* the first that was to be removed and is still there; NULL: none */
};

/* ---- task.c */

/* Finds the tenant's namespaces, and where the revision's parts are in them. To make something both must be
 * there: FAULT_PENDING NAMESPACE_INCOMPLETE, KUBERNETES_NAMESPACE_TERMINATING. */
bool kubernetes_task_enter(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* The same to remove something, which is also done where a namespace is gone, and whatever has become of the
 * marks of one that is there. */
bool kubernetes_task_return(struct kubernetes_task *task, struct fault *fault) MUST_USE;

/* kubernetes_ensure() in this task; *live may be NULL. */
bool kubernetes_task_ensure(struct kubernetes_task *task, const struct kubernetes_wanted *wanted,
                            const cJSON **live, struct fault *fault) MUST_USE;

/* kubernetes_remove() where the object can still be there, in the namespace of its reference. One that is not
 * ours is left alone with a warning: nothing of ours is left then. One that is still on its way out is noted.
 */
bool kubernetes_task_remove(struct kubernetes_task *task, const struct kubernetes_reference *reference,
                            const struct kubernetes_owner *owner, struct fault *fault) MUST_USE;
/* All that was to be removed is gone; else FAULT_PENDING with this code, naming what is still there. */
bool kubernetes_task_is_rid(const struct kubernetes_task *task, const char *code,
                            struct fault *fault) MUST_USE;

/* Whether what is in the namespace of this name can still be removed one by one. */
bool kubernetes_task_reaches(const struct kubernetes_task *task, const char *space);

/* ---- route.c: the Service whose selector says which revision is served */

/* It is there, and leads where it led. */
bool kubernetes_route_provide(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* It leads to the task's revision, and the Agent's other one, of its other execution mode, leads nowhere.
 * Every change is made against the version that was looked at. */
bool kubernetes_route_take(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* It does not lead to the task's revision: to nothing, where it did. */
bool kubernetes_route_leave(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* With gatewayRouting: whether there can be an HTTPRoute. FAULT_PENDING KUBERNETES_API_NOT_SERVED: an
 * administrator may still install the definition, and until the deadline that is soon enough. */
bool kubernetes_route_is_possible(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* With gatewayRouting: the Agent's HTTPRoute leads to the Service, and no other one of it takes its path. */
bool kubernetes_route_publish(struct kubernetes_task *task, struct fault *fault) MUST_USE;

/* ---- credentials.c: Secrets */

/* What gateway and Harness authenticate with to each other. It is made before anything else of the Agent;
 * where something of it is there already and this is not: FAULT_PERMANENT
 * KUBERNETES_TRANSPORT_SECRET_MISSING. */
bool kubernetes_provide_transport(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* After it, the revision's: the one model credential and what its Configuration binds, read through the
 * call's Secret Driver. FAULT_PERMANENT HARNESS_AUTH_SOURCE_UNAVAILABLE, SECRET_SOURCE_UNAVAILABLE. */
bool kubernetes_provide_secrets(struct kubernetes_task *task, struct fault *fault) MUST_USE;

/* ---- sandbox.c */

/* Whether the selected Sandbox Driver surrounds the task's revision and provides the Harness itself. */
bool kubernetes_sandbox_provisions(const struct kubernetes_task *task);
/* Whether this worker's Sandbox Driver, or the want of one, fits the revision. FAULT_PERMANENT
 * SANDBOX_DRIVER_MISMATCH, HARNESS_UNSUPPORTED. */
bool kubernetes_sandbox_fits(const struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* Before anything of the revision is made. */
bool kubernetes_sandbox_configure(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* The Harness, in place of ours; the topology knows its endpoint then. */
bool kubernetes_sandbox_provision(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* Nothing of the revision, or of the Agent where the task has none, is left in it. */
bool kubernetes_sandbox_cleanup(struct kubernetes_task *task, struct fault *fault) MUST_USE;

/* ---- workload.c: Deployments */

struct kubernetes_reference kubernetes_gateway_reference(const struct kubernetes_task *task);
/* The gateway's Deployment as it is (NULL: none), be it ours or not, and whose revision its Pods are ("":
 * nobody's). */
bool kubernetes_gateway_find(struct kubernetes_task *task, const cJSON **deployment, const char **revision_id,
                             struct fault *fault) MUST_USE;
/* The Harness of a dedicated revision with its Service and policies. FAULT_PENDING REVISION_INCOMPLETE while
 * another revision's Harness runs: both would write to one claim. */
bool kubernetes_provide_harness(struct kubernetes_task *task, struct fault *fault) MUST_USE;
bool kubernetes_provide_gateway(struct kubernetes_task *task, struct fault *fault) MUST_USE;
/* Both, or the one of an embedded revision, are ready; *pod is the gateway's. */
bool kubernetes_revision_is_ready(struct kubernetes_task *task, const cJSON **pod,
                                  struct fault *fault) MUST_USE;
/* No Pod of the revision, or of the Agent, is left. FAULT_PENDING REVISION_STOPPING. */
bool kubernetes_no_pod_is_left(struct kubernetes_task *task, struct fault *fault) MUST_USE;

/* ---- The operations themselves: prepare.c, activate.c, stop.c, retire.c */

bool kubernetes_do_prepare(struct kubernetes_task *task, struct fault *fault) MUST_USE;
bool kubernetes_do_activate(struct kubernetes_task *task, struct fault *fault) MUST_USE;
bool kubernetes_do_deactivate(struct kubernetes_task *task, struct fault *fault) MUST_USE;
bool kubernetes_do_stop(struct kubernetes_task *task, struct fault *fault) MUST_USE;
bool kubernetes_do_retire(struct kubernetes_task *task, struct fault *fault) MUST_USE;
bool kubernetes_do_delete(struct kubernetes_task *task, struct fault *fault) MUST_USE;

#endif
