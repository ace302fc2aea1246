/* SPDX-License-Identifier: MIT
 *
 * HTTP for Drivers (libcurl): one client per process and server, one request at a time, one connection kept
 * alive.
 *
 * Only http(s) and unix sockets; no proxy, no redirects, explicit CA only, bodies bounded, and a deadline for
 * each request. While a request waits, the watch has its turns: a pass renews its claim and hears the
 * supervisor there. curl's global state is made on first use, in the process that uses it (never before a
 * fork).
 */
#ifndef OCC_IO_HTTP_H
#define OCC_IO_HTTP_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"
#include "lib/io/watch.h"

struct http;

/* What a client of https trusts and what it shows, as PEM. The server is always verified, against these
 * certificates alone, and must speak TLS 1.2 or later. */
struct http_tls {
    const char *ca;                   /* one or several trusted certificates */
    const struct secret *certificate; /* our own, with its chain; NULL: none is shown */
    const struct secret *key;         /* of our certificate */
    const char *server_name;          /* whom the server's certificate must be for; NULL: the URL's host */
};

struct http_options {
    const char *unix_socket; /* path; NULL for TCP */
    const char *base_url; /* "http://localhost" for a unix socket, else scheme, host and port; no end slash */
    const char *dependency;       /* name in faults: "docker", "kubernetes" */
    const char *unavailable_code; /* code of faults about the connection: "DOCKER_ENGINE_UNAVAILABLE" */
    const char *ca_file;          /* PEM file of trusted certificates, read when it connects */
    const struct http_tls *tls;   /* instead of ca_file; https needs one of them. It is copied. */
    size_t body_limit;            /* largest answer body in bytes */
    int connect_timeout_ms;
};

/* A client that hangs on `context`; connects with the first request. Fault: FAULT_CONFIGURATION with
 * unavailable_code for a scheme other than http and https, and for https without trusted certificates. */
bool http_open(const void *context, const struct http_options *options, struct http **client,
               struct fault *fault) MUST_USE;

/* Gives an open client other certificates to trust and to show. Where they differ from those that it has, the
 * kept connection is closed and its TLS session forgotten: the next request verifies the server anew. The
 * former are wiped. */
void http_set_tls(struct http *client, const struct http_tls *tls);

struct http_request {
    const char *method;          /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;            /* starts with "/"; already escaped, see http_escape */
    const char *content_type;    /* with a body: "application/json" when NULL */
    const char *authorization;   /* value of the Authorization header, or NULL; never logged */
    const struct secret *bearer; /* instead: a token for "Authorization: Bearer" (RFC 6750), or NULL */
    const char *body;            /* zero-terminated text or NULL */
    int timeout_ms;              /* for the whole request */
};

struct http_response {
    int status;       /* 100..599 */
    const char *body; /* zero-terminated; may hold zeros inside, see body_length */
    size_t body_length;
    const char *content_type; /* "" when absent */
    const char *api_version;  /* the "Api-Version" header (Docker Engine API /_ping), "" when absent */
    const char *server;       /* the "Server" header, "" when absent */
    uint32_t retry_after_ms;  /* from Retry-After in seconds (RFC 9110 section 10.2.3); 0 when absent */
};

/* Sends one request and waits for the whole answer. The response hangs on `context`; its body is overwritten
 * when it goes, as is what came of one that fails. Any complete HTTP answer, of whatever status, is success;
 * its meaning is the caller's.
 *
 * Where a kept connection turns out to be closed, the request goes out once more on a new one, but POST and
 * PATCH never twice. After a fault the connection is not used again.
 *
 * Faults: FAULT_RETRYABLE with unavailable_code: cause "unreachable" (socket missing, refused, permission
 * denied, name not found: message names the path or host, the reason, and the addresses that a host's name
 * led to), "timeout" (message names the stage: connect, TLS or answer), "unavailable" (closed or cut in the
 * middle); FAULT_RETRYABLE HTTP_ANSWER_TOO_LARGE, HTTP_ANSWER_INVALID (not HTTP); FAULT_RETRYABLE
 * HTTP_TLS_FAILED, which passes only when somebody changes a certificate or the address, and whose cause
 * tells more: "untrusted" (no trusted certificate vouches for the server's), "expired", "not-yet-valid" (the
 * server's, or one that vouches for it), "other-name" (it is for another host), "refused" (the server refuses
 * our certificate or demands one), "no-tls" (the server speaks no TLS, or only an older one), "unusable" (the
 * PEM that we were given); or the watch's fault.
 *
 * With TLS 1.3 a server refuses our certificate only after we have sent the request, so nothing is known of
 * whether it was read, and a server that closes at once may cut its own refusal off: then it is
 * "unavailable". */
bool http_send(struct http *client, const void *context, const struct http_request *request,
               const struct watch *watch, const struct http_response **response,
               struct fault *fault) MUST_USE;

/* `text` percent-encoded for one segment of a path or a query value (RFC 3986: all but unreserved). */
const char *http_escape(const void *context, const char *text) __attribute__((returns_nonnull));

#endif
