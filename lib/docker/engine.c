/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/engine.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/docker/socket.h"

#define BODY_LIMIT (4u * 1024 * 1024) /* lists of all that carries a name or label, without logs or stats */
#define CONNECT_TIMEOUT_MS 5000
/* A healthy Engine under many parallel starts has been seen to take longer than five seconds to answer a
 * question (K74), and gives a container ten to stop. */
#define QUICK_TIMEOUT_MS 20000
#define SLOW_TIMEOUT_MS 60000
#define API_MAJOR "1."

struct docker_engine {
    struct http *http;
    const char *socket_path;
    int api; /* the negotiated minor number; 0: not yet */
};

bool docker_engine_open(const void *context, const char *socket_path, struct docker_engine **engine,
                        struct fault *fault)
{
    struct docker_engine *opened = mem_new(context, struct docker_engine);
    const struct http_options options = {
        .unix_socket = socket_path,
        .base_url = "http://localhost",
        .dependency = "docker",
        .unavailable_code = "DOCKER_ENGINE_UNAVAILABLE",
        .body_limit = BODY_LIMIT,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
    };

    opened->socket_path = mem_text(opened, socket_path);
    if (!http_open(opened, &options, &opened->http, fault)) {
        talloc_free(opened);
        return false;
    }
    *engine = opened;
    return true;
}

const char *docker_engine_socket(const struct docker_engine *engine)
{
    return engine->socket_path;
}

bool docker_api_from_text(const char *text, int *minor)
{
    char major[8];
    const char *dot = strchr(text, '.');
    uint64_t number;

    if (dot == NULL || (size_t)(dot - text) >= sizeof major)
        return false;
    memcpy(major, text, (size_t)(dot - text));
    major[dot - text] = 0;
    if (!text_to_number(major, 999, &number) || number == 0)
        return false;
    if (number > 1) {
        *minor = INT16_MAX;
        return true;
    }
    if (!text_to_number(dot + 1, 9999, &number))
        return false;
    *minor = (int)number;
    return true;
}

/* What lib/io/http.h says of a fault after "docker: PATH ". */
static const char *without_place(const struct docker_engine *engine, const char *message)
{
    const char *rest = strstr(message, engine->socket_path);

    return rest == NULL
               ? message
               : rest + strlen(engine->socket_path) + strspn(rest + strlen(engine->socket_path), " ");
}

/* Tells a fault of the connection in the words of this Driver: what was being done, at which socket, and why
 * nothing answers. The watch's faults pass unchanged. */
static void explain(const struct docker_engine *engine, const char *doing, struct fault *fault)
{
    struct fault told = *fault;
    char reason[DOCKER_SOCKET_REASON_SIZE];

    if (fault_is(&told, "HTTP_ANSWER_INVALID")) {
        (void)docker_answer_invalid(doing, engine->socket_path, "not HTTP", fault);
        return;
    }
    if (fault_is(&told, "HTTP_ANSWER_TOO_LARGE")) {
        (void)docker_answer_invalid(doing, engine->socket_path, "more than 4 MiB", fault);
        return;
    }
    if (!fault_is(&told, "DOCKER_ENGINE_UNAVAILABLE"))
        return;
    if (text_equal(told.cause, "unreachable")) {
        (void)docker_socket_look(engine->socket_path, reason);
        (void)fault_set(fault, told.class, told.code, "%s: no Docker Engine answers at %s: %s", doing,
                        engine->socket_path, reason);
    } else {
        (void)fault_set(fault, told.class, told.code, "%s: the Docker Engine at %s %s", doing,
                        engine->socket_path, without_place(engine, told.message));
    }
    fault->retry_after_ms = told.retry_after_ms;
    (void)fault_depends(fault, told.dependency, told.cause);
}

/* One request as it is, without a version in its path. */
static bool exchange(struct docker_engine *engine, const struct driver_call *call,
                     const struct docker_request *request, const char *path,
                     const struct http_response **response, struct fault *fault)
{
    const int limit = request->slow ? SLOW_TIMEOUT_MS : QUICK_TIMEOUT_MS;
    const int64_t left = call->deadline_ms - clock_now_ms();
    const struct http_request sent = {
        .method = request->method,
        .path = path,
        .body = request->body,
        .timeout_ms = left < limit ? (int)left : limit,
    };

    if (left <= 0) {
        (void)fault_set(fault, FAULT_RETRYABLE, "DOCKER_ENGINE_UNAVAILABLE",
                        "%s: no time is left to ask the Docker Engine at %s", request->doing,
                        engine->socket_path);
        return fault_depends(fault, "docker", "timeout");
    }
    if (http_send(engine->http, call->memory, &sent, call->watch, response, fault))
        return true;
    explain(engine, request->doing, fault);
    return false;
}

static bool unsupported(const struct docker_engine *engine, const char *doing, int oldest, int newest,
                        struct fault *fault)
{
    char range[48];

    if (oldest > 0)
        (void)snprintf(range, sizeof range, "1.%d to 1.%d", oldest, newest);
    else
        (void)snprintf(range, sizeof range, "up to 1.%d", newest);
    return fault_set(fault, FAULT_RETRYABLE, "DOCKER_API_UNSUPPORTED",
                     "%s: the Engine at %s speaks API versions %s; this program needs one of 1.%d to 1.%d",
                     doing, engine->socket_path, range, DOCKER_API_OLDEST, DOCKER_API_NEWEST);
}

/* The ping's header names the Engine's newest version, and that is enough: where ours is older than its
 * oldest, it says so to the request that follows. */
static bool negotiate(struct docker_engine *engine, const struct driver_call *call, const char *doing,
                      struct fault *fault)
{
    const struct docker_request ping = {.method = "GET", .doing = doing};
    const struct http_response *response;
    struct docker_facts facts;
    int newest;

    if (!exchange(engine, call, &ping, "/_ping", &response, fault))
        return false;
    if (response->status != 200 || !docker_api_from_text(response->api_version, &newest)) {
        if (!docker_engine_describe(engine, call, doing, &facts, fault))
            return false;
        newest = facts.newest;
    }
    if (newest < DOCKER_API_OLDEST)
        return unsupported(engine, doing, 0, newest, fault);
    engine->api = newest < DOCKER_API_NEWEST ? newest : DOCKER_API_NEWEST;
    return true;
}

bool docker_engine_send(struct docker_engine *engine, const struct driver_call *call,
                        const struct docker_request *request, struct docker_answer *answer,
                        struct fault *fault)
{
    const struct http_response *response;
    struct docker_answer read;
    const char *path;
    int tries;

    for (tries = 0; tries < 2; tries++) {
        if (engine->api == 0 && !negotiate(engine, call, request->doing, fault))
            return false;
        path = mem_format(call->memory, "/v" API_MAJOR "%d%s", engine->api, request->path);
        if (!exchange(engine, call, request, path, &response, fault))
            return false;
        docker_answer_read(call->memory, response, &read);
        if (read.meaning == DOCKER_NONSENSE)
            return docker_answer_fault(&read, request->doing, engine->socket_path, fault);
        if (read.meaning != DOCKER_VERSION) {
            *answer = read;
            return true;
        }
        engine->api = 0;
    }
    return docker_answer_fault(&read, request->doing, engine->socket_path, fault);
}

bool docker_engine_describe(struct docker_engine *engine, const struct driver_call *call, const char *doing,
                            struct docker_facts *facts, struct fault *fault)
{
    const struct docker_request request = {.method = "GET", .doing = doing};
    const struct http_response *response;
    struct docker_answer answer;
    struct docker_facts found = {0};
    const char *newest;
    const char *oldest;
    const char *os;

    if (!exchange(engine, call, &request, "/version", &response, fault))
        return false;
    docker_answer_read(call->memory, response, &answer);
    if (answer.meaning != DOCKER_DONE) {
        /* Every Engine has this one: a refusal comes from something else. */
        if (answer.meaning != DOCKER_BUSY && answer.meaning != DOCKER_DENIED && answer.status < 500)
            answer.meaning = DOCKER_NONSENSE;
        return docker_answer_fault(&answer, doing, engine->socket_path, fault);
    }
    newest = json_text(answer.json, "ApiVersion");
    oldest = json_text(answer.json, "MinAPIVersion"); /* absent before 1.25 */
    if (newest == NULL || !docker_api_from_text(newest, &found.newest) ||
        (!text_is_empty(oldest) && !docker_api_from_text(oldest, &found.oldest)))
        return docker_answer_invalid(doing, engine->socket_path, "its version is missing or no version",
                                     fault);
    if (found.newest < DOCKER_API_OLDEST || found.oldest > DOCKER_API_NEWEST)
        return unsupported(engine, doing, found.oldest, found.newest, fault);
    os = json_text(answer.json, "Os");
    found.is_linux = os == NULL || text_equal(os, "linux");
    *facts = found;
    return true;
}
