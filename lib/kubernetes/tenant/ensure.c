/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/tenant/fence.h"

static void intend_pod_security(cJSON *labels)
{
    static const char *const modes[] = {"enforce", "audit", "warn"};
    size_t index;

    for (index = 0; index < COUNT_OF(modes); index++) {
        char key[64];

        (void)snprintf(key, sizeof key, "%s%s", KUBERNETES_POD_SECURITY, modes[index]);
        json_add_text(labels, key, KUBERNETES_POD_SECURITY_LEVEL);
        (void)snprintf(key, sizeof key, "%s%s-version", KUBERNETES_POD_SECURITY, modes[index]);
        json_add_text(labels, key, "latest");
    }
}

static bool ensure_space(struct kubernetes_client *client, const struct driver_call *call, const char *name,
                         struct kubernetes_owner owner, const cJSON *seen, struct fault *fault)
{
    const struct kubernetes_wanted wanted = {
        .reference = {&kubernetes_namespace, NULL, name},
        .owner = owner,
        .intent = json_new_object(call->memory),
    };

    if (seen && kubernetes_is_terminating(seen))
        return kubernetes_space_leaving(seen, fault);
    intend_pod_security(json_add_object(json_add_object(wanted.intent, "metadata"), "labels"));
    return kubernetes_ensure(client, call, &wanted, NULL, fault);
}

static bool ensure_adopted(struct kubernetes_client *client, const struct driver_call *call,
                           const struct kubernetes_spaces *spaces, struct fault *fault)
{
    const struct subject_namespace *subject = spaces->tenant.subject;

    if (!kubernetes_adopted_is_released(subject, spaces->data, fault))
        return false;
    if (kubernetes_is_terminating(spaces->data))
        return kubernetes_space_leaving(spaces->data, fault);
    if (spaces->bound)
        return true;
    if (call->observe_only)
        return fault_set(fault, FAULT_PENDING, "NAMESPACE_INCOMPLETE", "Namespace %s is not adopted yet",
                         spaces->tenant.data);
    return kubernetes_adopt(client, call, subject, spaces->data, fault);
}

/* Both namespaces come first, so that whoever gives us access to them sees both (K114); nothing is in them
 * yet that a fence would have to hold. */
bool kubernetes_tenant_ensure(struct kubernetes_client *client, const struct driver_call *call,
                              const struct kubernetes_settings *settings,
                              const struct subject_namespace *subject, struct fault *fault)
{
    struct kubernetes_spaces spaces;
    const struct kubernetes_tenant *tenant = &spaces.tenant;

    if (!kubernetes_spaces_look(client, call, subject, &spaces, fault) ||
        !kubernetes_spaces_are_all(client, call, &spaces, fault))
        return false;
    return (subject->existing_namespace ? ensure_adopted(client, call, &spaces, fault)
                                        : ensure_space(client, call, tenant->data,
                                                       kubernetes_data_owner(subject), spaces.data, fault)) &&
           ensure_space(client, call, tenant->gateways, kubernetes_gateways_owner(subject), spaces.gateways,
                        fault) &&
           kubernetes_fence_ensure(client, call, settings, subject, tenant->data, fault) &&
           kubernetes_fence_ensure(client, call, settings, subject, tenant->gateways, fault);
}
