/* SPDX-License-Identifier: MIT
 *
 * The objects of an Agent as they are wanted: pure functions from settings, Agent and revision, which ask
 * nobody. Everything hangs on `context`. What the containers are promised is occ-runtime-image(7).
 *
 * Every Pod: restricted (Kubernetes, "Pod Security Standards"): runAsNonRoot, no privilege escalation, all
 * capabilities dropped, seccomp RuntimeDefault (Codex: runtime.codexSeccompProfile where given), read-only
 * root, no automounted token, requests and limits set, enableServiceLinks false.
 */
#ifndef OCC_KUBERNETES_AGENT_INTENT_H
#define OCC_KUBERNETES_AGENT_INTENT_H

#include "lib/kubernetes/agent/topology.h"

#define KUBERNETES_HARNESS_PORT 8787 /* of a dedicated Harness's app server */

/* ---- Of the Agent as a whole */

struct kubernetes_wanted kubernetes_intend_gateway_account(const void *context,
                                                           const struct kubernetes_topology *topology);
struct kubernetes_wanted kubernetes_intend_harness_account(const void *context,
                                                           const struct kubernetes_topology *topology);
struct kubernetes_wanted kubernetes_intend_gateway_claim(const void *context,
                                                         const struct kubernetes_topology *topology);
struct kubernetes_wanted kubernetes_intend_harness_claim(const void *context,
                                                         const struct kubernetes_topology *topology);
/* Who may reach the gateway, and what it may reach besides its Harness. */
struct kubernetes_wanted kubernetes_intend_gateway_policy(const void *context,
                                                          const struct kubernetes_topology *topology);
/* A ClusterIP Service that routes to the revision of the given identifier; KUBERNETES_REVISION_NONE: to none.
 */
struct kubernetes_wanted kubernetes_intend_gateway_service(const void *context,
                                                           const struct kubernetes_topology *topology,
                                                           const char *revision_id);
/* Only with gatewayRouting: /agents/<Agent id>/ of the Gateway goes to the Service. */
struct kubernetes_wanted kubernetes_intend_route(const void *context,
                                                 const struct kubernetes_topology *topology);

/* ---- Of the revision */

/* The snapshot in one namespace: the native document, byte by byte. */
struct kubernetes_wanted kubernetes_intend_snapshot(const void *context,
                                                    const struct kubernetes_topology *topology,
                                                    const char *space);
/* A Secret of Agent (`revision` false) or revision; its values are set by the caller as base64 in `data`,
 * which is copied. A caller whose Secret is made once and never repaired sets `keep`. */
struct kubernetes_wanted kubernetes_intend_secret(const void *context,
                                                  const struct kubernetes_topology *topology,
                                                  const char *space, const char *name, bool revision,
                                                  cJSON *data);
/* One replica, Recreate, its Pods labelled with Agent, revision and role. */
struct kubernetes_wanted kubernetes_intend_gateway(const void *context,
                                                   const struct kubernetes_topology *topology);
struct kubernetes_wanted kubernetes_intend_harness(const void *context,
                                                   const struct kubernetes_topology *topology);
struct kubernetes_wanted kubernetes_intend_harness_service(const void *context,
                                                           const struct kubernetes_topology *topology);
/* Between exactly this revision's gateway and Harness: in the gateway's namespace, and in the Harness's. */
struct kubernetes_wanted kubernetes_intend_harness_egress(const void *context,
                                                          const struct kubernetes_topology *topology);
struct kubernetes_wanted kubernetes_intend_harness_ingress(const void *context,
                                                           const struct kubernetes_topology *topology);

#endif
