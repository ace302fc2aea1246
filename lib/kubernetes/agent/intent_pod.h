/* SPDX-License-Identifier: MIT
 *
 * The Deployment of a gateway or a Harness: what both have in common.
 *
 * An intent has null for what must not be there, and never false or an empty object (K119,
 * lib/kubernetes/object/difference.h).
 */
#ifndef OCC_KUBERNETES_AGENT_INTENT_POD_H
#define OCC_KUBERNETES_AGENT_INTENT_POD_H

#include "lib/kubernetes/agent/intent.h"

struct workload {
    const char *role; /* KUBERNETES_ROLE_* */
    const char *account;
    const char *claim;
    const char *image;
    const cJSON *resources;
    const cJSON *node_selector;
    const char *seccomp_profile; /* on the node; NULL: RuntimeDefault */
    const char *port_name;
    int port;
    bool harness;             /* it calls the model: gets its credential, the bound Secrets and the token */
    const cJSON *environment; /* as a container's `env` */
};

/* `spec` of a Deployment whose Pods are selected by `selected` and labelled as `labelled`; added to `intent`.
 */
void workload_intend(cJSON *intent, const struct kubernetes_topology *topology,
                     const struct workload *workload, const struct kubernetes_owner *selected,
                     const struct kubernetes_owner *labelled);

/* Labels of a selector: all that is not NULL in `owner`. */
void workload_select(cJSON *labels, const struct kubernetes_owner *owner);

/* The comparison of every Deployment. */
extern const char *const workload_exact[];

/* ---- Environment (occ-runtime-image(7)) */

/* A container's `env`: what the gateway of the revision is told, or its dedicated Harness. */
const cJSON *workload_gateway_environment(const void *context, const struct kubernetes_topology *topology);
const cJSON *workload_harness_environment(const void *context, const struct kubernetes_topology *topology);

#endif
