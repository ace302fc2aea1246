/* SPDX-License-Identifier: MIT
 *
 * What an answer of the API server means. Errors are Status objects (Kubernetes API conventions, "Response
 * Status Kind"): code, reason, message, details.causes. A body that is none, such as a proxy's page, is no
 * answer of the API.
 */
#ifndef OCC_KUBERNETES_API_ANSWER_H
#define OCC_KUBERNETES_API_ANSWER_H

#include "lib/base/fault.h"
#include "lib/io/http.h"
#include "lib/io/json.h"

enum kubernetes_meaning {
    KUBERNETES_DONE,            /* a success; the body is `json` */
    KUBERNETES_MISSING,         /* 404: the object does not exist */
    KUBERNETES_NO_API,          /* 404: the group, version or resource is not served */
    KUBERNETES_EXISTS,          /* 409 AlreadyExists */
    KUBERNETES_CONFLICT,        /* 409 Conflict: resourceVersion or UID is another one by now */
    KUBERNETES_EXPIRED,         /* 410: a list's continuation is too old: list again */
    KUBERNETES_TERMINATING,     /* 403 or 409: the namespace is being deleted (cause NamespaceTerminating) */
    KUBERNETES_QUOTA,           /* 403: a ResourceQuota is exceeded */
    KUBERNETES_DENIED,          /* any other 403 */
    KUBERNETES_UNAUTHENTICATED, /* 401 */
    KUBERNETES_REJECTED,        /* 400, 405, 413, 415, 422: this request will never be accepted */
    KUBERNETES_BUSY,            /* 429 */
    KUBERNETES_FAILED,          /* 5xx */
    KUBERNETES_NONSENSE,        /* not an answer of an API server: a redirect, HTML, cut JSON */
};

struct kubernetes_answer {
    enum kubernetes_meaning meaning;
    int status;
    const cJSON *json;       /* NULL where the body is no JSON object */
    const char *field;       /* of a rejection: the first cause's field, "" where none is told */
    bool immutable;          /* a rejection that says that a field cannot be changed any more (K83) */
    const char *quota;       /* the ResourceQuota that refuses; NULL where none does */
    bool admission;          /* denied by an admission rule, not for want of a grant */
    uint32_t retry_after_ms; /* at most 30 s; 0: nothing was asked for */
};

/* Reads a response; the tree hangs on `context`. `secret`: it may hold a Secret's value, so the tree's texts
 * are overwritten before it goes. */
void kubernetes_answer_read(const void *context, const struct http_response *response, bool secret,
                            struct kubernetes_answer *answer);

/* Sets the fault for an answer that the caller has no better word for, and returns false. `doing` ("creating
 * NetworkPolicy oce-…/default-deny") and `place` ("host:port") stand in the message; of the server's own text
 * nothing does but a rejected field's path and a quota's name, made printable and bounded. `access` is verb,
 * resource and namespace, as an operator grants them ("create networkpolicies in namespace oce-…").
 *
 * BUSY, FAILED: FAULT_PENDING KUBERNETES_API_UNAVAILABLE (retry_after_ms passed on); DENIED: FAULT_PENDING
 * KUBERNETES_ACCESS_DENIED naming `access`; TERMINATING: FAULT_PENDING KUBERNETES_NAMESPACE_TERMINATING;
 * QUOTA: FAULT_PENDING KUBERNETES_QUOTA_EXCEEDED; CONFLICT, EXISTS, EXPIRED: FAULT_PENDING
 * KUBERNETES_CONFLICT; NO_API: FAULT_PENDING KUBERNETES_API_NOT_SERVED; MISSING: FAULT_RETRYABLE
 * KUBERNETES_OBJECT_MISSING; REJECTED: FAULT_PERMANENT KUBERNETES_REJECTED, or KUBERNETES_FIELD_IMMUTABLE;
 * NONSENSE, and what can be no caller's (UNAUTHENTICATED is the client's, DONE nobody's): FAULT_RETRYABLE
 * KUBERNETES_ANSWER_INVALID. */
bool kubernetes_answer_fault(const struct kubernetes_answer *answer, const char *doing, const char *access,
                             const char *place, struct fault *fault);

/* The fault of an answer whose shape is not as documented (FAULT_RETRYABLE KUBERNETES_ANSWER_INVALID);
 * returns false. `what` says what is wrong. */
bool kubernetes_answer_invalid(const char *doing, const char *place, const char *what, struct fault *fault);

#endif
