/* SPDX-License-Identifier: MIT
 *
 * What an API server serves: the resources of each group's version (Kubernetes API, "API discovery"), asked
 * once per client and kept until they are forgotten. Every authenticated user may ask
 * (ClusterRole system:discovery).
 */
#ifndef OCC_KUBERNETES_API_DISCOVERY_H
#define OCC_KUBERNETES_API_DISCOVERY_H

#include "lib/kubernetes/api/client.h"

/* Whether `resource` ("endpointslices") is served in a group's version; `group` "" is the core group. *served
 * is that version as an object's apiVersion has it ("discovery.k8s.io/v1"; it lives as long as the client),
 * or NULL. Faults are the client's and of kubernetes_answer_fault(). */
bool kubernetes_discovery_find(struct kubernetes_client *client, const struct driver_call *call,
                               const char *group, const char *version, const char *resource,
                               const char **served, struct fault *fault) MUST_USE;

/* It is asked again the next time. */
void kubernetes_discovery_forget(struct kubernetes_client *client, const char *group, const char *version);

#endif
