/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/endpoint.h"

#include "lib/base/text.h"
#include "lib/kubernetes/api/resource.h"

static bool is_ready(const cJSON *endpoint)
{
    bool ready = true;

    (void)json_boolean(json_object(endpoint, "conditions"), "ready", &ready);
    return ready;
}

static bool has_address(const cJSON *pod, const char *address)
{
    const cJSON *status = json_object(pod, "status");
    const char *only = json_text(status, "podIP");
    const cJSON *each;

    if (only && text_equal(only, address))
        return true;
    cJSON_ArrayForEach(each, json_array(status, "podIPs"))
    {
        const char *one = json_text(each, "ip");

        if (one && text_equal(one, address))
            return true;
    }
    return false;
}

/* An endpoint is one Pod; its addresses are the same place (EndpointSlice, "addresses"). */
static bool is_of(const cJSON *endpoint, const cJSON *pod)
{
    const char *uid = json_text(json_object(endpoint, "targetRef"), "uid");
    const cJSON *addresses = json_array(endpoint, "addresses");
    const cJSON *first = cJSON_GetArrayItem(addresses, 0);

    return uid && text_equal(uid, kubernetes_uid(pod)) && cJSON_GetArraySize(addresses) == 1 &&
           cJSON_IsString(first) && has_address(pod, first->valuestring);
}

enum kubernetes_endpoints kubernetes_endpoints_read(const cJSON *slices, const cJSON *pod)
{
    const cJSON *slice, *endpoint;
    bool found = false;

    cJSON_ArrayForEach(slice, slices)
    {
        cJSON_ArrayForEach(endpoint, json_array(slice, "endpoints"))
        {
            if (!is_ready(endpoint))
                continue;
            if (!is_of(endpoint, pod))
                return KUBERNETES_ENDPOINTS_OTHER;
            found = true;
        }
    }
    return found ? KUBERNETES_ENDPOINTS_OURS : KUBERNETES_ENDPOINTS_NONE;
}
