/* SPDX-License-Identifier: MIT
 *
 * The names of what belongs to a Namespace, an Agent and a revision. Identifiers have an underscore, which
 * Kubernetes' names may not have, so names are made of hashes (lib/base/hash.h); whose an object is, its
 * labels say (lib/kubernetes/object/owner.h).
 */
#ifndef OCC_KUBERNETES_OBJECT_NAME_H
#define OCC_KUBERNETES_OBJECT_NAME_H

#include "lib/base/build.h"

#define KUBERNETES_NAME_SIZE 254 /* a DNS subdomain and the zero */
#define KUBERNETES_LABEL_SIZE 64 /* a DNS label and the zero */

/* "oce-" and 15 digits: where a Namespace's Harnesses run. */
void kubernetes_data_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE]);

/* "oce-<slug>-<12 digits>": what older versions named it (K116). */
void kubernetes_older_data_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE]);

/* "oce-gateways-" and 24 digits: where the gateways of its dedicated Agents run. */
void kubernetes_gateway_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE]);

/* "<what>-<24 digits>" of any identifier: "configuration-3f…". */
void kubernetes_hashed_name(const char *what, const char *id, char name[KUBERNETES_NAME_SIZE]);

/* "<what>-<h>" of an Agent's identifier, h being 12 digits: "gateway-3f…". */
void kubernetes_agent_name(const char *what, const char *agent_id, char name[KUBERNETES_NAME_SIZE]);

/* "<what>-<h>-<r>" of an Agent's and a revision's, 12 digits each: "harness-3f…-9a…". */
void kubernetes_revision_name(const char *what, const char *agent_id, const char *revision_id,
                              char name[KUBERNETES_NAME_SIZE]);

#endif
