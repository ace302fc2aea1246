/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/tenant/tenant.h"

/* A data namespace, and whose it says it is. */
struct marked {
    const char *namespace_id;
    const char *space;
};

static int compare_owners(const void *one, const void *other)
{
    return strcmp(((const struct marked *)one)->namespace_id, ((const struct marked *)other)->namespace_id);
}

static size_t data_spaces(const cJSON *objects, struct marked *marked)
{
    const cJSON *object;
    size_t count = 0;

    cJSON_ArrayForEach(object, objects)
    {
        const char *namespace_id = kubernetes_label(object, KUBERNETES_LABEL_NAMESPACE);

        if (namespace_id && !kubernetes_label(object, KUBERNETES_LABEL_GATEWAY_NAMESPACE))
            marked[count++] = (struct marked){namespace_id, kubernetes_name(object)};
    }
    qsort(marked, count, sizeof *marked, compare_owners);
    return count;
}

/* Which of two is right only the operator of an installation that was upgraded halfway can say. */
bool kubernetes_tenant_check_layout(struct kubernetes_client *client, const struct driver_call *call,
                                    struct fault *fault)
{
    const cJSON *objects;
    struct marked *marked;
    size_t count, index;

    if (!kubernetes_list(client, call, &kubernetes_namespace, NULL, KUBERNETES_LABEL_NAMESPACE, &objects,
                         fault))
        return false;
    marked = mem_array(call->memory, struct marked, (size_t)cJSON_GetArraySize(objects) + 1);
    count = data_spaces(objects, marked);
    for (index = 1; index < count; index++)
        if (compare_owners(&marked[index - 1], &marked[index]) == 0)
            return fault_set(
                fault, FAULT_CONFIGURATION, "KUBERNETES_LAYOUT_SPLIT",
                "Namespace %.48s is split over the namespaces %.63s and %.63s of the cluster at %s: move "
                "what "
                "must stay into one, delete the other or take its label %s off. Nothing was changed",
                marked[index].namespace_id, marked[index - 1].space, marked[index].space,
                kubernetes_client_place(client), KUBERNETES_LABEL_NAMESPACE);
    return true;
}
