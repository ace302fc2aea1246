/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/answer.h"

#include "lib/base/text.h"

#include <ctype.h>

/* Engines' messages are short; what lies beyond this says nothing more about the kind of error. */
#define MESSAGE_SIZE 1024

struct pattern {
    enum docker_meaning meaning;
    const char *has;  /* lower case */
    const char *also; /* or NULL */
};

/* In order: the first that fits counts. A network's name is part of most texts, but ours (oce-…) holds none
 * of these words. */
static const struct pattern patterns[] = {
    {DOCKER_VERSION, "client version", "too old"},
    {DOCKER_VERSION, "client version", "too new"},
    /* Docker: libnetwork's address management, oldest first. */
    {DOCKER_POOL_EXHAUSTED, "could not find an available predefined network", NULL},
    {DOCKER_POOL_EXHAUSTED, "available, non-overlapping", NULL},
    {DOCKER_POOL_EXHAUSTED, "fully subnetted", NULL},
    {DOCKER_POOL_EXHAUSTED, "pool overlaps", NULL},
    {DOCKER_POOL_EXHAUSTED, "conflicts with network", "overlapping ip"},
    /* Podman: its own, CNI's and netavark's. */
    {DOCKER_POOL_EXHAUSTED, "free subnet", NULL},
    {DOCKER_POOL_EXHAUSTED, "subnet", "already used on the host"},
    {DOCKER_POOL_EXHAUSTED, "subnet", "is already used by"},
    {DOCKER_IN_USE, "active endpoints", NULL},
    {DOCKER_IN_USE, "is being used", NULL},
    {DOCKER_IN_USE, "volume is in use", NULL},
    {DOCKER_IN_USE, "associated containers", NULL},
    {DOCKER_GOING, "already in progress", NULL},
    {DOCKER_DISCONNECTED, "is not connected to", NULL},
    {DOCKER_EXISTS, "network with name", "already exists"},
    {DOCKER_EXISTS, "network already exists", NULL},
    {DOCKER_EXISTS, "network name", "already used"},
    {DOCKER_DENIED, "authorization denied", NULL},
    /* Only about the kinds of thing that we name, and only as 404: "page not found" is a missing route,
     * "plugin … not found" a missing network driver, and a 500 about a network may miss anything of it. */
    {DOCKER_FAILED, "plugin", "not found"},
    {DOCKER_MISSING, "no such network", NULL},
    {DOCKER_MISSING, "no such container", NULL},
    {DOCKER_MISSING, "no such volume", NULL},
    {DOCKER_MISSING, "no container with name or id", NULL},
    {DOCKER_MISSING, "no volume with name", NULL},
    {DOCKER_MISSING, "network", "not found"},
    {DOCKER_MISSING, "endpoint", "not found"},
};

static enum docker_meaning meaning_of_text(const char *message)
{
    char text[MESSAGE_SIZE];
    size_t index;

    (void)text_copy(text, sizeof text, message);
    for (index = 0; text[index] != 0; index++)
        text[index] = (char)tolower((unsigned char)text[index]);
    for (index = 0; index < COUNT_OF(patterns); index++) {
        const struct pattern *pattern = &patterns[index];

        if (strstr(text, pattern->has) != NULL &&
            (pattern->also == NULL || strstr(text, pattern->also) != NULL))
            return pattern->meaning;
    }
    return DOCKER_NONSENSE;
}

static enum docker_meaning meaning_of_error(int status, const cJSON *json)
{
    const char *message = json_text(json, "message");
    enum docker_meaning meaning = message == NULL ? DOCKER_NONSENSE : meaning_of_text(message);

    if (meaning == DOCKER_MISSING && status != 404)
        meaning = DOCKER_NONSENSE;
    if (meaning != DOCKER_NONSENSE)
        return meaning;
    if (status == 429 || status == 503)
        return DOCKER_BUSY;
    if (status >= 500)
        return DOCKER_FAILED;
    if (message == NULL)
        return DOCKER_NONSENSE;
    switch (status) {
    case 400:
    case 422:
        return DOCKER_REJECTED;
    case 401:
    case 403:
        return DOCKER_DENIED;
    case 409:
        return DOCKER_EXISTS; /* something was in the way: look again */
    default:
        return DOCKER_FAILED;
    }
}

static bool only_space(const struct http_response *response)
{
    size_t index;

    for (index = 0; index < response->body_length; index++)
        if (!isspace((unsigned char)response->body[index]))
            return false;
    return true;
}

void docker_answer_read(const void *context, const struct http_response *response,
                        struct docker_answer *answer)
{
    const cJSON *json = json_read(context, response->body, response->body_length);

    *answer = (struct docker_answer){.status = response->status, .json = json};
    answer->retry_after_ms = response->retry_after_ms;
    if (response->status >= 400)
        answer->meaning = meaning_of_error(response->status, json);
    else if (response->status < 200 || response->status >= 300)
        answer->meaning = DOCKER_NONSENSE;
    else
        answer->meaning = json != NULL || only_space(response) ? DOCKER_DONE : DOCKER_NONSENSE;
}

bool docker_answer_invalid(const char *doing, const char *socket_path, const char *what, struct fault *fault)
{
    (void)fault_set(fault, FAULT_RETRYABLE, "DOCKER_ANSWER_INVALID",
                    "%s: what listens at %s answered, but not as a Docker Engine does: %s", doing,
                    socket_path, what);
    return fault_depends(fault, "docker", "unavailable");
}

bool docker_answer_fault(const struct docker_answer *answer, const char *doing, const char *socket_path,
                         struct fault *fault)
{
    char what[64];

    switch (answer->meaning) {
    case DOCKER_IN_USE:
        return fault_set(fault, FAULT_PENDING, "DOCKER_RESOURCE_IN_USE",
                         "%s: it is still in use, says the Engine at %s", doing, socket_path);
    case DOCKER_GOING:
        return fault_set(fault, FAULT_PENDING, "DOCKER_REMOVAL_IN_PROGRESS",
                         "%s: the Engine at %s is still removing it", doing, socket_path);
    case DOCKER_POOL_EXHAUSTED:
        return fault_set(
            fault, FAULT_RETRYABLE, "DOCKER_ADDRESS_POOL_EXHAUSTED",
            "%s: the Engine at %s has no free subnet in its address pools; remove unused networks or "
            "give it more or larger pools (\"default-address-pools\", \"default_subnet_pools\")",
            doing, socket_path);
    case DOCKER_VERSION:
        return fault_set(fault, FAULT_RETRYABLE, "DOCKER_API_UNSUPPORTED",
                         "%s: the Engine at %s accepts no version of its API that this program speaks", doing,
                         socket_path);
    case DOCKER_DENIED:
        return fault_set(fault, FAULT_RETRYABLE, "DOCKER_ACCESS_DENIED",
                         "%s: the Engine at %s does not allow it (status %d); see its authorization plugins",
                         doing, socket_path, answer->status);
    case DOCKER_REJECTED:
        return fault_set(fault, FAULT_PERMANENT, "DOCKER_REQUEST_REJECTED",
                         "%s: the Engine at %s rejects the request (status %d); its log says why", doing,
                         socket_path, answer->status);
    case DOCKER_BUSY:
        (void)fault_set(fault, FAULT_RETRYABLE, "DOCKER_ENGINE_UNAVAILABLE",
                        "%s: the Engine at %s is overloaded (status %d)", doing, socket_path, answer->status);
        fault->retry_after_ms = answer->retry_after_ms;
        return fault_depends(fault, "docker", "unavailable");
    case DOCKER_NONSENSE:
        (void)snprintf(what, sizeof what, "status %d without a readable body", answer->status);
        return docker_answer_invalid(doing, socket_path, what, fault);
    case DOCKER_DONE:
    case DOCKER_MISSING:
    case DOCKER_EXISTS:
    case DOCKER_DISCONNECTED:
    case DOCKER_FAILED:
        break;
    }
    (void)fault_set(fault, FAULT_RETRYABLE, "DOCKER_ENGINE_FAILED",
                    "%s: the Engine at %s answered with status %d; its log says why", doing, socket_path,
                    answer->status);
    return fault_depends(fault, "docker", "unavailable");
}
