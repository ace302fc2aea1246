/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/http_private.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Why a unix socket was not connected. Looked up after the fact, as curl does not tell the errno of each way
 * in which that fails. */
static const char *why_not_socket(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0) {
        if (errno == EACCES)
            return "may not be reached by this user: permission denied";
        return "does not exist";
    }
    if (!S_ISSOCK(status.st_mode))
        return "is not a socket";
    if (access(path, W_OK) != 0)
        return "may not be opened by this user: permission denied";
    return "refused the connection: nobody listens";
}

static const char *why_not_host(const CURL *easy)
{
    long error = 0;

    (void)curl_easy_getinfo((CURL *)(uintptr_t)easy, CURLINFO_OS_ERRNO, &error);
    switch (error) {
    case EHOSTUNREACH:
    case ENETUNREACH:
        return "cannot be reached: no route";
    case ETIMEDOUT:
        return "cannot be reached: no answer";
    case ECONNREFUSED:
    default:
        return "refused the connection";
    }
}

/* Where the server is, as an operator names it. */
static const char *place(const struct http *client)
{
    return client->options.unix_socket ? client->options.unix_socket : client->options.base_url;
}

bool http_fault_about(const struct http *client, const char *code, const char *cause, const char *what,
                      struct fault *fault)
{
    (void)fault_set(fault, FAULT_RETRYABLE, code, "%s: %s %s", client->options.dependency, place(client),
                    what);
    return fault_depends(fault, client->options.dependency, cause);
}

static bool unavailable(const struct http *client, const char *cause, const char *what, struct fault *fault)
{
    return http_fault_about(client, client->options.unavailable_code, cause, what, fault);
}

/* The same of a server that was not connected, with the addresses that its name led to (K121). */
static bool unconnected(const struct http *client, const char *cause, const char *what, struct fault *fault)
{
    char words[128 + HTTP_TRIED_SIZE];

    if (client->tried[0] == '\0')
        return unavailable(client, cause, what, fault);
    (void)snprintf(words, sizeof words, "%.100s (tried %s)", what, client->tried);
    return unavailable(client, cause, words, fault);
}

static bool invalid(const struct http *client, const char *code, const char *what, struct fault *fault)
{
    return http_fault_about(client, code, "unavailable", what, fault);
}

/* What the request waited for. curl tells the time at which it was ready to send, on a kept connection too,
 * and our own port as soon as TCP is connected; the times of connection and handshake it sets together. */
static const char *stage(const struct http *client)
{
    curl_off_t ready = 0;
    long port = 0;

    (void)curl_easy_getinfo(client->easy, CURLINFO_PRETRANSFER_TIME_T, &ready);
    (void)curl_easy_getinfo(client->easy, CURLINFO_LOCAL_PORT, &port);
    if (ready > 0)
        return NULL;
    return port > 0 ? "did not end the TLS handshake in time (stage TLS)"
                    : "was not connected in time (stage connect)";
}

static bool timed_out(const struct http *client, const struct http_request *request, struct fault *fault)
{
    const char *early = stage(client);
    char words[128];

    if (early)
        return unconnected(client, "timeout", early, fault);
    (void)snprintf(words, sizeof words, "did not answer %s within %d ms (stage answer)", request->method,
                   request->timeout_ms);
    return unavailable(client, "timeout", words, fault);
}

static bool is_garbage(const struct http_answer *answer, CURLcode result)
{
    return result == CURLE_WEIRD_SERVER_REPLY || result == CURLE_UNSUPPORTED_PROTOCOL ||
           result == CURLE_BAD_CONTENT_ENCODING || answer->bad_header ||
           (result == CURLE_RECV_ERROR && strstr(answer->words, "chunk"));
}

bool http_fault(const struct http *client, const struct http_answer *answer, CURLcode result,
                const struct http_request *request, struct fault *fault)
{
    if (answer->too_large || result == CURLE_FILESIZE_EXCEEDED)
        return invalid(client, "HTTP_ANSWER_TOO_LARGE", "sent an answer beyond the limit", fault);
    if (is_garbage(answer, result))
        return invalid(client, "HTTP_ANSWER_INVALID", "sent an answer that is not HTTP", fault);
    if (http_tls_fault(client, answer, result, fault))
        return false;
    switch (result) {
    case CURLE_OUT_OF_MEMORY:
        mem_exhausted();
    case CURLE_COULDNT_RESOLVE_HOST:
        return unavailable(client, "unreachable", "has a host name that was not resolved", fault);
    case CURLE_COULDNT_CONNECT:
        return unconnected(client, "unreachable",
                           client->options.unix_socket ? why_not_socket(client->options.unix_socket)
                                                       : why_not_host(client->easy),
                           fault);
    case CURLE_OPERATION_TIMEDOUT:
        return timed_out(client, request, fault);
    case CURLE_SSL_CONNECT_ERROR:
        return unconnected(client, "unavailable", "closed the connection in the TLS handshake", fault);
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND:
        return unavailable(client, "unavailable", "closed the connection without an answer", fault);
    case CURLE_PARTIAL_FILE:
        return unavailable(client, "unavailable", "closed the connection in the middle of an answer", fault);
    default:
        return fault_set(fault, FAULT_BUG, "HTTP_REQUEST_FAILED", "%s: %s %s failed by curl's error %d",
                         client->options.dependency, request->method, request->path, (int)result);
    }
}
