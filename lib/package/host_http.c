/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/host.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/http.h"
#include "lib/package/answer.h"

#include <limits.h>

/* A client is for as long as the Driver; one that opens another with every operation is told. */
#define CLIENTS_A_DRIVER 16
#define BODY_MOST ((size_t)16 * 1024 * 1024)

/* Of the first version. */
#define RESPONSE_LEAST (offsetof(struct occ_http_response, retry_after_ms) + sizeof(uint32_t))

struct occ_http {
    struct http *client;
};

static const char *wrong_options(const struct occ_http_options *options)
{
    if (text_is_empty(options->base_url))
        return "http_open needs a base_url";
    if (text_is_empty(options->dependency))
        return "http_open needs the dependency's name";
    if (!answer_code_is_good(options->unavailable_code))
        return "http_open needs an unavailable_code";
    if (options->body_limit < 1 || options->body_limit > BODY_MOST)
        return "http_open needs a body_limit of 1 byte to 16 MiB";
    if (options->connect_timeout_ms < 1)
        return "http_open needs a connect_timeout_ms";
    return NULL;
}

static enum occ_result host_http_open(const struct occ_call *call, const struct occ_http_options *given,
                                      struct occ_http **client, struct occ_answer *answer)
{
    struct host_call *host = host_of(call);
    struct occ_http_options options;
    struct http_options ours;
    struct occ_http *made;
    struct fault fault;
    const char *problem;

    HOST_TAKE(options, given);
    problem = wrong_options(&options);
    if (!problem && host->driver->clients == CLIENTS_A_DRIVER)
        problem = "it has opened 16 clients; one for each server is enough";
    if (problem)
        return host_call_invalid(host, problem, answer);
    made = mem_new(host->driver->resources, struct occ_http);
    ours = (struct http_options){
        .unix_socket = options.unix_socket,
        .base_url = options.base_url,
        .dependency = options.dependency,
        .unavailable_code = options.unavailable_code,
        .ca_file = options.ca_file,
        .body_limit = options.body_limit,
        .connect_timeout_ms = options.connect_timeout_ms,
    };
    if (!http_open(made, &ours, &made->client, &fault)) {
        talloc_free(made);
        return host_answer(host, &fault, answer);
    }
    host->driver->clients++;
    *client = made;
    return OCC_READY;
}

static const char *wrong_request(const struct occ_http_request *request)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    size_t index = 0;

    while (index < COUNT_OF(methods) && !text_equal(methods[index], request->method))
        index++;
    if (index == COUNT_OF(methods))
        return "http_send knows GET, POST, PUT, PATCH and DELETE";
    if (!request->path || request->path[0] != '/')
        return "http_send needs a path that begins with /";
    return NULL;
}

static enum occ_result host_http_send(const struct occ_call *call, struct occ_http *client,
                                      const struct occ_http_request *given,
                                      struct occ_http_response *response, struct occ_answer *answer)
{
    struct host_call *host = host_of(call);
    const int64_t left_ms = host->outer->deadline_ms - clock_now_ms();
    struct occ_http_response ours = {.size = sizeof ours};
    const struct http_response *got;
    struct occ_http_request request;
    struct http_request asked;
    struct fault fault;
    const char *problem;

    HOST_TAKE(request, given);
    problem = wrong_request(&request);
    if (!problem && response->size < RESPONSE_LEAST)
        problem = "http_send needs a response that says its size";
    if (problem)
        return host_call_invalid(host, problem, answer);
    if (host->stopped.class != FAULT_NONE)
        return OCC_CANCELLED;
    if (left_ms <= 0) {
        host->late = true;
        return OCC_CANCELLED;
    }
    asked = (struct http_request){
        .method = request.method,
        .path = request.path,
        .content_type = request.content_type,
        .authorization = request.authorization,
        .body = request.body,
        .timeout_ms = left_ms < INT_MAX ? (int)left_ms : INT_MAX,
    };
    if (request.timeout_ms > 0 && request.timeout_ms < asked.timeout_ms)
        asked.timeout_ms = request.timeout_ms;
    if (!http_send(client->client, host->memory, &asked, &host->watch, &got, &fault))
        return host_answer(host, &fault, answer);
    (void)host_wiped((char *)(uintptr_t)got->body);
    ours.status = got->status;
    ours.body = got->body;
    ours.body_length = got->body_length;
    ours.content_type = got->content_type;
    ours.retry_after_ms = got->retry_after_ms;
    HOST_GIVE(response, ours);
    return OCC_READY;
}

static const char *host_http_escape(const struct occ_call *call, const char *text)
{
    return host_wiped((char *)(uintptr_t)http_escape(host_of(call)->memory, text));
}

void host_add_http(struct occ_host *table)
{
    table->http_open = host_http_open;
    table->http_send = host_http_send;
    table->http_escape = host_http_escape;
}
