/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/tenant/spaces.h"

struct kubernetes_owner kubernetes_data_owner(const struct subject_namespace *subject)
{
    return (struct kubernetes_owner){.namespace_id = subject->id, .annotated = true};
}

struct kubernetes_owner kubernetes_gateways_owner(const struct subject_namespace *subject)
{
    return (struct kubernetes_owner){.namespace_id = subject->id, .gateways = true, .annotated = true};
}

static bool read_space(struct kubernetes_client *client, const struct driver_call *call, const char *name,
                       const cJSON **space, struct fault *fault)
{
    const struct kubernetes_reference reference = {&kubernetes_namespace, NULL, name};

    return kubernetes_get(client, call, &reference, space, fault);
}

/* ---- Managed */

/* A namespace that an administrator keeps is never taken for one that we made: it would be deleted (K113). */
static bool is_external(const cJSON *space)
{
    return kubernetes_annotation(space, KUBERNETES_ANNOTATION_LIFECYCLE) != NULL;
}

static bool is_ours(const cJSON *space, const struct subject_namespace *subject)
{
    const struct kubernetes_owner owner = kubernetes_data_owner(subject);

    return space && !kubernetes_owner_mismatch(space, &owner) && !is_external(space);
}

/* One of the marks alone says that something was, or will be, ours: nothing is done before somebody has
 * looked. */
static bool is_marked(const cJSON *space, const struct subject_namespace *subject)
{
    return text_equal(kubernetes_label(space, KUBERNETES_LABEL_NAMESPACE), subject->id) ||
           text_equal(kubernetes_annotation(space, KUBERNETES_ANNOTATION_NAMESPACE_ID), subject->id);
}

static bool foreign(const struct subject_namespace *subject, const cJSON *space, struct fault *fault)
{
    const struct kubernetes_reference reference = {&kubernetes_namespace, NULL, kubernetes_name(space)};
    const struct kubernetes_owner owner = kubernetes_data_owner(subject);

    if (!kubernetes_owner_check(space, &reference, &owner, fault))
        return false;
    return fault_set(fault, FAULT_PERMANENT, "OWNERSHIP_CONFLICT",
                     "Namespace %s has this Namespace's marks and the annotation %s, which only a namespace "
                     "that an administrator keeps has. It is left alone",
                     reference.name, KUBERNETES_ANNOTATION_LIFECYCLE);
}

/* The older name is accepted where everything says that it is ours, and never made (K116). */
static bool look_managed(struct kubernetes_client *client, const struct driver_call *call,
                         const struct subject_namespace *subject, struct kubernetes_spaces *spaces,
                         struct fault *fault)
{
    char older_name[KUBERNETES_LABEL_SIZE];
    const cJSON *newer;
    const cJSON *older;

    kubernetes_data_space(subject->id, spaces->tenant.data);
    kubernetes_older_data_space(subject->id, older_name);
    if (!read_space(client, call, spaces->tenant.data, &newer, fault) ||
        !read_space(client, call, older_name, &older, fault))
        return false;
    if (is_ours(newer, subject) && is_ours(older, subject))
        return fault_set(fault, FAULT_PERMANENT, "KUBERNETES_LAYOUT_SPLIT",
                         "Namespace %s has two namespaces of the cluster for its Harnesses: %s, as older "
                         "versions named it, and %s. Nothing is changed before one of them is removed",
                         subject->id, older_name, spaces->tenant.data);
    if (older && !is_ours(older, subject) && is_marked(older, subject))
        return foreign(subject, older, fault);
    if (newer && !is_ours(newer, subject) && (!is_ours(older, subject) || is_marked(newer, subject)))
        return foreign(subject, newer, fault);
    spaces->data = newer;
    if (is_ours(older, subject)) {
        (void)text_copy(spaces->tenant.data, sizeof spaces->tenant.data, older_name);
        spaces->data = older;
    }
    spaces->bound = spaces->data != NULL;
    return true;
}

/* ---- Both */

static bool look_adopted(struct kubernetes_client *client, const struct driver_call *call,
                         const struct subject_namespace *subject, struct kubernetes_spaces *spaces,
                         struct fault *fault)
{
    (void)text_copy(spaces->tenant.data, sizeof spaces->tenant.data, subject->existing_namespace);
    return read_space(client, call, spaces->tenant.data, &spaces->data, fault) &&
           (!spaces->data || kubernetes_adopted_is_bound(subject, spaces->data, &spaces->bound, fault));
}

bool kubernetes_spaces_look(struct kubernetes_client *client, const struct driver_call *call,
                            const struct subject_namespace *subject, struct kubernetes_spaces *spaces,
                            struct fault *fault)
{
    const struct kubernetes_owner owner = kubernetes_gateways_owner(subject);
    struct kubernetes_reference reference = {&kubernetes_namespace, NULL, spaces->tenant.gateways};

    *spaces = (struct kubernetes_spaces){.tenant = {.subject = subject}};
    kubernetes_gateway_space(subject->id, spaces->tenant.gateways);
    return (subject->existing_namespace ? look_adopted : look_managed)(client, call, subject, spaces,
                                                                       fault) &&
           read_space(client, call, reference.name, &spaces->gateways, fault) &&
           (!spaces->gateways || kubernetes_owner_check(spaces->gateways, &reference, &owner, fault));
}

bool kubernetes_spaces_are_all(struct kubernetes_client *client, const struct driver_call *call,
                               const struct kubernetes_spaces *spaces, struct fault *fault)
{
    const char *id = spaces->tenant.subject->id;
    const cJSON *marked;
    const cJSON *space;

    if (!kubernetes_list(client, call, &kubernetes_namespace, NULL,
                         mem_format(call->memory, "%s=%s", KUBERNETES_LABEL_NAMESPACE, id), &marked, fault))
        return false;
    cJSON_ArrayForEach(space, marked)
    {
        const char *name = kubernetes_name(space);

        if (!text_equal(name, spaces->tenant.data) && !text_equal(name, spaces->tenant.gateways))
            return fault_set(fault, FAULT_PERMANENT, "OWNERSHIP_CONFLICT",
                             "Namespace %s carries the label %s=%s, which only %s and %s may. Nothing is "
                             "changed before it is clear whose it is",
                             name, KUBERNETES_LABEL_NAMESPACE, id, spaces->tenant.data,
                             spaces->tenant.gateways);
    }
    return true;
}

static bool find(struct kubernetes_client *client, const struct driver_call *call,
                 const struct subject_namespace *subject, bool to_leave, struct kubernetes_tenant *tenant,
                 bool *there, struct fault *fault)
{
    struct kubernetes_spaces spaces;

    if (!kubernetes_spaces_look(client, call, subject, &spaces, fault))
        return false;
    if (subject->existing_namespace && !to_leave &&
        !kubernetes_adopted_is_released(subject, spaces.data, fault))
        return false;
    *tenant = spaces.tenant;
    *there = to_leave ? spaces.data != NULL : spaces.bound;
    return true;
}

bool kubernetes_tenant_find(struct kubernetes_client *client, const struct driver_call *call,
                            const struct subject_namespace *subject, struct kubernetes_tenant *tenant,
                            bool *there, struct fault *fault)
{
    return find(client, call, subject, false, tenant, there, fault);
}

bool kubernetes_tenant_find_to_leave(struct kubernetes_client *client, const struct driver_call *call,
                                     const struct subject_namespace *subject,
                                     struct kubernetes_tenant *tenant, bool *there, struct fault *fault)
{
    return find(client, call, subject, true, tenant, there, fault);
}
