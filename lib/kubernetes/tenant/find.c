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

static void take(struct kubernetes_spaces *spaces, const char *name, const cJSON *space)
{
    (void)text_copy(spaces->tenant.data, sizeof spaces->tenant.data, name);
    spaces->data = space;
}

/* Takes the one of the newer name, and says what there is of the older one. */
static bool read_managed(struct kubernetes_client *client, const struct driver_call *call,
                         struct kubernetes_spaces *spaces, const cJSON **older, struct fault *fault)
{
    const struct subject_namespace *subject = spaces->tenant.subject;
    char older_name[KUBERNETES_LABEL_SIZE];

    kubernetes_data_space(subject->id, spaces->tenant.data);
    kubernetes_older_data_space(subject->id, older_name);
    if (!read_space(client, call, spaces->tenant.data, &spaces->data, fault) ||
        !read_space(client, call, older_name, older, fault))
        return false;
    if (!is_ours(spaces->data, subject) || !is_ours(*older, subject))
        return true;
    return fault_set(fault, FAULT_PERMANENT, "KUBERNETES_LAYOUT_SPLIT",
                     "Namespace %s has two namespaces of the cluster for its Harnesses: %s, as older "
                     "versions named it, and %s. Nothing is changed before one of them is removed",
                     subject->id, older_name, spaces->tenant.data);
}

/* The older name is accepted where everything says that it is ours, and never made (K116). */
static bool look_managed(struct kubernetes_client *client, const struct driver_call *call,
                         struct kubernetes_spaces *spaces, struct fault *fault)
{
    const struct subject_namespace *subject = spaces->tenant.subject;
    const cJSON *newer;
    const cJSON *older;

    if (!read_managed(client, call, spaces, &older, fault))
        return false;
    newer = spaces->data;
    if (older && !is_ours(older, subject) && is_marked(older, subject))
        return foreign(subject, older, fault);
    if (newer && !is_ours(newer, subject) && (!is_ours(older, subject) || is_marked(newer, subject)))
        return foreign(subject, newer, fault);
    if (is_ours(older, subject))
        take(spaces, kubernetes_name(older), older);
    spaces->bound = spaces->data != NULL;
    return true;
}

/* ---- Both */

static bool read_adopted(struct kubernetes_client *client, const struct driver_call *call,
                         struct kubernetes_spaces *spaces, struct fault *fault)
{
    (void)text_copy(spaces->tenant.data, sizeof spaces->tenant.data,
                    spaces->tenant.subject->existing_namespace);
    return read_space(client, call, spaces->tenant.data, &spaces->data, fault);
}

static bool look_adopted(struct kubernetes_client *client, const struct driver_call *call,
                         struct kubernetes_spaces *spaces, struct fault *fault)
{
    return read_adopted(client, call, spaces, fault) &&
           (!spaces->data ||
            kubernetes_adopted_is_bound(spaces->tenant.subject, spaces->data, &spaces->bound, fault));
}

static struct kubernetes_spaces spaces_of(const struct subject_namespace *subject)
{
    struct kubernetes_spaces spaces = {.tenant = {.subject = subject}};

    kubernetes_gateway_space(subject->id, spaces.tenant.gateways);
    return spaces;
}

static enum kubernetes_space state_of(const cJSON *space)
{
    if (!space)
        return KUBERNETES_SPACE_GONE;
    return kubernetes_is_terminating(space) ? KUBERNETES_SPACE_GOING : KUBERNETES_SPACE_THERE;
}

static struct kubernetes_tenant tenant_of(const struct kubernetes_spaces *spaces)
{
    struct kubernetes_tenant tenant = spaces->tenant;

    tenant.data_state = state_of(spaces->data);
    tenant.gateways_state = state_of(spaces->gateways);
    return tenant;
}

bool kubernetes_spaces_look(struct kubernetes_client *client, const struct driver_call *call,
                            const struct subject_namespace *subject, struct kubernetes_spaces *spaces,
                            struct fault *fault)
{
    const struct kubernetes_owner owner = kubernetes_gateways_owner(subject);
    struct kubernetes_reference reference = {&kubernetes_namespace, NULL, spaces->tenant.gateways};

    *spaces = spaces_of(subject);
    return (subject->existing_namespace ? look_adopted : look_managed)(client, call, spaces, fault) &&
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

bool kubernetes_tenant_find(struct kubernetes_client *client, const struct driver_call *call,
                            const struct subject_namespace *subject, struct kubernetes_tenant *tenant,
                            bool *there, struct fault *fault)
{
    struct kubernetes_spaces spaces;

    if (!kubernetes_spaces_look(client, call, subject, &spaces, fault))
        return false;
    if (subject->existing_namespace && !kubernetes_adopted_is_released(subject, spaces.data, fault))
        return false;
    *tenant = tenant_of(&spaces);
    *there = spaces.bound;
    return true;
}

bool kubernetes_tenant_find_to_leave(struct kubernetes_client *client, const struct driver_call *call,
                                     const struct subject_namespace *subject,
                                     struct kubernetes_tenant *tenant, bool *there, struct fault *fault)
{
    struct kubernetes_spaces spaces = spaces_of(subject);
    const cJSON *older = NULL;

    if (!(subject->existing_namespace ? read_adopted(client, call, &spaces, fault)
                                      : read_managed(client, call, &spaces, &older, fault)) ||
        !read_space(client, call, spaces.tenant.gateways, &spaces.gateways, fault))
        return false;
    if (older && (!spaces.data || is_ours(older, subject)))
        take(&spaces, kubernetes_name(older), older);
    *tenant = tenant_of(&spaces);
    *there = spaces.data != NULL;
    return true;
}
