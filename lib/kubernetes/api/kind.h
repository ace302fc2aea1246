/* SPDX-License-Identifier: MIT
 *
 * The kinds of objects that the Drivers speak of, and where a server serves them.
 *
 * The version of each group is discovered, never assumed: GET /apis/GROUP/VERSION lists the resources that
 * are served (Kubernetes API, "API discovery"); the first of a kind's versions that lists its resource is
 * taken, and asked for again when a request finds it no longer served.
 */
#ifndef OCC_KUBERNETES_API_KIND_H
#define OCC_KUBERNETES_API_KIND_H

#include "lib/kubernetes/api/client.h"

#define KUBERNETES_KIND_VERSIONS 3

struct kubernetes_kind {
    const char *kind;                               /* "NetworkPolicy" */
    const char *resource;                           /* "networkpolicies" */
    const char *group;                              /* "networking.k8s.io"; "": the core group */
    const char *versions[KUBERNETES_KIND_VERSIONS]; /* that these Drivers understand, best first */
    bool namespaced;
};

extern const struct kubernetes_kind kubernetes_namespace;
extern const struct kubernetes_kind kubernetes_resource_quota;
extern const struct kubernetes_kind kubernetes_limit_range;
extern const struct kubernetes_kind kubernetes_network_policy;
extern const struct kubernetes_kind kubernetes_service_account;
extern const struct kubernetes_kind kubernetes_config_map;
extern const struct kubernetes_kind kubernetes_secret;
extern const struct kubernetes_kind kubernetes_service;
extern const struct kubernetes_kind kubernetes_claim; /* PersistentVolumeClaim */
extern const struct kubernetes_kind kubernetes_deployment;
extern const struct kubernetes_kind kubernetes_pod;
extern const struct kubernetes_kind kubernetes_endpoint_slice; /* v1 or v1beta1 */
extern const struct kubernetes_kind kubernetes_http_route;     /* gateway.networking.k8s.io; optional */
extern const struct kubernetes_kind kubernetes_access_review;  /* SelfSubjectAccessReview */

/* The version that is served, as an object's apiVersion has it: "networking.k8s.io/v1", "v1". It lives as
 * long as the client. FAULT_PENDING KUBERNETES_API_NOT_SERVED where none of the kind's is; or the client's.
 */
bool kubernetes_kind_resolve(struct kubernetes_client *client, const struct driver_call *call,
                             const struct kubernetes_kind *kind, const char **api_version,
                             struct fault *fault) MUST_USE;

/* What was learned of the kind is asked again the next time: a request found it no longer served. */
void kubernetes_kind_forget(struct kubernetes_client *client, const struct kubernetes_kind *kind);

/* The same as a question: *served is false where none is. */
bool kubernetes_kind_is_served(struct kubernetes_client *client, const struct driver_call *call,
                               const struct kubernetes_kind *kind, bool *served,
                               struct fault *fault) MUST_USE;

#endif
