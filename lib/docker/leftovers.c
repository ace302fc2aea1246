/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/leftovers.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

static bool invalid(const struct docker_engine *engine, const char *doing, const char *what,
                    struct fault *fault)
{
    return docker_answer_invalid(doing, docker_engine_socket(engine), what, fault);
}

/* Picks from a list the values of `key` of what carries the owner's labels. */
static bool pick(const struct docker_engine *engine, const void *memory, const char *doing, const cJSON *list,
                 const char *key, const struct docker_owner *owner, const char ***picked, size_t *count,
                 struct fault *fault)
{
    const char **found = mem_array(memory, const char *, (size_t)cJSON_GetArraySize(list) + 1);
    size_t length = 0;
    const cJSON *entry;

    cJSON_ArrayForEach(entry, list)
    {
        const char *value = json_text(entry, key);

        if (!cJSON_IsObject(entry))
            return invalid(engine, doing, "an entry that is no object", fault);
        if (docker_labels_mismatch(json_object(entry, "Labels"), owner) != NULL)
            continue;
        if (text_is_empty(value) || !text_is_printable(value))
            return invalid(engine, doing, "an entry without a name", fault);
        found[length++] = value;
    }
    *picked = found;
    *count = length;
    return true;
}

static bool list(struct docker_engine *engine, const struct driver_call *call, const char *doing,
                 const char *path, struct docker_answer *answer, struct fault *fault)
{
    const struct docker_request request = {.method = "GET", .path = path, .doing = doing};

    if (!docker_engine_send(engine, call, &request, answer, fault))
        return false;
    return answer->meaning == DOCKER_DONE ||
           docker_answer_fault(answer, doing, docker_engine_socket(engine), fault);
}

bool docker_leftovers_find(struct docker_engine *engine, const struct driver_call *call,
                           const struct docker_owner *owner, struct docker_leftovers *leftovers,
                           struct fault *fault)
{
    const char *filter = docker_labels_filter(call->memory, owner);
    const char *doing;
    struct docker_leftovers found = {0};
    struct docker_answer answer;
    const cJSON *volumes;

    doing = mem_format(call->memory, "looking for containers of Namespace %s", owner->namespace_id);
    if (!list(engine, call, doing, mem_format(call->memory, "/containers/json?all=true&filters=%s", filter),
              &answer, fault))
        return false;
    if (!cJSON_IsArray(answer.json))
        return invalid(engine, doing, "no list of containers", fault);
    if (!pick(engine, call->memory, doing, answer.json, "Id", owner, &found.container, &found.containers,
              fault))
        return false;

    doing = mem_format(call->memory, "looking for volumes of Namespace %s", owner->namespace_id);
    if (!list(engine, call, doing, mem_format(call->memory, "/volumes?filters=%s", filter), &answer, fault))
        return false;
    volumes = json_member(answer.json, "Volumes"); /* null where there are none */
    if (volumes == NULL || (!cJSON_IsNull(volumes) && !cJSON_IsArray(volumes)))
        return invalid(engine, doing, "no list of volumes", fault);
    if (!pick(engine, call->memory, doing, volumes, "Name", owner, &found.volume, &found.volumes, fault))
        return false;
    *leftovers = found;
    return true;
}

bool docker_container_remove(struct docker_engine *engine, const struct driver_call *call, const char *id,
                             struct fault *fault)
{
    /* "force" kills it at once; "v" takes its anonymous volumes along. */
    const struct docker_request request = {
        .method = "DELETE",
        .path = mem_format(call->memory, "/containers/%s?force=true&v=true", http_escape(call->memory, id)),
        .doing = mem_format(call->memory, "removing container %.12s", id),
        .slow = true,
    };
    struct docker_answer answer;

    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    return answer.meaning == DOCKER_DONE || answer.meaning == DOCKER_MISSING ||
           docker_answer_fault(&answer, request.doing, docker_engine_socket(engine), fault);
}

static bool remove_volume(struct docker_engine *engine, const struct driver_call *call, const char *name,
                          struct fault *fault)
{
    const struct docker_request request = {
        .method = "DELETE",
        .path = mem_format(call->memory, "/volumes/%s", http_escape(call->memory, name)),
        .doing = mem_format(call->memory, "removing volume %s", name),
        .slow = true,
    };
    struct docker_answer answer;

    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    if (answer.meaning == DOCKER_IN_USE)
        return fault_set(fault, FAULT_PENDING, "DOCKER_VOLUME_IN_USE",
                         "%s: a container that is not this Namespace's uses it", request.doing);
    return answer.meaning == DOCKER_DONE || answer.meaning == DOCKER_MISSING ||
           docker_answer_fault(&answer, request.doing, docker_engine_socket(engine), fault);
}

bool docker_leftovers_remove(struct docker_engine *engine, const struct driver_call *call,
                             const struct docker_leftovers *leftovers, struct fault *fault)
{
    size_t index;

    for (index = 0; index < leftovers->containers; index++)
        if (!docker_container_remove(engine, call, leftovers->container[index], fault))
            return false;
    for (index = 0; index < leftovers->volumes; index++)
        if (!remove_volume(engine, call, leftovers->volume[index], fault))
            return false;
    return true;
}

bool docker_container_look(struct docker_engine *engine, const struct driver_call *call,
                           const char *container, const struct docker_owner *owner,
                           enum docker_container_owner *whose, struct fault *fault)
{
    const struct docker_request request = {
        .method = "GET",
        .path = mem_format(call->memory, "/containers/%s/json", http_escape(call->memory, container)),
        .doing = mem_format(call->memory, "reading container %s", container),
    };
    struct docker_answer answer;
    const cJSON *configuration;

    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    if (answer.meaning == DOCKER_MISSING) {
        *whose = DOCKER_CONTAINER_NONE;
        return true;
    }
    if (answer.meaning != DOCKER_DONE)
        return docker_answer_fault(&answer, request.doing, docker_engine_socket(engine), fault);
    configuration = json_object(answer.json, "Config");
    if (configuration == NULL)
        return invalid(engine, request.doing, "a container without a configuration", fault);
    *whose = docker_labels_mismatch(json_object(configuration, "Labels"), owner) == NULL
                 ? DOCKER_CONTAINER_OURS
                 : DOCKER_CONTAINER_FOREIGN;
    return true;
}
