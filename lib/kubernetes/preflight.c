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

bool kubernetes_preflight(void *self, const struct driver_call *call, struct compute_observation *seen,
                          struct fault *fault)
{
    struct kubernetes_compute *compute = self;

    *seen = (struct compute_observation){.warnings = 0};
    if (check_version(compute, call, seen, fault) && check_access(compute, call, fault) &&
        kubernetes_tenant_check_layout(compute->client, call, fault) &&
        check_routing(compute, call, seen, fault))
        return true;
    /* The right was there a moment ago, or is one that everybody has. */
    if (fault_is(fault, "KUBERNETES_ACCESS_DENIED"))
        fault->class = FAULT_CONFIGURATION;
    return kubernetes_fault_at_start(fault);
}
