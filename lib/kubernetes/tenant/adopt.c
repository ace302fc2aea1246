/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/tenant/spaces.h"

static bool conflict(const cJSON *space, const char *what, const char *key, struct fault *fault)
{
    return fault_set(fault, FAULT_PERMANENT, "OWNERSHIP_CONFLICT",
                     "Namespace %s cannot be adopted: its %s %s says that it is, or was, somebody else's. It "
                     "is left alone",
                     kubernetes_name(space), what, key);
}

/* Marks are only ever written together. One alone, or another Namespace's, was not written by a pass that we
 * could finish. */
bool kubernetes_adopted_is_bound(const struct subject_namespace *subject, const cJSON *space, bool *bound,
                                 struct fault *fault)
{
    static const char *const others[] = {KUBERNETES_LABEL_GATEWAY_NAMESPACE, KUBERNETES_LABEL_AGENT,
                                         KUBERNETES_LABEL_REVISION, KUBERNETES_LABEL_ROLE};
    const char *label = kubernetes_label(space, KUBERNETES_LABEL_NAMESPACE);
    const char *annotation = kubernetes_annotation(space, KUBERNETES_ANNOTATION_NAMESPACE_ID);
    size_t index;

    for (index = 0; index < COUNT_OF(others); index++)
        if (kubernetes_label(space, others[index]))
            return conflict(space, "label", others[index], fault);
    if (!label && !annotation) {
        *bound = false;
        return true;
    }
    if (!text_equal(label, subject->id))
        return conflict(space, "label", KUBERNETES_LABEL_NAMESPACE, fault);
    if (!text_equal(annotation, subject->id))
        return conflict(space, "annotation", KUBERNETES_ANNOTATION_NAMESPACE_ID, fault);
    *bound = true;
    return true;
}

static bool not_released(const struct subject_namespace *subject, const char *why, struct fault *fault)
{
    return fault_set(fault, FAULT_PERMANENT, "KUBERNETES_NAMESPACE_NOT_RELEASED",
                     "Namespace %s is not released for adoption: %s", subject->existing_namespace, why);
}

bool kubernetes_adopted_is_released(const struct subject_namespace *subject, const cJSON *space,
                                    struct fault *fault)
{
    static const char *const modes[] = {"enforce", "audit", "warn"};
    size_t index;

    if (!space)
        return not_released(subject, "it does not exist", fault);
    if (!text_equal(kubernetes_annotation(space, KUBERNETES_ANNOTATION_LIFECYCLE),
                    KUBERNETES_LIFECYCLE_EXTERNAL))
        return not_released(subject,
                            "it has not the annotation " KUBERNETES_ANNOTATION_LIFECYCLE
                            "=" KUBERNETES_LIFECYCLE_EXTERNAL,
                            fault);
    for (index = 0; index < COUNT_OF(modes); index++) {
        char key[sizeof KUBERNETES_POD_SECURITY + sizeof "enforce"];
        char why[sizeof key + 32];

        (void)snprintf(key, sizeof key, "%s%s", KUBERNETES_POD_SECURITY, modes[index]);
        if (text_equal(kubernetes_label(space, key), KUBERNETES_POD_SECURITY_LEVEL))
            continue;
        (void)snprintf(why, sizeof why, "it has not the label %s=%s", key, KUBERNETES_POD_SECURITY_LEVEL);
        return not_released(subject, why, fault);
    }
    return true;
}

bool kubernetes_adopt(struct kubernetes_client *client, const struct driver_call *call,
                      const struct subject_namespace *subject, const cJSON *space, struct fault *fault)
{
    const struct kubernetes_reference reference = {&kubernetes_namespace, NULL, kubernetes_name(space)};
    const char *manager = kubernetes_label(space, KUBERNETES_LABEL_MANAGED_BY);
    const cJSON *owners = json_array(json_object(space, "metadata"), "ownerReferences");
    cJSON *patch = json_new_object(call->memory);
    cJSON *metadata = json_add_object(patch, "metadata");
    enum kubernetes_patched outcome;
    const cJSON *patched;

    if (manager && !text_equal(manager, KUBERNETES_MANAGED_BY))
        return conflict(space, "label", KUBERNETES_LABEL_MANAGED_BY, fault);
    if (cJSON_GetArraySize(owners) > 0)
        return conflict(space, "metadata.ownerReferences,", "a list that is not empty,", fault);
    json_add_text(json_add_object(metadata, "labels"), KUBERNETES_LABEL_NAMESPACE, subject->id);
    json_add_text(json_add_object(metadata, "annotations"), KUBERNETES_ANNOTATION_NAMESPACE_ID, subject->id);
    if (!kubernetes_merge(client, call, &reference, space, patch, &outcome, &patched, fault))
        return false;
    return outcome == KUBERNETES_PATCHED ||
           fault_set(fault, FAULT_PENDING, "KUBERNETES_CONFLICT",
                     "Namespace %s was changed while it was being adopted", reference.name);
}
