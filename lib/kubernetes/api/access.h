/* SPDX-License-Identifier: MIT
 *
 * Asking the API server what we may do (SelfSubjectAccessReview, authorization.k8s.io), and which version it
 * has (/version). Neither changes anything.
 */
#ifndef OCC_KUBERNETES_API_ACCESS_H
#define OCC_KUBERNETES_API_ACCESS_H

#include "lib/kubernetes/api/resource.h"

struct kubernetes_access {
    const struct kubernetes_kind *kind;
    const char *verb;  /* "create" */
    const char *space; /* NULL: in all namespaces, or a kind without */
};

/* *allowed as the server says. */
bool kubernetes_access_ask(struct kubernetes_client *client, const struct driver_call *call,
                           const struct kubernetes_access *access, bool *allowed,
                           struct fault *fault) MUST_USE;

/* Major and minor of the server ("1", "35+" is 35). */
bool kubernetes_version(struct kubernetes_client *client, const struct driver_call *call, unsigned *major,
                        unsigned *minor, struct fault *fault) MUST_USE;

#endif
