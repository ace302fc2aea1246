/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/network.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define SECONDS_LENGTH 19 /* "2024-01-31T23:59:59" */

static bool invalid(const struct docker_engine *engine, const char *doing, const char *what,
                    struct fault *fault)
{
    return docker_answer_invalid(doing, docker_engine_socket(engine), what, fault);
}

/* Labels are absent, null, or an object of texts. */
static bool labels_are_sound(const cJSON *thing)
{
    const cJSON *labels = json_member(thing, "Labels");
    const cJSON *label;

    if (labels == NULL || cJSON_IsNull(labels))
        return true;
    if (!cJSON_IsObject(labels))
        return false;
    cJSON_ArrayForEach(label, labels) if (!cJSON_IsString(label)) return false;
    return true;
}

static bool prove(const struct docker_engine *engine, const char *name, const char *id, const cJSON *network,
                  const struct docker_owner *owner, struct fault *fault)
{
    const char *label = docker_labels_mismatch(json_object(network, "Labels"), owner);

    if (label == NULL)
        return true;
    return fault_set(
        fault, FAULT_PERMANENT, "OWNERSHIP_CONFLICT",
        "The network %s (%.12s) of the Engine at %s is not this Namespace's: its label %s is missing or "
        "says something else. It is left alone; rename or remove it",
        name, id, docker_engine_socket(engine), label);
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* Fractions are written without trailing zeros ("…:17Z", "…:17.05Z"), so the rest is compared digit by digit.
 * Times of one Engine have one zone. */
static int compare_times(const char *one, const char *other)
{
    int order = strncmp(one, other, SECONDS_LENGTH);

    if (order != 0 || strlen(one) < SECONDS_LENGTH || strlen(other) < SECONDS_LENGTH)
        return order;
    one += SECONDS_LENGTH;
    other += SECONDS_LENGTH;
    one += *one == '.';
    other += *other == '.';
    while (order == 0 && (is_digit(*one) || is_digit(*other)))
        order = (is_digit(*one) ? *one++ : '0') - (is_digit(*other) ? *other++ : '0');
    return order;
}

int docker_network_compare(const struct docker_network *one, const struct docker_network *other)
{
    const int order = compare_times(one->created, other->created);

    return order != 0 ? order : strcmp(one->id, other->id);
}

static bool read_network(const struct docker_engine *engine, const char *doing, const cJSON *entry,
                         struct docker_network *network, struct fault *fault)
{
    *network = (struct docker_network){.id = json_text(entry, "Id"), .created = json_text(entry, "Created")};
    network->driver = json_text(entry, "Driver");
    if (text_is_empty(network->id) || !text_is_printable(network->id))
        return invalid(engine, doing, "a network without an ID", fault);
    if (network->driver == NULL || !labels_are_sound(entry))
        return invalid(engine, doing, "a network without a driver or with labels that are none", fault);
    if (network->created == NULL)
        network->created = "";
    return true;
}

bool docker_network_find(struct docker_engine *engine, const struct driver_call *call, const char *name,
                         const struct docker_owner *owner, struct docker_networks *networks,
                         struct fault *fault)
{
    struct docker_networks found = {.name = name};
    cJSON *filters = json_new_object(call->memory);
    const char *doing = mem_format(call->memory, "looking for network %s", name);
    struct docker_request request = {.method = "GET", .doing = doing};
    struct docker_answer answer;
    const cJSON *entry;

    /* The filter takes part of a name (Docker) or a regular expression (Podman): exact names are picked
     * below. */
    json_append_text(json_add_array(filters, "name"), name);
    request.path = mem_format(call->memory, "/networks?filters=%s",
                              http_escape(call->memory, json_write(call->memory, filters)));
    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    if (answer.meaning != DOCKER_DONE)
        return docker_answer_fault(&answer, doing, docker_engine_socket(engine), fault);
    if (!cJSON_IsArray(answer.json))
        return invalid(engine, doing, "no list of networks", fault);
    found.ours = mem_array(call->memory, struct docker_network, (size_t)cJSON_GetArraySize(answer.json) + 1);
    cJSON_ArrayForEach(entry, answer.json)
    {
        const char *entry_name = json_text(entry, "Name");

        if (entry_name == NULL)
            return invalid(engine, doing, "a network without a name", fault);
        if (!text_equal(entry_name, name))
            continue;
        if (!read_network(engine, doing, entry, &found.ours[found.count], fault) ||
            !prove(engine, name, found.ours[found.count].id, entry, owner, fault))
            return false;
        found.count++;
    }
    *networks = found;
    return true;
}

bool docker_network_create(struct docker_engine *engine, const struct driver_call *call, const char *name,
                           const struct docker_owner *owner, bool *created, struct fault *fault)
{
    cJSON *body = json_new_object(call->memory);
    const char *doing = mem_format(call->memory, "creating network %s", name);
    struct docker_request request = {
        .method = "POST", .path = "/networks/create", .doing = doing, .slow = true};
    struct docker_answer answer;

    json_add_text(body, "Name", name);
    json_add_text(body, "Driver", "bridge");
    json_add_boolean(body, "CheckDuplicate", true); /* always so from API 1.44 on */
    docker_labels_add(json_add_object(body, "Labels"), owner);
    request.body = json_write(call->memory, body);
    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    if (answer.meaning != DOCKER_DONE && answer.meaning != DOCKER_EXISTS)
        return docker_answer_fault(&answer, doing, docker_engine_socket(engine), fault);
    *created = answer.meaning == DOCKER_DONE;
    return true;
}

static bool read_endpoints(const struct docker_engine *engine, const void *memory, const char *doing,
                           const cJSON *network, struct docker_endpoints *endpoints, struct fault *fault)
{
    const cJSON *containers = json_member(network, "Containers");
    struct docker_endpoints found = {0};
    const cJSON *entry;

    if (containers != NULL && !cJSON_IsNull(containers) && !cJSON_IsObject(containers))
        return invalid(engine, doing, "a network whose containers are no object", fault);
    found.endpoint = mem_array(memory, struct docker_endpoint, (size_t)cJSON_GetArraySize(containers) + 1);
    cJSON_ArrayForEach(entry, containers)
    {
        struct docker_endpoint *endpoint = &found.endpoint[found.count++];

        endpoint->container = entry->string;
        endpoint->name = json_text(entry, "Name");
        if (text_is_empty(endpoint->name))
            endpoint->name = endpoint->container;
    }
    *endpoints = found;
    return true;
}

bool docker_network_inspect(struct docker_engine *engine, const struct driver_call *call, const char *name,
                            const char *id, const struct docker_owner *owner, bool *there,
                            struct docker_endpoints *endpoints, struct fault *fault)
{
    const char *doing = mem_format(call->memory, "reading network %s", name);
    const struct docker_request request = {
        .method = "GET",
        .path = mem_format(call->memory, "/networks/%s", http_escape(call->memory, id)),
        .doing = doing,
    };
    struct docker_answer answer;
    struct docker_network network;

    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    if (answer.meaning == DOCKER_MISSING) {
        *endpoints = (struct docker_endpoints){0};
        *there = false;
        return true;
    }
    if (answer.meaning != DOCKER_DONE)
        return docker_answer_fault(&answer, doing, docker_engine_socket(engine), fault);
    if (!cJSON_IsObject(answer.json))
        return invalid(engine, doing, "no network", fault);
    if (!read_network(engine, doing, answer.json, &network, fault))
        return false;
    if (!text_equal(network.id, id) || !text_equal(json_text(answer.json, "Name"), name))
        return invalid(engine, doing, "another network than the one asked for", fault);
    if (!prove(engine, name, id, answer.json, owner, fault) ||
        !read_endpoints(engine, call->memory, doing, answer.json, endpoints, fault))
        return false;
    *there = true;
    return true;
}

bool docker_network_disconnect(struct docker_engine *engine, const struct driver_call *call, const char *name,
                               const char *id, const char *container, struct fault *fault)
{
    cJSON *body = json_new_object(call->memory);
    struct docker_request request = {
        .method = "POST",
        .path = mem_format(call->memory, "/networks/%s/disconnect", http_escape(call->memory, id)),
        .doing = mem_format(call->memory, "detaching container %s from network %s", container, name),
        .slow = true,
    };
    struct docker_answer answer;

    json_add_text(body, "Container", container);
    json_add_boolean(body, "Force", true);
    request.body = json_write(call->memory, body);
    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    if (answer.meaning == DOCKER_DONE || answer.meaning == DOCKER_MISSING ||
        answer.meaning == DOCKER_DISCONNECTED)
        return true;
    return docker_answer_fault(&answer, request.doing, docker_engine_socket(engine), fault);
}

bool docker_network_remove(struct docker_engine *engine, const struct driver_call *call, const char *name,
                           const char *id, bool *in_use, struct fault *fault)
{
    const struct docker_request request = {
        .method = "DELETE",
        .path = mem_format(call->memory, "/networks/%s", http_escape(call->memory, id)),
        .doing = mem_format(call->memory, "removing network %s", name),
        .slow = true,
    };
    struct docker_answer answer;

    if (!docker_engine_send(engine, call, &request, &answer, fault))
        return false;
    if (answer.meaning != DOCKER_DONE && answer.meaning != DOCKER_MISSING && answer.meaning != DOCKER_IN_USE)
        return docker_answer_fault(&answer, request.doing, docker_engine_socket(engine), fault);
    *in_use = answer.meaning == DOCKER_IN_USE;
    return true;
}
