/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/object/owner.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define LABELS 8

struct label {
    const char *key;
    const char *value; /* NULL: must not be there */
};

static void labels_of(const struct kubernetes_owner *owner, struct label labels[LABELS])
{
    const struct label all[LABELS] = {
        {KUBERNETES_LABEL_MANAGED_BY, KUBERNETES_MANAGED_BY},
        {KUBERNETES_LABEL_NAMESPACE, owner->namespace_id},
        {KUBERNETES_LABEL_AGENT, owner->agent_id},
        {KUBERNETES_LABEL_REVISION, owner->revision_id},
        {KUBERNETES_LABEL_ROLE, owner->role},
        {KUBERNETES_LABEL_CONFIGURATION, owner->configuration_id},
        {KUBERNETES_LABEL_SECRET, owner->secret_id},
        {KUBERNETES_LABEL_GATEWAY_NAMESPACE, owner->gateways ? owner->namespace_id : NULL},
    };

    memcpy(labels, all, sizeof all);
}

/* The member of that name, which is made where it is none. */
static cJSON *object_in(cJSON *object, const char *name)
{
    cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsObject(member) ? member : json_add_object(object, name);
}

void kubernetes_owner_mark(cJSON *intent, const struct kubernetes_owner *owner)
{
    cJSON *metadata = object_in(intent, "metadata");
    struct label labels[LABELS];
    size_t index;

    labels_of(owner, labels);
    for (index = 0; index < LABELS; index++)
        if (labels[index].value)
            json_add_text(object_in(metadata, "labels"), labels[index].key, labels[index].value);
    if (owner->annotated)
        json_add_text(object_in(metadata, "annotations"), KUBERNETES_ANNOTATION_NAMESPACE_ID,
                      owner->namespace_id);
}

static bool says(const cJSON *map, const char *key, const char *value)
{
    const cJSON *member = json_member(map, key);

    return value ? text_equal(cJSON_GetStringValue(member), value) : member == NULL;
}

const char *kubernetes_owner_mismatch(const cJSON *object, const struct kubernetes_owner *owner)
{
    const cJSON *metadata = json_object(object, "metadata");
    struct label labels[LABELS];
    size_t index;

    labels_of(owner, labels);
    for (index = 0; index < LABELS; index++)
        if (!says(json_object(metadata, "labels"), labels[index].key, labels[index].value))
            return labels[index].key;
    return owner->annotated && !says(json_object(metadata, "annotations"), KUBERNETES_ANNOTATION_NAMESPACE_ID,
                                     owner->namespace_id)
               ? KUBERNETES_ANNOTATION_NAMESPACE_ID
               : NULL;
}

bool kubernetes_owner_check(const cJSON *object, const struct kubernetes_reference *reference,
                            const struct kubernetes_owner *owner, struct fault *fault)
{
    const char *key = kubernetes_owner_mismatch(object, owner);
    TALLOC_CTX *scratch;

    if (!key)
        return true;
    scratch = mem_context(NULL);
    fault_set(fault, FAULT_PERMANENT, "OWNERSHIP_CONFLICT",
              "%s is there, and its %s %s is not as ours would be. It is left alone",
              kubernetes_reference_words(scratch, reference),
              text_equal(key, KUBERNETES_ANNOTATION_NAMESPACE_ID) ? "annotation" : "label", key);
    talloc_free(scratch);
    return false;
}

const char *kubernetes_owner_selector(const void *context, const struct kubernetes_owner *owner)
{
    char *selector = mem_text(context, "");
    struct label labels[LABELS];
    size_t index;

    labels_of(owner, labels);
    for (index = 0; index < LABELS; index++)
        if (labels[index].value)
            selector = mem_append(selector, "%s%s=%s", selector[0] == '\0' ? "" : ",", labels[index].key,
                                  labels[index].value);
    return selector;
}
