/* SPDX-License-Identifier: MIT
 *
 * drivers.compute.configuration of compute-kubernetes as the Driver uses it (occ-installation.yaml(5)). The
 * node was checked against lib/config's closed schema; nothing is checked again here.
 */
#ifndef OCC_KUBERNETES_SETTINGS_H
#define OCC_KUBERNETES_SETTINGS_H

#include "lib/io/json.h"
#include "lib/kubernetes/api/authentication.h"

/* Who may reach a gateway, or where DNS is. */
struct kubernetes_peer {
    const char *space;
    const cJSON *pod_labels; /* {"k8s-app":"kube-dns"} */
};

struct kubernetes_settings {
    const struct kubernetes_authentication *authentication;
    const char *gateway_image;
    const char *agent_image;
    /* {"requests":{"cpu":…,"memory":…},"limits":{…}}, as a container's `resources` */
    const cJSON *gateway_resources;
    const cJSON *agent_resources;
    const cJSON *quota;              /* {"pods":"10"}, a ResourceQuota's `hard` */
    const cJSON *container_defaults; /* as resources */
    struct kubernetes_peer dns;
    int gateway_port;
    const cJSON *trusted_proxy_cidrs; /* texts */
    size_t client_count;              /* 0 with routing */
    const struct kubernetes_peer *clients;
    const cJSON *plugin_status_cidrs; /* texts; empty when not given */
    const char *routing_name;         /* of the Gateway; NULL: no gatewayRouting */
    const char *routing_space;
    const char *envoy_space;
    const char *routing_hostname; /* NULL: not given */
    const char *token_audience;
    int64_t token_expiration_seconds;
    const char *gateway_storage_class;
    const char *transport_secret_prefix;
    const cJSON *node_selector; /* {} when not given */
    const cJSON *gateway_node_selector;
    const char *codex_seccomp_profile; /* NULL: RuntimeDefault */
    int64_t session_capacity;          /* runtime.nativeOpenClawSessionCapacity; 8 when not given */
};

/* Everything hangs on `context`. */
struct kubernetes_settings *kubernetes_settings_read(const void *context, const struct yaml_node *node)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
