/* SPDX-License-Identifier: MIT
 *
 * Where the parts of an Agent are, and what they are called.
 *
 * embedded: the gateway is the Harness; everything is in the data namespace.
 * dedicated: the gateway is in the gateway namespace, and the Harness, a Deployment for each revision, in the
 * data namespace. With a Sandbox Driver that provisions, the Harness is the Sandbox's.
 *
 * For the Agent as a whole, in the gateway's namespace: ServiceAccount, Service, Deployment, claim and
 * NetworkPolicy; in the data namespace of a dedicated one: ServiceAccount and claim of its Harness. For each
 * revision: its snapshot (a ConfigMap, in every namespace that mounts it), its Secrets, and dedicated the
 * Harness's Deployment, Service and the NetworkPolicies between exactly this gateway and Harness.
 */
#ifndef OCC_KUBERNETES_AGENT_TOPOLOGY_H
#define OCC_KUBERNETES_AGENT_TOPOLOGY_H

#include "lib/kubernetes/tenant/tenant.h"

#define KUBERNETES_GATEWAY "gateway" /* "-<h>": ServiceAccount, Deployment, Service, policy, route */
#define KUBERNETES_GATEWAY_STATE "gateway-state"       /* "-<h>": claim, 10Gi */
#define KUBERNETES_GATEWAY_PASSWORD "gateway-password" /* "-<h>": Secret {password} */
#define KUBERNETES_HARNESS "harness" /* "-<h>": ServiceAccount; "-<h>-<r>": Deployment, Service, policy */
#define KUBERNETES_HARNESS_STATE "harness-state" /* "-<h>": claim, 40Gi */
#define KUBERNETES_HARNESS_SECRETS                                                                           \
    "harness-secrets" /* "-<h>-<r>": Secret {model-credential, app-server-token} */
#define KUBERNETES_HARNESS_BINDINGS "harness-bindings" /* "-<h>-<r>": Secret, one entry a bound name */
#define KUBERNETES_SNAPSHOT "configuration"            /* "-<h>-<r>": ConfigMap {openclaw.json}, immutable */

#define KUBERNETES_KEY_MODEL_CREDENTIAL "model-credential"
#define KUBERNETES_KEY_APP_SERVER_TOKEN "app-server-token"
#define KUBERNETES_KEY_PASSWORD "password"
#define KUBERNETES_KEY_DOCUMENT "openclaw.json"

/* The value of a Service's selector label openclaw.dev/revision that selects nothing. */
#define KUBERNETES_REVISION_NONE "none"

struct kubernetes_topology {
    const struct kubernetes_settings *settings;
    const struct kubernetes_tenant *tenant;
    const char *installation_id;
    const struct subject_agent *agent;
    const struct subject_revision *revision; /* NULL: of the Agent as a whole */
    bool dedicated;                          /* of the revision */
    const char *gateway_space;               /* where the revision's gateway is */
    const char *harness_endpoint; /* of a Sandbox's Harness, as the Sandbox tells it; NULL: our Service's */
};

/* Of a revision, as its execution mode says. Without a Sandbox's endpoint, which is set where there is one.
 */
struct kubernetes_topology kubernetes_topology_of(const struct kubernetes_settings *settings,
                                                  const struct kubernetes_tenant *tenant,
                                                  const char *installation_id,
                                                  const struct subject_revision *revision);

/* Where its Harness is: the data namespace always. */
const char *kubernetes_harness_space(const struct kubernetes_topology *topology);

/* "<what>-<h>", and "<what>-<h>-<r>" (lib/kubernetes/object/name.h); they hang on `context`. */
const char *kubernetes_of_agent(const void *context, const char *what,
                                const struct kubernetes_topology *topology) __attribute__((returns_nonnull));
const char *kubernetes_of_revision(const void *context, const char *what,
                                   const struct kubernetes_topology *topology)
    __attribute__((returns_nonnull));

/* Whether the revision's Harness is OpenClaw itself. */
bool kubernetes_is_native(const struct kubernetes_topology *topology);

/* Whose objects are: the Agent's as a whole, and the revision's. `role` NULL: of what is no workload. The one
 * gateway Deployment is the Agent's; its Pods are the revision's. */
struct kubernetes_owner kubernetes_agent_owner(const struct kubernetes_topology *topology, const char *role);
struct kubernetes_owner kubernetes_revision_owner(const struct kubernetes_topology *topology,
                                                  const char *role);

#endif
