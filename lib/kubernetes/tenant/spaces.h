/* SPDX-License-Identifier: MIT
 *
 * What the cluster has of a Namespace's two namespaces, read afresh, and whose they are.
 */
#ifndef OCC_KUBERNETES_TENANT_SPACES_H
#define OCC_KUBERNETES_TENANT_SPACES_H

#include "lib/kubernetes/tenant/tenant.h"

#define KUBERNETES_LIFECYCLE_EXTERNAL "external"
#define KUBERNETES_POD_SECURITY "pod-security.kubernetes.io/" /* enforce, audit, warn; …-version */
#define KUBERNETES_POD_SECURITY_LEVEL "restricted"

struct kubernetes_spaces {
    struct kubernetes_tenant tenant;
    const cJSON *data;     /* NULL: not there. An adopted one may be anybody's, see `bound` */
    bool bound;            /* it carries this Namespace's marks */
    const cJSON *gateways; /* NULL: not there */
};

/* Reads them. Faults: FAULT_PERMANENT OWNERSHIP_CONFLICT, KUBERNETES_LAYOUT_SPLIT; or the client's. */
bool kubernetes_spaces_look(struct kubernetes_client *client, const struct driver_call *call,
                            const struct subject_namespace *subject, struct kubernetes_spaces *spaces,
                            struct fault *fault) MUST_USE;

/* Whether no other namespace of the cluster carries this Namespace's label (K113); else FAULT_PERMANENT
 * OWNERSHIP_CONFLICT. */
bool kubernetes_spaces_are_all(struct kubernetes_client *client, const struct driver_call *call,
                               const struct kubernetes_spaces *spaces, struct fault *fault) MUST_USE;

/* Whose the two are, where we made them. */
struct kubernetes_owner kubernetes_data_owner(const struct subject_namespace *subject);
struct kubernetes_owner kubernetes_gateways_owner(const struct subject_namespace *subject);

/* ---- adopt.c */

/* *bound: an adopted namespace carries this Namespace's marks, label and annotation; false: it carries none.
 * OWNERSHIP_CONFLICT for anything else. */
bool kubernetes_adopted_is_bound(const struct subject_namespace *subject, const cJSON *space, bool *bound,
                                 struct fault *fault) MUST_USE;

/* Whether it is released to us; `space` NULL: it does not exist. FAULT_PERMANENT
 * KUBERNETES_NAMESPACE_NOT_RELEASED tells what is missing. */
bool kubernetes_adopted_is_released(const struct subject_namespace *subject, const cJSON *space,
                                    struct fault *fault) MUST_USE;

/* Binds it: it is released, and nobody else's. FAULT_PENDING KUBERNETES_CONFLICT where it changed since it
 * was read: the next pass judges it afresh. */
bool kubernetes_adopt(struct kubernetes_client *client, const struct driver_call *call,
                      const struct subject_namespace *subject, const cJSON *space,
                      struct fault *fault) MUST_USE;

/* ---- leaving.c */

/* FAULT_PENDING KUBERNETES_NAMESPACE_TERMINATING for a namespace that is on its way out, with what holds it;
 * returns false. */
bool kubernetes_space_leaving(const cJSON *space, struct fault *fault);

#endif
