/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/readiness.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/agent/endpoint.h"
#include "lib/kubernetes/agent/pod_state.h"

/* Which Service a slice is of, says this label (Kubernetes, "EndpointSlices", management). */
#define LABEL_SERVICE "kubernetes.io/service-name"

static bool list_pods(struct kubernetes_client *client, const struct driver_call *call, const char *space,
                      const struct kubernetes_owner *owner, const cJSON **pods, struct fault *fault)
{
    return kubernetes_list(client, call, &kubernetes_pod, space,
                           kubernetes_owner_selector(call->memory, owner), pods, fault);
}

/* Only where there is no Pod that could say itself what is wrong. */
static bool get_deployment(struct kubernetes_client *client, const struct driver_call *call,
                           const struct kubernetes_topology *topology, const char *space, bool gateway,
                           const cJSON **deployment, struct fault *fault)
{
    char name[KUBERNETES_NAME_SIZE];
    const struct kubernetes_reference reference = {&kubernetes_deployment, space, name};

    if (gateway)
        kubernetes_agent_name(KUBERNETES_GATEWAY, topology->agent->id, name);
    else
        kubernetes_revision_name(KUBERNETES_HARNESS, topology->agent->id, topology->revision->id, name);
    return kubernetes_get(client, call, &reference, deployment, fault);
}

bool kubernetes_workload_is_ready(struct kubernetes_client *client, const struct driver_call *call,
                                  const struct kubernetes_topology *topology, const char *role,
                                  const cJSON **pod, struct compute_observation *seen, struct fault *fault)
{
    const bool gateway = text_equal(role, KUBERNETES_ROLE_GATEWAY);
    const char *space = gateway ? topology->gateway_space : topology->tenant->data;
    const struct kubernetes_owner owner = kubernetes_agent_owner(topology, role);
    struct kubernetes_pods pods = {.component = gateway ? "gateway" : "harness",
                                   .revision_id = topology->revision->id,
                                   .checked_at_ms = clock_epoch_ms()};
    const cJSON *found;

    if (!list_pods(client, call, space, &owner, &pods.list, fault))
        return false;
    if (!kubernetes_pod_of(pods.list, NULL, false) &&
        !get_deployment(client, call, topology, space, gateway, &pods.deployment, fault))
        return false;
    if (!kubernetes_pods_are_ready(&pods, &found, &seen->failure, fault))
        return false;
    if (pod)
        *pod = found;
    return true;
}

bool kubernetes_gateway_is_served(struct kubernetes_client *client, const struct driver_call *call,
                                  const struct kubernetes_topology *topology, const cJSON *pod,
                                  struct compute_observation *seen, struct fault *fault)
{
    char name[KUBERNETES_NAME_SIZE];
    enum kubernetes_endpoints found;
    const cJSON *slices;

    kubernetes_agent_name(KUBERNETES_GATEWAY, topology->agent->id, name);
    if (!kubernetes_list(client, call, &kubernetes_endpoint_slice, topology->gateway_space,
                         mem_format(call->memory, LABEL_SERVICE "=%s", name), &slices, fault))
        return false;
    found = kubernetes_endpoints_read(slices, pod);
    if (found == KUBERNETES_ENDPOINTS_OURS)
        return true;
    (void)text_copy(seen->failure.component, sizeof seen->failure.component, "gateway");
    (void)text_copy(seen->failure.check, sizeof seen->failure.check, "endpoint-slice");
    (void)text_copy(seen->failure.code, sizeof seen->failure.code,
                    found == KUBERNETES_ENDPOINTS_NONE ? "NO_ADDRESS" : "OTHER_ADDRESS");
    seen->failure.checked_at_ms = clock_epoch_ms();
    return fault_set(fault, FAULT_PENDING, "REVISION_ENDPOINT_NOT_READY", "The Service %s/%s has %s",
                     topology->gateway_space, name,
                     found == KUBERNETES_ENDPOINTS_NONE ? "no ready address yet"
                                                        : "an address besides the gateway Pod's");
}

bool kubernetes_list_pods(struct kubernetes_client *client, const struct driver_call *call,
                          const struct kubernetes_topology *topology, const char *space, const cJSON **pods,
                          struct fault *fault)
{
    struct kubernetes_owner owner = kubernetes_agent_owner(topology, NULL);

    owner.revision_id = topology->revision ? topology->revision->id : NULL;
    return list_pods(client, call, space, &owner, pods, fault);
}
