/* SPDX-License-Identifier: MIT
 *
 * A client of one API server: credentials, TLS, one kept connection, deadlines, and the classing of what
 * fails. One request at a time, as all of lib/io.
 */
#ifndef OCC_KUBERNETES_API_CLIENT_H
#define OCC_KUBERNETES_API_CLIENT_H

#include "lib/driver/call.h"
#include "lib/kubernetes/api/answer.h"
#include "lib/kubernetes/api/authentication.h"

struct kubernetes_client;

/* A client that hangs on `context`; the first request reads the credentials and connects. */
struct kubernetes_client *kubernetes_client_new(const void *context,
                                                const struct kubernetes_authentication *authentication)
    __attribute__((returns_nonnull)) MUST_USE;

/* "host:port" of the API server; "the API server" before credentials were read. */
const char *kubernetes_client_place(const struct kubernetes_client *client);

/* Where lib/kubernetes/api/discovery.c keeps what it learned; NULL at first, hangs on the client. */
struct kubernetes_discovery;
struct kubernetes_discovery **kubernetes_client_discovery(struct kubernetes_client *client)
    __attribute__((returns_nonnull));

struct kubernetes_request {
    const char *method;
    const char *path;   /* from the server's root, escaped: "/api/v1/namespaces/oce-…" */
    const cJSON *body;  /* or NULL */
    bool is_patch;      /* the body is a merge patch (RFC 7386) */
    const char *doing;  /* "reading Namespace oce-…": stands in every fault's message */
    const char *access; /* "get namespaces": what must be granted */
    bool secret; /* body and answer hold a Secret's value: both texts are wiped at once, and the answer's
                    tree before it goes; the buffers of curl and OpenSSL are not */
};

/* Sends a request and reads its answer, which hangs on call->memory. Any answer that means something is
 * success; kubernetes_answer_fault() has words for those that the caller does not expect. A 401 has the
 * credentials read again and the request sent once more. Never lasts beyond call->deadline_ms.
 *
 * What an operator mends in the credentials names the setting that they stand in.
 *
 * Faults: FAULT_PENDING KUBERNETES_API_UNAVAILABLE (unreachable, refused, cut, too slow: dependency
 * "kubernetes", cause, host and port); FAULT_RETRYABLE KUBERNETES_ANSWER_INVALID (no HTTP, no Status, larger
 * than 8 MiB); FAULT_CONFIGURATION KUBERNETES_TLS_FAILED (the CA does not vouch for the server, its
 * certificate has expired or is for another name, our certificate is refused: the message tells which),
 * KUBERNETES_AUTHENTICATION_INVALID; FAULT_PENDING KUBERNETES_UNAUTHENTICATED (a 401 that stays); or the
 * watch's. */
bool kubernetes_client_send(struct kubernetes_client *client, const struct driver_call *call,
                            const struct kubernetes_request *request, struct kubernetes_answer *answer,
                            struct fault *fault) MUST_USE;

/* For an operation of a pass: a configuration that went wrong while the worker runs (a rotated CA, an expired
 * certificate) heals when an operator mends it, so it becomes FAULT_PENDING here. Returns false. */
bool kubernetes_fault_in_pass(struct fault *fault);

/* For a start: what is pending or retryable may pass by itself and becomes FAULT_UNAVAILABLE, but refused
 * credentials and answers that no API server gives are FAULT_CONFIGURATION. Returns false. */
bool kubernetes_fault_at_start(struct fault *fault);

#endif
