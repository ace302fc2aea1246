/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/preflight.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/api/access.h"
#include "lib/kubernetes/driver.h"

/* The oldest that the Drivers are made for. Older ones serve what they need and are known to work as far as
 * the tests reach. */
#define VERSION_MAJOR 1
#define VERSION_MINOR 35

static bool check_version(struct kubernetes_compute *compute, const struct driver_call *call,
                          struct compute_observation *seen, struct fault *fault)
{
    unsigned major, minor;

    if (!kubernetes_version(compute->client, call, &major, &minor, fault))
        return false;
    if (major < VERSION_MAJOR || (major == VERSION_MAJOR && minor < VERSION_MINOR))
        compute_warn(seen, "KUBERNETES_VERSION_OLD",
                     "The API server at %s is Kubernetes %u.%u, older than the %d.%d that the Compute "
                     "Driver " KUBERNETES_COMPUTE_ID " is made for; it goes on",
                     kubernetes_client_place(compute->client), major, minor, VERSION_MAJOR, VERSION_MINOR);
    return true;
}

/* All that is missing is told at once, so that it can be granted at once. */
static bool check_access(struct kubernetes_compute *compute, const struct driver_call *call,
                         struct fault *fault)
{
    static const char *const verbs[] = {"get", "list", "create", "patch", "delete"};
    char *missing = mem_text(call->memory, "");
    size_t index;

    for (index = 0; index < COUNT_OF(verbs); index++) {
        const struct kubernetes_access access = {.kind = &kubernetes_namespace, .verb = verbs[index]};
        bool allowed;

        if (!kubernetes_access_ask(compute->client, call, &access, &allowed, fault))
            return false;
        if (!allowed)
            missing = mem_append(missing, "%s%s", *missing ? ", " : "", verbs[index]);
    }
    if (!*missing)
        return true;
    return fault_set(
        fault, FAULT_CONFIGURATION, "KUBERNETES_ACCESS_DENIED",
        "The API server at %s does not allow the worker what it needs in the whole cluster; what "
        "must be granted: %s %s",
        kubernetes_client_place(compute->client), missing, kubernetes_namespace.resource);
}

/* A data namespace, and whose it is. */
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

/* One Namespace in two namespaces, as an installation that was upgraded halfway has it: which of them is
 * right only its operator can say (K120). */
static bool check_layout(struct kubernetes_compute *compute, const struct driver_call *call,
                         struct fault *fault)
{
    const cJSON *objects;
    struct marked *marked;
    size_t count, index;

    if (!kubernetes_list(compute->client, call, &kubernetes_namespace, NULL, KUBERNETES_LABEL_NAMESPACE,
                         &objects, fault))
        return false;
    marked = mem_array(call->memory, struct marked, (size_t)cJSON_GetArraySize(objects) + 1);
    count = data_spaces(objects, marked);
    for (index = 1; index < count; index++)
        if (compare_owners(&marked[index - 1], &marked[index]) == 0)
            return fault_set(
                fault, FAULT_CONFIGURATION, "KUBERNETES_LAYOUT_SPLIT",
                "Namespace %.48s is split over the namespaces %.63s and %.63s of the cluster at %s: an older "
                "version began it in one and another in the other; move what must stay into one and delete "
                "the other. Nothing was changed",
                marked[index].namespace_id, marked[index - 1].space, marked[index].space,
                kubernetes_client_place(compute->client));
    return true;
}

/* Whoever installs the Gateway API later needs no restart: Agents are pending until then. */
static bool check_routing(struct kubernetes_compute *compute, const struct driver_call *call,
                          struct compute_observation *seen, struct fault *fault)
{
    bool served;

    if (!compute->settings->routing_name)
        return true;
    if (!kubernetes_kind_is_served(compute->client, call, &kubernetes_http_route, &served, fault))
        return false;
    if (!served)
        compute_warn(seen, "KUBERNETES_API_NOT_SERVED",
                     "The startup YAML has gatewayRouting, but the API server at %s serves no HTTPRoute of "
                     "%s: no Agent becomes ready before it does",
                     kubernetes_client_place(compute->client), kubernetes_http_route.group);
    return true;
}

bool kubernetes_preflight(struct kubernetes_compute *compute, const struct driver_call *call,
                          struct compute_observation *seen, struct fault *fault)
{
    *seen = (struct compute_observation){.warnings = 0};
    if (check_version(compute, call, seen, fault) && check_access(compute, call, fault) &&
        check_layout(compute, call, fault) && check_routing(compute, call, seen, fault))
        return true;
    /* The right was there a moment ago, or is one that everybody has. */
    if (fault_is(fault, "KUBERNETES_ACCESS_DENIED"))
        fault->class = FAULT_CONFIGURATION;
    return kubernetes_fault_at_start(fault);
}
