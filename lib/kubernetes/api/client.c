/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/client.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/http.h"
#include "lib/kubernetes/api/credentials.h"

#define BODY_LIMIT (8u * 1024 * 1024)
#define BODY_LIMIT_WORDS "more than 8 MiB"
#define CONNECT_TIMEOUT_MS 5000
#define READ_TIMEOUT_MS 10000
/* A write waits for admission webhooks, each of which a server gives ten seconds unless told otherwise. */
#define WRITE_TIMEOUT_MS 20000
#define UNAVAILABLE "KUBERNETES_API_UNAVAILABLE"

struct kubernetes_client {
    const char *setting; /* where its authentication stands */
    struct kubernetes_credentials_source *source;
    const struct kubernetes_credentials *credentials; /* as they were read last; NULL: not yet */
    struct kubernetes_discovery *discovery;
    struct http *http;  /* NULL until credentials were read */
    const char *server; /* that it speaks to */
    const char *place;  /* the same as "host:port" */
};

struct kubernetes_client *kubernetes_client_new(const void *context,
                                                const struct kubernetes_authentication *authentication)
{
    struct kubernetes_client *client = mem_new(context, struct kubernetes_client);

    client->setting = mem_text(client, authentication->setting);
    client->source = kubernetes_credentials_source_new(client, authentication);
    return client;
}

const char *kubernetes_client_place(const struct kubernetes_client *client)
{
    return client->place != NULL ? client->place : "the API server";
}

struct kubernetes_discovery **kubernetes_client_discovery(struct kubernetes_client *client)
{
    return &client->discovery;
}

/* ---- Credentials and the connection */

static bool open_http(struct kubernetes_client *client, const struct kubernetes_credentials *credentials,
                      const struct http_tls *tls, struct fault *fault)
{
    const struct http_options options = {
        .base_url = credentials->server,
        .dependency = "kubernetes",
        .unavailable_code = UNAVAILABLE,
        .tls = tls,
        .body_limit = BODY_LIMIT,
        .connect_timeout_ms = CONNECT_TIMEOUT_MS,
    };
    struct http *opened;

    if (!http_open(client, &options, &opened, fault))
        return false;
    talloc_free(client->http);
    client->http = opened;
    client->server = mem_text(opened, credentials->server);
    client->place = mem_text(opened, credentials->place);
    return true;
}

/* Other certificates mean another connection, another token does not. */
static bool take(struct kubernetes_client *client, const struct kubernetes_credentials *credentials,
                 struct fault *fault)
{
    const struct http_tls tls = {
        .ca = credentials->ca,
        .certificate = credentials->certificate,
        .key = credentials->key,
        .server_name = credentials->server_name,
    };

    if (client->http == NULL || !text_equal(client->server, credentials->server))
        return open_http(client, credentials, &tls, fault);
    http_set_tls(client->http, &tls);
    return true;
}

static bool prepare(struct kubernetes_client *client, bool again, struct fault *fault)
{
    bool changed;

    if (!kubernetes_credentials_read(client->source, again, &client->credentials, &changed, fault))
        return false;
    return (client->http != NULL && !changed) || take(client, client->credentials, fault);
}

/* ---- One request */

/* What lib/io/http.h says of a fault after "kubernetes: https://HOST:PORT ". */
static const char *without_place(const struct kubernetes_client *client, const char *message)
{
    const char *rest = strstr(message, client->place);

    if (rest == NULL)
        return message;
    rest += strlen(client->place);
    rest += strcspn(rest, " "); /* a path that a kubeconfig gives */
    return rest + strspn(rest, " ");
}

/* Each Driver may have credentials of its own: an operator is told whose must be mended. */
static bool tls_failed(const struct kubernetes_client *client, const char *doing, const struct fault *told,
                       struct fault *fault)
{
    (void)fault_set(fault, FAULT_CONFIGURATION, "KUBERNETES_TLS_FAILED", "%s: the API server at %s %s (%s)",
                    doing, client->place, without_place(client, told->message), client->setting);
    return fault_depends(fault, told->dependency, told->cause);
}

static bool unauthenticated(const struct kubernetes_client *client, const char *doing, struct fault *fault)
{
    return fault_set(fault, FAULT_PENDING, "KUBERNETES_UNAUTHENTICATED",
                     "%s: the API server at %s does not accept our credentials (status 401; %s)", doing,
                     client->place, client->setting);
}

/* Tells a fault of the connection in the words of this Driver: what was being done, at which server, and why
 * nothing answers. The watch's faults pass unchanged. */
static bool explain(const struct kubernetes_client *client, const char *doing, struct fault *fault)
{
    const struct fault told = *fault;

    if (fault_is(&told, "HTTP_ANSWER_INVALID"))
        return kubernetes_answer_invalid(doing, client->place, "not HTTP", fault);
    if (fault_is(&told, "HTTP_ANSWER_TOO_LARGE"))
        return kubernetes_answer_invalid(doing, client->place, BODY_LIMIT_WORDS, fault);
    if (fault_is(&told, "HTTP_TLS_FAILED"))
        return tls_failed(client, doing, &told, fault);
    if (!fault_is(&told, UNAVAILABLE))
        return false;
    (void)fault_set(fault, FAULT_PENDING, UNAVAILABLE, "%s: the API server at %s %s", doing, client->place,
                    without_place(client, told.message));
    return fault_depends(fault, told.dependency, told.cause);
}

static bool no_time_left(const struct kubernetes_client *client, const char *doing, struct fault *fault)
{
    (void)fault_set(fault, FAULT_PENDING, UNAVAILABLE, "%s: no time is left to ask the API server at %s",
                    doing, client->place);
    return fault_depends(fault, "kubernetes", "timeout");
}

static bool exchange(struct kubernetes_client *client, const struct driver_call *call,
                     const struct kubernetes_request *request, const char *body,
                     const struct http_response **response, struct fault *fault)
{
    const int limit = strcmp(request->method, "GET") == 0 ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS;
    const int64_t left = call->deadline_ms - clock_now_ms();
    const struct http_request sent = {
        .method = request->method,
        .path = request->path,
        .content_type = request->is_patch ? "application/merge-patch+json" : "application/json",
        .bearer = client->credentials->token,
        .body = body,
        .timeout_ms = left < limit ? (int)left : limit,
    };

    if (left <= 0)
        return no_time_left(client, request->doing, fault);
    return http_send(client->http, call->memory, &sent, call->watch, response, fault) ||
           explain(client, request->doing, fault);
}

/* A 401 means that the request was not acted on, whatever it asks for, so it may go out again. */
bool kubernetes_client_send(struct kubernetes_client *client, const struct driver_call *call,
                            const struct kubernetes_request *request, struct kubernetes_answer *answer,
                            struct fault *fault)
{
    const char *body = request->body == NULL ? NULL : json_write(call->memory, request->body);
    const struct http_response *response;
    struct kubernetes_answer read;
    bool sent = true;

    for (int tries = 0; sent && tries < 2; tries++) {
        sent = prepare(client, tries > 0, fault) && exchange(client, call, request, body, &response, fault);
        if (!sent)
            break;
        kubernetes_answer_read(call->memory, response, request->secret, &read);
        if (request->secret)
            secret_wipe((char *)(uintptr_t)response->body, response->body_length);
        if (read.meaning != KUBERNETES_UNAUTHENTICATED)
            break;
    }
    if (request->secret && body != NULL)
        secret_wipe((char *)(uintptr_t)body, strlen(body));
    if (!sent)
        return false;
    if (read.meaning == KUBERNETES_UNAUTHENTICATED)
        return unauthenticated(client, request->doing, fault);
    if (read.meaning == KUBERNETES_NONSENSE)
        return kubernetes_answer_fault(&read, request->doing, request->access, client->place, fault);
    *answer = read;
    return true;
}

/* ---- Where a fault is met */

bool kubernetes_fault_in_pass(struct fault *fault)
{
    if (fault->class == FAULT_CONFIGURATION || fault->class == FAULT_UNAVAILABLE)
        fault->class = FAULT_PENDING;
    return false;
}

bool kubernetes_fault_at_start(struct fault *fault)
{
    if (fault_is(fault, "KUBERNETES_UNAUTHENTICATED") || fault_is(fault, "KUBERNETES_ANSWER_INVALID") ||
        fault->class == FAULT_PERMANENT)
        fault->class = FAULT_CONFIGURATION;
    else if (fault->class == FAULT_PENDING || fault->class == FAULT_RETRYABLE)
        fault->class = FAULT_UNAVAILABLE;
    return false;
}
