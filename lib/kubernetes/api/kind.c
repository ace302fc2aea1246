/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/kind.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/api/discovery.h"

#define CORE ""

const struct kubernetes_kind kubernetes_namespace = {"Namespace", "namespaces", CORE, {"v1"}, false};
const struct kubernetes_kind kubernetes_resource_quota = {
    "ResourceQuota", "resourcequotas", CORE, {"v1"}, true};
const struct kubernetes_kind kubernetes_limit_range = {"LimitRange", "limitranges", CORE, {"v1"}, true};
const struct kubernetes_kind kubernetes_network_policy = {
    "NetworkPolicy", "networkpolicies", "networking.k8s.io", {"v1"}, true};
const struct kubernetes_kind kubernetes_service_account = {
    "ServiceAccount", "serviceaccounts", CORE, {"v1"}, true};
const struct kubernetes_kind kubernetes_config_map = {"ConfigMap", "configmaps", CORE, {"v1"}, true};
const struct kubernetes_kind kubernetes_secret = {"Secret", "secrets", CORE, {"v1"}, true};
const struct kubernetes_kind kubernetes_service = {"Service", "services", CORE, {"v1"}, true};
const struct kubernetes_kind kubernetes_claim = {
    "PersistentVolumeClaim", "persistentvolumeclaims", CORE, {"v1"}, true};
const struct kubernetes_kind kubernetes_deployment = {"Deployment", "deployments", "apps", {"v1"}, true};
const struct kubernetes_kind kubernetes_pod = {"Pod", "pods", CORE, {"v1"}, true};
/* v1 since Kubernetes 1.21, v1beta1 until 1.24; what these Drivers read of it is the same in both. */
const struct kubernetes_kind kubernetes_endpoint_slice = {
    "EndpointSlice", "endpointslices", "discovery.k8s.io", {"v1", "v1beta1"}, true};
const struct kubernetes_kind kubernetes_http_route = {
    "HTTPRoute", "httproutes", "gateway.networking.k8s.io", {"v1", "v1beta1"}, true};
const struct kubernetes_kind kubernetes_access_review = {
    "SelfSubjectAccessReview", "selfsubjectaccessreviews", "authorization.k8s.io", {"v1"}, false};

/* The first of the kind's versions that has it; NULL where none does. What is served in no version at all is
 * asked again each time, as its definition may be installed while we run. */
static bool find(struct kubernetes_client *client, const struct driver_call *call,
                 const struct kubernetes_kind *kind, const char **served, struct fault *fault)
{
    const char *found = NULL;

    for (size_t i = 0; found == NULL && i < KUBERNETES_KIND_VERSIONS && kind->versions[i] != NULL; i++) {
        if (!kubernetes_discovery_find(client, call, kind->group, kind->versions[i], kind->resource, &found,
                                       fault))
            return false;
    }
    if (found == NULL)
        kubernetes_kind_forget(client, kind);
    *served = found;
    return true;
}

void kubernetes_kind_forget(struct kubernetes_client *client, const struct kubernetes_kind *kind)
{
    for (size_t i = 0; i < KUBERNETES_KIND_VERSIONS && kind->versions[i] != NULL; i++)
        kubernetes_discovery_forget(client, kind->group, kind->versions[i]);
}

static const char *versions_of(const void *context, const struct kubernetes_kind *kind)
{
    char *words = mem_text(context, kind->versions[0]);

    for (size_t i = 1; i < KUBERNETES_KIND_VERSIONS && kind->versions[i] != NULL; i++)
        words = mem_append(words, " or %s", kind->versions[i]);
    return words;
}

bool kubernetes_kind_resolve(struct kubernetes_client *client, const struct driver_call *call,
                             const struct kubernetes_kind *kind, const char **api_version,
                             struct fault *fault)
{
    const char *served;

    if (!find(client, call, kind, &served, fault))
        return false;
    if (served == NULL)
        return fault_set(fault, FAULT_PENDING, "KUBERNETES_API_NOT_SERVED",
                         "the API server at %s does not serve %s (%s%s%s)", kubernetes_client_place(client),
                         kind->resource, kind->group, *kind->group == 0 ? "" : "/",
                         versions_of(call->memory, kind));
    *api_version = served;
    return true;
}

bool kubernetes_kind_is_served(struct kubernetes_client *client, const struct driver_call *call,
                               const struct kubernetes_kind *kind, bool *served, struct fault *fault)
{
    const char *found;

    if (!find(client, call, kind, &found, fault))
        return false;
    *served = found != NULL;
    return true;
}
