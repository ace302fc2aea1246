/* SPDX-License-Identifier: MIT
 *
 * The names of what belongs to a Namespace, an Agent and a revision. Identifiers have an underscore, which
 * Kubernetes' names may not have, so names are made of hashes; whose an object is, its labels say
 * (lib/kubernetes/object/owner.h).
 */
#ifndef OCC_KUBERNETES_OBJECT_NAME_H
#define OCC_KUBERNETES_OBJECT_NAME_H

#include "lib/base/build.h"

#define KUBERNETES_NAME_SIZE 254 /* a DNS subdomain and the zero */
#define KUBERNETES_LABEL_SIZE 64 /* a DNS label and the zero */
#define KUBERNETES_HASH_SIZE 13  /* 12 digits and the zero */

/* The first `digits` hexadecimal digits of the SHA-256 of a text; `hash` has room for them and a zero. */
void kubernetes_hash(const char *text, size_t digits, char *hash);

/* "oce-" and 15 digits: where a Namespace's Harnesses run. */
void kubernetes_data_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE]);

/* "oce-<slug>-<12 digits>": what older versions named it (K116). */
void kubernetes_older_data_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE]);

/* "oce-gateways-" and 24 digits: where the gateways of its dedicated Agents run. */
void kubernetes_gateway_space(const char *namespace_id, char space[KUBERNETES_LABEL_SIZE]);

/* "<what>-<h>" of an Agent's identifier: "gateway-3f…". */
void kubernetes_agent_name(const char *what, const char *agent_id, char name[KUBERNETES_NAME_SIZE]);

/* "<what>-<h>-<r>" of an Agent's and a revision's: "harness-3f…-9a…". */
void kubernetes_revision_name(const char *what, const char *agent_id, const char *revision_id,
                              char name[KUBERNETES_NAME_SIZE]);

#endif
