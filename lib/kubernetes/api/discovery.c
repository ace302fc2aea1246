/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/discovery.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

/* One group's version. It is never taken out, as its name was given away. */
struct kubernetes_discovery {
    struct kubernetes_discovery *next;
    const char *name; /* "apps/v1", "v1" */
    const char *path; /* "/apis/apps/v1" */
    bool known;
    const char *resources; /* " deployments daemonsets "; NULL: not served */
};

static struct kubernetes_discovery *entry_of(struct kubernetes_client *client, const char *group,
                                             const char *version)
{
    struct kubernetes_discovery **first = kubernetes_client_discovery(client);
    struct kubernetes_discovery *entry;
    const char *name = *group == 0 ? mem_text(client, version) : mem_format(client, "%s/%s", group, version);

    for (entry = *first; entry != NULL; entry = entry->next) {
        if (text_equal(entry->name, name)) {
            talloc_free((void *)(uintptr_t)name);
            return entry;
        }
    }
    entry = mem_new(client, struct kubernetes_discovery);
    entry->name = talloc_steal(entry, name);
    entry->path = mem_format(entry, *group == 0 ? "/api/%s" : "/apis/%s", name);
    entry->next = *first;
    *first = entry;
    return entry;
}

/* Names of resources have neither spaces nor capitals; those of subresources have a slash ("pods/log"). */
static const char *names_of(const void *context, const cJSON *list)
{
    char *names = mem_text(context, " ");
    const cJSON *resource;

    cJSON_ArrayForEach(resource, json_array(list, "resources"))
    {
        const char *name = json_text(resource, "name");

        if (name != NULL)
            names = mem_append(names, "%s ", name);
    }
    return names;
}

static bool ask(struct kubernetes_client *client, const struct driver_call *call,
                struct kubernetes_discovery *entry, struct fault *fault)
{
    const struct kubernetes_request request = {
        .method = "GET",
        .path = entry->path,
        .doing = mem_format(call->memory, "asking what %s has", entry->name),
        .access = mem_format(call->memory, "get %s", entry->path),
    };
    struct kubernetes_answer answer;

    if (!kubernetes_client_send(client, call, &request, &answer, fault))
        return false;
    if (answer.meaning != KUBERNETES_DONE && answer.meaning != KUBERNETES_NO_API &&
        answer.meaning != KUBERNETES_MISSING)
        return kubernetes_answer_fault(&answer, request.doing, request.access,
                                       kubernetes_client_place(client), fault);
    if (answer.meaning == KUBERNETES_DONE &&
        (!text_equal(json_text(answer.json, "kind"), "APIResourceList") ||
         json_array(answer.json, "resources") == NULL))
        return kubernetes_answer_invalid(request.doing, kubernetes_client_place(client), "no APIResourceList",
                                         fault);
    talloc_free((void *)(uintptr_t)entry->resources);
    entry->resources = answer.meaning == KUBERNETES_DONE ? names_of(entry, answer.json) : NULL;
    entry->known = true;
    return true;
}

bool kubernetes_discovery_find(struct kubernetes_client *client, const struct driver_call *call,
                               const char *group, const char *version, const char *resource,
                               const char **served, struct fault *fault)
{
    struct kubernetes_discovery *entry = entry_of(client, group, version);

    if (!entry->known && !ask(client, call, entry, fault))
        return false;
    *served = entry->resources != NULL &&
                      strstr(entry->resources, mem_format(call->memory, " %s ", resource)) != NULL
                  ? entry->name
                  : NULL;
    return true;
}

void kubernetes_discovery_forget(struct kubernetes_client *client, const char *group, const char *version)
{
    entry_of(client, group, version)->known = false;
}
