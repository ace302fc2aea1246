/* SPDX-License-Identifier: MIT
 *
 * Ownership. A network, container or volume is a Namespace's exactly when its labels say so; nothing else is
 * ever adopted, changed or removed (K107).
 */
#ifndef OCC_DOCKER_LABELS_H
#define OCC_DOCKER_LABELS_H

#include "lib/io/json.h"

#define DOCKER_LABEL_MANAGED "org.openclaw.enterprise.managed"                 /* "true" */
#define DOCKER_LABEL_COMPUTE_DRIVER "org.openclaw.enterprise.compute-driver"   /* "docker" */
#define DOCKER_LABEL_NAMESPACE_ID "org.openclaw.enterprise.namespace-id"       /* "ns_…" */
#define DOCKER_LABEL_INSTALLATION_ID "org.openclaw.enterprise.installation-id" /* "ins_…" */

/* Whose a labelled thing is. */
struct docker_owner {
    const char *namespace_id;
    const char *installation_id;
};

/* Adds the labels of `owner` to an object. */
void docker_labels_add(cJSON *labels, const struct docker_owner *owner);

/* NULL when the labels are those of `owner`; else the name of the first label that is missing or says
 * something else. The first three must match; the Installation's must match where it is there, as older
 * versions did not write it. `labels` may be NULL or JSON null: no labels. */
const char *docker_labels_mismatch(const cJSON *labels, const struct docker_owner *owner);

/* The value of the query parameter `filters` that asks the Engine for what carries the labels of `owner`,
 * percent-encoded. Engines differ in how they combine filters: check each answer with
 * docker_labels_mismatch(). */
const char *docker_labels_filter(const void *context, const struct docker_owner *owner)
    __attribute__((returns_nonnull));

#endif
