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

static bool unavailable(const struct http *client, const char *cause, const char *what, struct fault *fault)
{
    (void)fault_set(fault, FAULT_RETRYABLE, client->options.unavailable_code, "%s: %s %s",
                    client->options.dependency, place(client), what);
    return fault_depends(fault, client->options.dependency, cause);
}

static bool invalid(const struct http *client, const char *code, const char *what, struct fault *fault)
{
    (void)fault_set(fault, FAULT_RETRYABLE, code, "%s: %s %s", client->options.dependency, place(client),
                    what);
    return fault_depends(fault, client->options.dependency, "unavailable");
}

static bool timed_out(const struct http *client, const struct http_request *request, struct fault *fault)
{
    char words[128];
    curl_off_t connected = 0;
    long connects = 0;
    bool tls = strncmp(client->options.base_url, "https:", 6) == 0;

    /* The time is zero as long as that stage has not ended, and where a kept connection needed none. */
    (void)curl_easy_getinfo(client->easy, CURLINFO_NUM_CONNECTS, &connects);
    (void)curl_easy_getinfo(client->easy, tls ? CURLINFO_APPCONNECT_TIME_T : CURLINFO_CONNECT_TIME_T,
                            &connected);
    if (connected == 0 && connects > 0)
        (void)snprintf(words, sizeof words, "was not connected in time (stage connect)");
    else
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

static bool tls_failed(const struct http *client, CURLcode result, struct fault *fault)
{
    const char *what = "failed the TLS handshake";

    if (result == CURLE_PEER_FAILED_VERIFICATION)
        what = "showed a certificate that the CA file does not vouch for";
    if (result == CURLE_SSL_CACERT_BADFILE)
        what = "cannot be verified: the CA file is not usable";
    return unavailable(client, "unavailable", what, fault);
}

bool http_fault(const struct http *client, const struct http_answer *answer, CURLcode result,
                const struct http_request *request, struct fault *fault)
{
    if (answer->too_large || result == CURLE_FILESIZE_EXCEEDED)
        return invalid(client, "HTTP_ANSWER_TOO_LARGE", "sent an answer beyond the limit", fault);
    if (is_garbage(answer, result))
        return invalid(client, "HTTP_ANSWER_INVALID", "sent an answer that is not HTTP", fault);
    switch (result) {
    case CURLE_OUT_OF_MEMORY:
        mem_exhausted();
    case CURLE_COULDNT_RESOLVE_HOST:
        return unavailable(client, "unreachable", "has a host name that was not resolved", fault);
    case CURLE_COULDNT_CONNECT:
        return unavailable(client, "unreachable",
                           client->options.unix_socket ? why_not_socket(client->options.unix_socket)
                                                       : why_not_host(client->easy),
                           fault);
    case CURLE_OPERATION_TIMEDOUT:
        return timed_out(client, request, fault);
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return tls_failed(client, result, fault);
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
