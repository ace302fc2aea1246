/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/agent/intent_pod.h"

#include <arpa/inet.h>

/* Set on every namespace by the server itself (Kubernetes, "Automatic labelling"), so that nobody can give a
 * namespace the label of another one. */
#define SPACE_NAME "kubernetes.io/metadata.name"

/* The Pods of an Envoy Gateway carry whose they are (Envoy Gateway, "Gateway namespace mode"). */
#define ENVOY_OWNER_NAME "gateway.envoyproxy.io/owning-gateway-name"
#define ENVOY_OWNER_SPACE "gateway.envoyproxy.io/owning-gateway-namespace"

/* Rules say exactly what is open: one label, port or range too many opens something. */
static const char *const exact[] = {"spec", NULL};

static struct kubernetes_wanted intend_policy(const void *context, const char *space, const char *name,
                                              struct kubernetes_owner owner,
                                              const struct kubernetes_owner *pods, cJSON **spec)
{
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_network_policy, space, name},
        .owner = owner,
        .intent = json_new_object(context),
        .comparison = {exact},
    };

    *spec = json_add_object(wanted.intent, "spec");
    workload_select(json_add_object(json_add_object(*spec, "podSelector"), "matchLabels"), pods);
    return wanted;
}

static void add_port(cJSON *rule, int port)
{
    cJSON *item = json_append_object(json_add_array(rule, "ports"));

    json_add_text(item, "protocol", "TCP");
    json_add_number(item, "port", port);
}

static cJSON *add_space(cJSON *peers, const char *space)
{
    cJSON *peer = json_append_object(peers);

    json_add_text(json_add_object(json_add_object(peer, "namespaceSelector"), "matchLabels"), SPACE_NAME,
                  space);
    return peer;
}

static cJSON *add_pods(cJSON *peers, const char *space)
{
    return json_add_object(json_add_object(add_space(peers, space), "podSelector"), "matchLabels");
}

/* ---- Broad egress */

/* All addresses but private, link-local and shared ones (RFC 1918, 3927, 6598, 4193, 4291), which a cluster's
 * own services, Pods and nodes and a cloud's metadata mostly have. */
static void add_broad(cJSON *rules)
{
    static const struct {
        const char *all;
        const char *except[6];
    } families[] = {
        {"0.0.0.0/0",
         {"10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", NULL}},
        {"::/0", {"fc00::/7", "fe80::/10", NULL}},
    };
    cJSON *peers = json_add_array(json_append_object(rules), "to");
    size_t family, index;

    for (family = 0; family < COUNT_OF(families); family++) {
        cJSON *block = json_add_object(json_append_object(peers), "ipBlock");
        cJSON *except;

        json_add_text(block, "cidr", families[family].all);
        except = json_add_array(block, "except");
        for (index = 0; families[family].except[index]; index++)
            json_append_text(except, families[family].except[index]);
    }
}

static void label_broad(cJSON *intent)
{
    json_add_text(json_add_object(json_add_object(intent, "metadata"), "labels"),
                  KUBERNETES_LABEL_NETWORK_PROFILE, KUBERNETES_NETWORK_PROFILE);
}

/* ---- The gateway's own */

static void add_clients(cJSON *peers, const struct kubernetes_settings *settings)
{
    const cJSON *range;
    size_t index;

    for (index = 0; index < settings->client_count; index++) {
        cJSON *peer = add_space(peers, settings->clients[index].space);

        json_add_copy(json_add_object(peer, "podSelector"), "matchLabels",
                      settings->clients[index].pod_labels);
    }
    if (settings->routing_name) {
        cJSON *labels = add_pods(peers, settings->envoy_space);

        json_add_text(labels, ENVOY_OWNER_NAME, settings->routing_name);
        json_add_text(labels, ENVOY_OWNER_SPACE, settings->routing_space);
    }
    /* What the gateway then lets them read is its own matter; here they only get as far as its port. */
    cJSON_ArrayForEach(range, settings->plugin_status_cidrs)
    {
        json_add_text(json_add_object(json_append_object(peers), "ipBlock"), "cidr", range->valuestring);
    }
}

struct kubernetes_wanted kubernetes_intend_gateway_policy(const void *context,
                                                          const struct kubernetes_topology *topology)
{
    const struct kubernetes_owner pods = kubernetes_agent_owner(topology, KUBERNETES_ROLE_GATEWAY);
    struct kubernetes_wanted wanted;
    cJSON *peers = json_new_array(context), *spec, *types, *rule;

    wanted = intend_policy(context, topology->gateway_space,
                           kubernetes_of_agent(context, KUBERNETES_GATEWAY, topology),
                           kubernetes_agent_owner(topology, NULL), &pods, &spec);
    label_broad(wanted.intent);
    types = json_add_array(spec, "policyTypes");
    json_append_text(types, "Ingress");
    json_append_text(types, "Egress");
    add_clients(peers, topology->settings);
    /* No peers at all would mean everybody. */
    if (cJSON_GetArraySize(peers) > 0) {
        rule = json_append_object(json_add_array(spec, "ingress"));
        json_add_copy(rule, "from", peers);
        add_port(rule, topology->settings->gateway_port);
    }
    add_broad(json_add_array(spec, "egress"));
    return wanted;
}

/* ---- Between gateway and Harness */

/* The namespace of a Service's name, "NAME.SPACE.svc" and what may follow; NULL for another name. */
static const char *space_of(const void *context, const char *host)
{
    const char *space = strchr(host, '.');
    const char *end = space ? strchr(space + 1, '.') : NULL;

    if (!end || strncmp(end, ".svc", 4) != 0 || (end[4] != '\0' && end[4] != '.'))
        return NULL;
    return mem_text_part(context, space + 1, (size_t)(end - space - 1));
}

/* "host:port" of what may be a URL. */
static const char *authority_of(const void *context, const char *endpoint)
{
    const char *scheme = strstr(endpoint, "://");
    const char *begin = scheme ? scheme + 3 : endpoint;

    return mem_text_part(context, begin, strcspn(begin, "/?#"));
}

/* Where a Sandbox's Harness is: an address, or a Service. What else it may be is no place in the cluster, and
 * the gateway's own policy lets it there or not. */
static void add_endpoint(const void *context, cJSON *spec, const char *told)
{
    const char *endpoint = authority_of(context, told);
    const char *colon = strrchr(endpoint, ':');
    uint64_t port;
    char *host;
    const char *space;
    unsigned char address[16];
    cJSON *rule, *peers;
    bool six;

    if (!colon || !text_to_number(colon + 1, 65535, &port))
        return;
    six = *endpoint == '[' && colon > endpoint + 2;
    host = six ? mem_text_part(context, endpoint + 1, (size_t)(colon - endpoint - 2))
               : mem_text_part(context, endpoint, (size_t)(colon - endpoint));
    space = space_of(context, host);
    if (!space && inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1)
        return;
    rule = json_append_object(json_add_array(spec, "egress"));
    peers = json_add_array(rule, "to");
    if (space)
        (void)add_space(peers, space); /* its Pods' port is not the Service's: all of them */
    else
        json_add_text(json_add_object(json_append_object(peers), "ipBlock"), "cidr",
                      mem_format(context, "%s/%d", host, strchr(host, ':') ? 128 : 32));
    if (!space)
        add_port(rule, (int)port);
}

struct kubernetes_wanted kubernetes_intend_harness_egress(const void *context,
                                                          const struct kubernetes_topology *topology)
{
    const struct kubernetes_owner gateway = kubernetes_revision_owner(topology, KUBERNETES_ROLE_GATEWAY);
    const struct kubernetes_owner harness = kubernetes_revision_owner(topology, KUBERNETES_ROLE_AGENT);
    struct kubernetes_wanted wanted;
    cJSON *spec, *rule;

    wanted = intend_policy(context, topology->gateway_space,
                           kubernetes_of_revision(context, KUBERNETES_HARNESS, topology),
                           kubernetes_revision_owner(topology, NULL), &gateway, &spec);
    json_append_text(json_add_array(spec, "policyTypes"), "Egress");
    if (topology->harness_endpoint) {
        add_endpoint(context, spec, topology->harness_endpoint);
        return wanted;
    }
    rule = json_append_object(json_add_array(spec, "egress"));
    workload_select(add_pods(json_add_array(rule, "to"), kubernetes_harness_space(topology)), &harness);
    add_port(rule, KUBERNETES_HARNESS_PORT);
    return wanted;
}

/* Only the gateway comes in; the Harness itself calls the model, wherever that is. */
struct kubernetes_wanted kubernetes_intend_harness_ingress(const void *context,
                                                           const struct kubernetes_topology *topology)
{
    const struct kubernetes_owner gateway = kubernetes_revision_owner(topology, KUBERNETES_ROLE_GATEWAY);
    const struct kubernetes_owner harness = kubernetes_revision_owner(topology, KUBERNETES_ROLE_AGENT);
    struct kubernetes_wanted wanted;
    cJSON *spec, *types, *rule;

    wanted = intend_policy(context, kubernetes_harness_space(topology),
                           kubernetes_of_revision(context, KUBERNETES_HARNESS, topology),
                           kubernetes_revision_owner(topology, NULL), &harness, &spec);
    label_broad(wanted.intent);
    types = json_add_array(spec, "policyTypes");
    json_append_text(types, "Ingress");
    json_append_text(types, "Egress");
    rule = json_append_object(json_add_array(spec, "ingress"));
    workload_select(add_pods(json_add_array(rule, "from"), topology->gateway_space), &gateway);
    add_port(rule, KUBERNETES_HARNESS_PORT);
    add_broad(json_add_array(spec, "egress"));
    return wanted;
}
