/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/tenant/fence.h"

/* Set on every namespace by the server itself (Kubernetes, "Automatic labelling"). */
#define SPACE_NAME "kubernetes.io/metadata.name"

static const struct port {
    const char *protocol;
    int port;
} ports[] = {{"UDP", 53}, {"TCP", 53}, {"UDP", 5353}, {"TCP", 5353}};

/* ---- What a policy grants */

static cJSON *new_peer(const void *context, const struct kubernetes_peer *dns)
{
    cJSON *peer = json_new_object(context);

    json_add_text(json_add_object(json_add_object(peer, "namespaceSelector"), "matchLabels"), SPACE_NAME,
                  dns->space);
    json_add_copy(json_add_object(peer, "podSelector"), "matchLabels", dns->pod_labels);
    return peer;
}

/* A rule without peers is for all of them. */
static bool reaches(const cJSON *rule, const cJSON *peer)
{
    const cJSON *to = json_array(rule, "to");
    const cJSON *other;

    if (cJSON_GetArraySize(to) == 0)
        return true;
    cJSON_ArrayForEach(other, to)
    {
        if (cJSON_Compare(other, peer, true))
            return true;
    }
    return false;
}

/* An entry without a port is for all of its protocol (Kubernetes API, NetworkPolicyPort). */
static bool has_port(const cJSON *entry, const struct port *port)
{
    const char *protocol = json_text(entry, "protocol");
    int64_t first, last;

    if (!text_equal(protocol ? protocol : "TCP", port->protocol))
        return false;
    if (!json_member(entry, "port"))
        return true;
    if (!json_number(entry, "port", &first))
        return false; /* one by name */
    if (!json_number(entry, "endPort", &last))
        last = first;
    return first <= port->port && port->port <= last;
}

static bool opens(const cJSON *rule, const struct port *port)
{
    const cJSON *list = json_array(rule, "ports");
    const cJSON *entry;

    if (cJSON_GetArraySize(list) == 0)
        return true;
    cJSON_ArrayForEach(entry, list)
    {
        if (has_port(entry, port))
            return true;
    }
    return false;
}

static bool is_granted(const cJSON *rules, const cJSON *peer, const struct port *port)
{
    const cJSON *rule;

    cJSON_ArrayForEach(rule, rules)
    {
        if (reaches(rule, peer) && opens(rule, port))
            return true;
    }
    return false;
}

/* ---- What is added */

/* The ports of the rule that is for DNS alone, which is made where there is none: one that is for others as
 * well would open the ports to them too. */
static cJSON *ports_of_dns(cJSON *rules, const cJSON *peer)
{
    cJSON *rule;

    cJSON_ArrayForEach(rule, rules)
    {
        cJSON *list = cJSON_GetObjectItemCaseSensitive(rule, "ports");

        if (cJSON_GetArraySize(json_array(rule, "to")) == 1 && reaches(rule, peer) && cJSON_IsArray(list))
            return list;
    }
    rule = json_append_object(rules);
    json_append_copy(json_add_array(rule, "to"), peer);
    return json_add_array(rule, "ports");
}

cJSON *kubernetes_dns_rules(const void *context, const struct kubernetes_peer *dns, const cJSON *policy)
{
    const cJSON *peer = new_peer(context, dns);
    cJSON *rules = json_new_array(context);
    const cJSON *rule;
    size_t index;

    cJSON_ArrayForEach(rule, json_array(json_object(policy, "spec"), "egress"))
    {
        json_append_copy(rules, rule);
    }
    for (index = 0; index < COUNT_OF(ports); index++) {
        cJSON *entry;

        if (is_granted(rules, peer, &ports[index]))
            continue;
        entry = json_append_object(ports_of_dns(rules, peer));
        json_add_text(entry, "protocol", ports[index].protocol);
        json_add_number(entry, "port", ports[index].port);
    }
    return rules;
}

/* ---- The policy */

static cJSON *intend(const struct driver_call *call, const struct kubernetes_peer *dns,
                     const struct kubernetes_owner *owner, const cJSON *policy)
{
    const cJSON *types = json_array(json_object(policy, "spec"), "policyTypes");
    cJSON *intent = json_new_object(call->memory);
    cJSON *spec = json_add_object(intent, "spec");
    bool has_egress = false;
    cJSON *intended;
    const cJSON *type;

    kubernetes_owner_mark(intent, owner);
    (void)json_add_object(spec, "podSelector"); /* all Pods */
    intended = json_add_array(spec, "policyTypes");
    cJSON_ArrayForEach(type, types)
    {
        json_append_copy(intended, type);
        has_egress = has_egress || text_equal(cJSON_GetStringValue(type), "Egress");
    }
    if (!has_egress)
        json_append_text(intended, "Egress");
    json_add_copy(spec, "egress", kubernetes_dns_rules(call->memory, dns, policy));
    return intent;
}

static bool incomplete(const struct driver_call *call, const struct kubernetes_reference *reference,
                       struct fault *fault)
{
    return fault_set(fault, FAULT_PENDING, "NAMESPACE_INCOMPLETE", "%s does not grant all of DNS",
                     kubernetes_reference_words(call->memory, reference));
}

/* Whoever else changed it at the same time may have meant it: the next pass looks at the whole again. */
static bool raced(const struct driver_call *call, const struct kubernetes_reference *reference,
                  struct fault *fault)
{
    return fault_set(fault, FAULT_PENDING, "KUBERNETES_CONFLICT", "%s was changed by somebody else meanwhile",
                     kubernetes_reference_words(call->memory, reference));
}

bool kubernetes_dns_ensure(struct kubernetes_client *client, const struct driver_call *call,
                           const struct kubernetes_peer *dns, const struct subject_namespace *subject,
                           const char *space, struct fault *fault)
{
    static const char *const exact[] = {"spec.podSelector", NULL};
    const struct kubernetes_reference reference = {&kubernetes_network_policy, space, KUBERNETES_DNS};
    const struct kubernetes_owner owner = {.namespace_id = subject->id};
    const struct kubernetes_comparison comparison = {exact};
    struct kubernetes_wanted wanted = {
        .reference = reference, .owner = owner, .comparison = comparison, .keep = true};
    enum kubernetes_patched outcome;
    const cJSON *difference;
    const cJSON *policy;

    wanted.intent = intend(call, dns, &owner, NULL);
    if (!kubernetes_ensure(client, call, &wanted, &policy, fault))
        return false;
    difference = kubernetes_difference(call->memory, policy, intend(call, dns, &owner, policy), &comparison);
    if (!difference)
        return true;
    if (call->observe_only)
        return incomplete(call, &reference, fault);
    return kubernetes_merge(client, call, &reference, policy, difference, &outcome, &policy, fault) &&
           (outcome == KUBERNETES_PATCHED || raced(call, &reference, fault));
}
