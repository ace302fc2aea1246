/* SPDX-License-Identifier: MIT
 *
 * What the Pods of a workload say about it, read off objects as the API server has them (Pod of v1,
 * Deployment of apps/v1). Asks nobody.
 */
#ifndef OCC_KUBERNETES_AGENT_POD_STATE_H
#define OCC_KUBERNETES_AGENT_POD_STATE_H

#include "lib/driver/compute.h"
#include "lib/io/json.h"

struct kubernetes_pods {
    const char *component;   /* "gateway", "harness": for messages and failures */
    const char *revision_id; /* whose Pod is looked for */
    const cJSON *list;       /* of the Agent and role, of all revisions: an array of Pods */
    const cJSON *deployment; /* that makes them; NULL: there is none */
    int64_t checked_at_ms;   /* since the epoch */
};

/* Whether the workload is ready, as kubernetes_workload_is_ready() (readiness.h) tells it: *pod is the one
 * Pod then. Else *failure and the fault, which is FAULT_PENDING, tell what is wrong. */
bool kubernetes_pods_are_ready(const struct kubernetes_pods *pods, const cJSON **pod,
                               struct compute_failure *failure, struct fault *fault) MUST_USE;

/* The first that has not run to its end (Evicted, Failed, Succeeded: it lingers, and nothing of it runs), of
 * a revision (NULL: of any) or, with `others`, of all but that one; NULL: none. */
const cJSON *kubernetes_pod_of(const cJSON *list, const char *revision_id, bool others);

/* A reason as codes are written: "OOMKilled" is OOM_KILLED; "" for none. */
void kubernetes_reason_code(const char *reason, char code[FAULT_CODE_SIZE]);

#endif
