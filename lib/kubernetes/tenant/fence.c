/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/tenant/fence.h"

#include "lib/base/memory.h"

/* All members of their specifications are ours: one rule or bound more is a hole or a wall. */
static const char *const exact[] = {"spec", NULL};

/* ---- What is wanted */

static void intend_default_deny(cJSON *spec)
{
    cJSON *types;

    (void)json_add_object(spec, "podSelector"); /* all Pods */
    types = json_add_array(spec, "policyTypes");
    json_append_text(types, "Ingress");
    json_append_text(types, "Egress");
}

/* A server gives a container's default limit as its default request where it has none (Kubernetes API,
 * LimitRangeItem); so does this, and there is no difference. */
static void intend_limits(cJSON *spec, const struct kubernetes_settings *settings)
{
    const cJSON *limits = json_object(settings->container_defaults, "limits");
    const cJSON *requests = json_object(settings->container_defaults, "requests");
    cJSON *item = json_append_object(json_add_array(spec, "limits"));
    cJSON *defaults;
    const cJSON *limit;

    json_add_text(item, "type", "Container");
    json_add_copy(item, "default", limits);
    json_add_copy(item, "defaultRequest", requests);
    defaults = cJSON_GetObjectItemCaseSensitive(item, "defaultRequest");
    cJSON_ArrayForEach(limit, limits)
    {
        if (!json_member(requests, limit->string))
            json_add_copy(defaults, limit->string, limit);
    }
}

static bool ensure_one(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_settings *settings, const struct subject_namespace *subject,
                       const struct kubernetes_reference *reference, struct fault *fault)
{
    const struct kubernetes_wanted wanted = {
        .reference = *reference,
        .owner = {.namespace_id = subject->id},
        .intent = json_new_object(call->memory),
        .comparison = {exact},
    };
    cJSON *spec = json_add_object(wanted.intent, "spec");

    if (reference->kind == &kubernetes_network_policy)
        intend_default_deny(spec);
    else if (reference->kind == &kubernetes_resource_quota)
        json_add_copy(spec, "hard", settings->quota);
    else
        intend_limits(spec, settings);
    return kubernetes_ensure(client, call, &wanted, NULL, fault);
}

bool kubernetes_fence_ensure(struct kubernetes_client *client, const struct driver_call *call,
                             const struct kubernetes_settings *settings,
                             const struct subject_namespace *subject, const char *space, struct fault *fault)
{
    const struct kubernetes_reference deny = {&kubernetes_network_policy, space, KUBERNETES_DEFAULT_DENY};
    const struct kubernetes_reference quota = {&kubernetes_resource_quota, space, KUBERNETES_QUOTA};
    const struct kubernetes_reference limits = {&kubernetes_limit_range, space, KUBERNETES_LIMITS};

    return ensure_one(client, call, settings, subject, &deny, fault) &&
           kubernetes_dns_ensure(client, call, &settings->dns, subject, space, fault) &&
           ensure_one(client, call, settings, subject, &quota, fault) &&
           ensure_one(client, call, settings, subject, &limits, fault);
}

/* ---- Away */

static bool remove_one(struct kubernetes_client *client, const struct driver_call *call,
                       const struct subject_namespace *subject, const struct kubernetes_reference *reference,
                       struct fault *fault)
{
    const struct kubernetes_owner owner = {.namespace_id = subject->id};
    bool gone;

    if (!kubernetes_remove(client, call, reference, &owner, &gone, fault))
        return false;
    if (gone)
        return true;
    return call->observe_only
               ? fault_set(fault, FAULT_PENDING, "KUBERNETES_NAMESPACE_PRESENT", "%s is still there",
                           kubernetes_reference_words(call->memory, reference))
               : fault_set(fault, FAULT_PENDING, "KUBERNETES_OBJECT_TERMINATING",
                           "%s is being deleted, and something holds it",
                           kubernetes_reference_words(call->memory, reference));
}

bool kubernetes_fence_remove(struct kubernetes_client *client, const struct driver_call *call,
                             const struct subject_namespace *subject, const char *space, struct fault *fault)
{
    const struct kubernetes_reference fence[] = {
        {&kubernetes_limit_range, space, KUBERNETES_LIMITS},
        {&kubernetes_resource_quota, space, KUBERNETES_QUOTA},
        {&kubernetes_network_policy, space, KUBERNETES_DNS},
        {&kubernetes_network_policy, space, KUBERNETES_DEFAULT_DENY},
    };
    size_t index;

    for (index = 0; index < COUNT_OF(fence); index++)
        if (!remove_one(client, call, subject, &fence[index], fault))
            return false;
    return true;
}
