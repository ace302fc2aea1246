/* SPDX-License-Identifier: MIT
 *
 * Ownership. An object is a Namespace's, an Agent's or a revision's exactly when all its labels say so;
 * nothing else is ever adopted, changed or removed (K78, K113).
 */
#ifndef OCC_KUBERNETES_OBJECT_OWNER_H
#define OCC_KUBERNETES_OBJECT_OWNER_H

#include "lib/base/fault.h"
#include "lib/io/json.h"
#include "lib/kubernetes/api/resource.h"

#define KUBERNETES_LABEL_MANAGED_BY "app.kubernetes.io/managed-by" /* "openclaw-enterprise" */
#define KUBERNETES_MANAGED_BY "openclaw-enterprise"
#define KUBERNETES_LABEL_NAMESPACE "openclaw.dev/namespace" /* "ns_…" */
#define KUBERNETES_LABEL_AGENT "openclaw.dev/agent"         /* "agt_…" */
#define KUBERNETES_LABEL_REVISION "openclaw.dev/revision"   /* "rev_…" */
#define KUBERNETES_LABEL_ROLE "openclaw.dev/workload-role"  /* "gateway", "agent" */
#define KUBERNETES_LABEL_GATEWAY_NAMESPACE                                                                   \
    "openclaw.dev/gateway-namespace"                                /* "ns_…", of gateways' namespace */
#define KUBERNETES_LABEL_CONFIGURATION "openclaw.dev/configuration" /* "cfg_…" */
#define KUBERNETES_LABEL_SECRET "openclaw.dev/secret"               /* "sec_…" */
#define KUBERNETES_LABEL_NETWORK_PROFILE "openclaw.dev/network-profile"
#define KUBERNETES_NETWORK_PROFILE "broad-egress-v1"
#define KUBERNETES_ANNOTATION_NAMESPACE_ID "openclaw.dev/namespace-id"
#define KUBERNETES_ANNOTATION_LIFECYCLE "openclaw.dev/namespace-lifecycle" /* "external": may be adopted */

#define KUBERNETES_ROLE_GATEWAY "gateway"
#define KUBERNETES_ROLE_AGENT "agent"

/* Whose an object is. What is NULL the object must not be labelled with. */
struct kubernetes_owner {
    const char *namespace_id;
    const char *agent_id;
    const char *revision_id;
    const char *role;             /* of workloads and their Pods */
    const char *configuration_id; /* of a Configuration's ConfigMap */
    const char *secret_id;        /* of a Secret's Secret */
    bool gateways;                /* a gateways' namespace: a label of its own says the Namespace once more */
    bool annotated;               /* a namespace of the cluster: its annotation says the Namespace as well */
};

/* metadata.labels of `intent`, which is made where it is not there, and where it is to be annotated the
 * annotation; adds to others. */
void kubernetes_owner_mark(cJSON *intent, const struct kubernetes_owner *owner);

/* NULL when the labels of `object` are those of `owner`; else the key of the first one that is missing, says
 * something else, or is one too many. Labels that are not of the list above are anybody's and do not matter.
 */
const char *kubernetes_owner_mismatch(const cJSON *object, const struct kubernetes_owner *owner);

/* The same as a fault: FAULT_PERMANENT OWNERSHIP_CONFLICT names the object and the label. */
bool kubernetes_owner_check(const cJSON *object, const struct kubernetes_reference *reference,
                            const struct kubernetes_owner *owner, struct fault *fault) MUST_USE;

/* A label selector of what is not NULL in `owner`, with managed-by; not escaped. It also selects what is
 * labelled with more: an Agent's includes its revisions'. */
const char *kubernetes_owner_selector(const void *context, const struct kubernetes_owner *owner)
    __attribute__((returns_nonnull));

#endif
