/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

#include "lib/base/memory.h"

#define GATEWAY_API "gateway.networking.k8s.io"

/* The gateway serves at "/", wherever it is mounted: the path to it is taken away before it. A slash at a
 * PathPrefix's end means nothing, so "/agents/agt_1" is no prefix of "/agents/agt_12" (Gateway API,
 * "PathMatchType"). */
static void add_rule(const void *context, cJSON *rules, const struct kubernetes_topology *topology)
{
    cJSON *rule = json_append_object(rules), *path, *filter, *backend;

    path = json_add_object(json_append_object(json_add_array(rule, "matches")), "path");
    json_add_text(path, "type", "PathPrefix");
    json_add_text(path, "value", mem_format(context, "/agents/%s", topology->agent->id));
    filter = json_append_object(json_add_array(rule, "filters"));
    json_add_text(filter, "type", "URLRewrite");
    path = json_add_object(json_add_object(filter, "urlRewrite"), "path");
    json_add_text(path, "type", "ReplacePrefixMatch");
    json_add_text(path, "replacePrefixMatch", "/");
    backend = json_append_object(json_add_array(rule, "backendRefs"));
    json_add_text(backend, "name", kubernetes_of_agent(context, KUBERNETES_GATEWAY, topology));
    json_add_number(backend, "port", topology->settings->gateway_port);
}

struct kubernetes_wanted kubernetes_intend_route(const void *context,
                                                 const struct kubernetes_topology *topology)
{
    const struct kubernetes_settings *settings = topology->settings;
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_http_route, topology->gateway_space,
                      kubernetes_of_agent(context, KUBERNETES_GATEWAY, topology)},
        .owner = kubernetes_agent_owner(topology, NULL),
        .intent = json_new_object(context),
    };
    cJSON *spec = json_add_object(wanted.intent, "spec"), *parent;

    parent = json_append_object(json_add_array(spec, "parentRefs"));
    json_add_text(parent, "group", GATEWAY_API);
    json_add_text(parent, "kind", "Gateway");
    json_add_text(parent, "namespace", settings->routing_space);
    json_add_text(parent, "name", settings->routing_name);
    if (settings->routing_hostname)
        json_append_text(json_add_array(spec, "hostnames"), settings->routing_hostname);
    else
        json_add_text(spec, "hostnames", NULL);
    add_rule(context, json_add_array(spec, "rules"), topology);
    return wanted;
}
