/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent.h"

#include "lib/kubernetes/agent/intent_pod.h"

/* A selector with one label too many or too few routes elsewhere. */
static const char *const exact[] = {"spec.selector", NULL};

static cJSON *intend_spec(cJSON *intent, const char *port_name, int port,
                          const struct kubernetes_owner *selected)
{
    cJSON *spec = json_add_object(intent, "spec"), *item;

    json_add_text(spec, "type", "ClusterIP");
    item = json_append_object(json_add_array(spec, "ports"));
    json_add_text(item, "name", port_name);
    json_add_text(item, "protocol", "TCP");
    json_add_number(item, "port", port);
    json_add_number(item, "targetPort", port);
    workload_select(json_add_object(spec, "selector"), selected);
    return spec;
}

/* The revision is always in the selector, so that nothing but the activated one is ever routed to. */
struct kubernetes_wanted kubernetes_intend_gateway_service(const void *context,
                                                           const struct kubernetes_topology *topology,
                                                           const char *revision_id)
{
    struct kubernetes_owner selected = kubernetes_agent_owner(topology, KUBERNETES_ROLE_GATEWAY);
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_service, topology->gateway_space,
                      kubernetes_of_agent(context, KUBERNETES_GATEWAY, topology)},
        .owner = kubernetes_agent_owner(topology, NULL),
        .intent = json_new_object(context),
        .comparison = {exact},
    };

    selected.revision_id = revision_id;
    (void)intend_spec(wanted.intent, "gateway", topology->settings->gateway_port, &selected);
    return wanted;
}

struct kubernetes_wanted kubernetes_intend_harness_service(const void *context,
                                                           const struct kubernetes_topology *topology)
{
    const struct kubernetes_owner selected = kubernetes_revision_owner(topology, KUBERNETES_ROLE_AGENT);
    struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_service, kubernetes_harness_space(topology),
                      kubernetes_of_revision(context, KUBERNETES_HARNESS, topology)},
        .owner = kubernetes_revision_owner(topology, NULL),
        .intent = json_new_object(context),
        .comparison = {exact},
    };

    (void)intend_spec(wanted.intent, "app-server", KUBERNETES_HARNESS_PORT, &selected);
    return wanted;
}
