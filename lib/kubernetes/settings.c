/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/settings.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define SESSION_CAPACITY 8 /* where the file gives none */

/* A checked text, so that what hangs on a settings object never hangs on the file's tree. */
static const char *text_at(const void *context, const struct yaml_node *node, const char *path)
{
    const char *text = yaml_text(yaml_at(node, path));

    return text_is_empty(text) ? NULL : mem_text(context, text);
}

/* The schema has bounded it; what it cannot be is read as the default. */
static int64_t number_at(const struct yaml_node *node, const char *path, int64_t otherwise)
{
    uint64_t number;
    const char *text = yaml_text(yaml_at(node, path));

    return text && text_to_number(text, INT64_MAX, &number) ? (int64_t)number : otherwise;
}

/* Maps of texts and of such maps; {} for what is not given. */
static void copy_map(cJSON *object, const struct yaml_node *node)
{
    size_t index;

    for (index = 0; node && node->kind == YAML_KIND_MAP && index < node->count; index++) {
        const char *key = node->keys[index]->text, *text = yaml_text(node->items[index]);

        if (node->items[index]->kind == YAML_KIND_MAP)
            copy_map(json_add_object(object, key), node->items[index]);
        else
            json_add_text(object, key, text ? text : ""); /* a label's value may be left out */
    }
}

static const cJSON *map_at(const void *context, const struct yaml_node *node, const char *path)
{
    cJSON *object = json_new_object(context);

    copy_map(object, yaml_at(node, path));
    return object;
}

static const cJSON *texts_at(const void *context, const struct yaml_node *node, const char *path)
{
    const struct yaml_node *list = yaml_at(node, path);
    cJSON *array = json_new_array(context);
    size_t index;

    for (index = 0; list && list->kind == YAML_KIND_LIST && index < list->count; index++)
        json_append_text(array, list->items[index]->text);
    return array;
}

static struct kubernetes_peer peer_of(const void *context, const struct yaml_node *node)
{
    return (struct kubernetes_peer){text_at(context, node, "namespace"), map_at(context, node, "podLabels")};
}

static void read_network(struct kubernetes_settings *settings, const struct yaml_node *node)
{
    const struct yaml_node *clients = yaml_at(node, "network.gatewayClients");
    struct kubernetes_peer *peers;
    size_t index;

    settings->dns = peer_of(settings, yaml_at(node, "network.dns"));
    settings->gateway_port = (int)number_at(node, "network.gatewayPort", 0);
    settings->trusted_proxy_cidrs = texts_at(settings, node, "network.gatewayTrustedProxyCidrs");
    settings->plugin_status_cidrs = texts_at(settings, node, "network.pluginStatusProxySourceCidrs");
    settings->routing_name = text_at(settings, node, "gatewayRouting.gatewayName");
    settings->routing_space = text_at(settings, node, "gatewayRouting.gatewayNamespace");
    settings->envoy_space = text_at(settings, node, "gatewayRouting.envoyNamespace");
    settings->routing_hostname = text_at(settings, node, "gatewayRouting.hostname");
    if (!clients || clients->kind != YAML_KIND_LIST)
        return;
    peers = mem_array(settings, struct kubernetes_peer, clients->count);
    for (index = 0; index < clients->count; index++)
        peers[index] = peer_of(peers, clients->items[index]);
    settings->clients = peers;
    settings->client_count = clients->count;
}

struct kubernetes_settings *kubernetes_settings_read(const void *context, const struct yaml_node *node)
{
    struct kubernetes_settings *settings = mem_new(context, struct kubernetes_settings);

    settings->authentication = kubernetes_authentication_read(settings, yaml_field(node, "authentication"),
                                                              "drivers.compute.configuration.authentication");
    settings->gateway_image = text_at(settings, node, "images.gateway");
    settings->agent_image = text_at(settings, node, "images.agent");
    settings->gateway_resources = map_at(settings, node, "resources.gateway");
    settings->agent_resources = map_at(settings, node, "resources.agent");
    settings->quota = map_at(settings, node, "resources.namespace.quota");
    settings->container_defaults = map_at(settings, node, "resources.namespace.containerDefaults");
    read_network(settings, node);
    settings->token_audience = text_at(settings, node, "servicePrincipalCredentials.audience");
    settings->token_expiration_seconds = number_at(node, "servicePrincipalCredentials.expirationSeconds", 0);
    settings->gateway_storage_class = text_at(settings, node, "runtime.gatewayStorageClassName");
    settings->transport_secret_prefix = text_at(settings, node, "runtime.transportSecretPrefix");
    settings->node_selector = map_at(settings, node, "runtime.nodeSelector");
    settings->gateway_node_selector = map_at(settings, node, "runtime.gatewayNodeSelector");
    settings->codex_seccomp_profile = text_at(settings, node, "runtime.codexSeccompProfile");
    settings->session_capacity = number_at(node, "runtime.nativeOpenClawSessionCapacity", SESSION_CAPACITY);
    return settings;
}
