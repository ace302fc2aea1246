/* SPDX-License-Identifier: MIT
 *
 * What an Engine's answer means.
 *
 * Engines say one thing with different statuses (an exhausted address pool is 404 in Docker 20.10, 400 in 27
 * and later, 500 in Podman; a taken name is 409 or 500; active endpoints are 403 or 500), and different
 * things with one (404 is also a missing route, a missing plugin and that exhausted pool). So the text of the
 * error decides first and the status only where the text is unknown (K69, K70, K108). The texts were read off
 * Docker 20.10 and Podman 4.3 answering, and from reports of users of Docker 1.10 to 29 and Podman 3 to 5.
 */
#ifndef OCC_DOCKER_ANSWER_H
#define OCC_DOCKER_ANSWER_H

#include "lib/base/fault.h"
#include "lib/io/http.h"
#include "lib/io/json.h"

enum docker_meaning {
    DOCKER_DONE,           /* a success; the body is `json`, or empty */
    DOCKER_MISSING,        /* the thing that was named does not exist */
    DOCKER_EXISTS,         /* the name is taken */
    DOCKER_IN_USE,         /* something is still attached to it */
    DOCKER_GOING,          /* its removal is already going on */
    DOCKER_DISCONNECTED,   /* the container was not attached */
    DOCKER_POOL_EXHAUSTED, /* no free subnet, or the one that was picked is taken */
    DOCKER_VERSION,        /* the API version of the request is outside the Engine's range */
    DOCKER_DENIED,         /* the Engine does not allow it to us */
    DOCKER_REJECTED,       /* the request itself is refused, and will be again */
    DOCKER_BUSY,           /* asks to come back later */
    DOCKER_FAILED,         /* any other error of the Engine */
    DOCKER_NONSENSE,       /* not an answer of an Engine */
};

struct docker_answer {
    enum docker_meaning meaning;
    int status;
    const cJSON *json; /* NULL where the body is empty or no JSON */
    uint32_t retry_after_ms;
};

/* Reads a response. A success whose body is neither empty nor one JSON value is DOCKER_NONSENSE. The tree
 * hangs on `context`. */
void docker_answer_read(const void *context, const struct http_response *response,
                        struct docker_answer *answer);

/* Sets the fault for an answer that the caller has no better word for, and returns false. `doing` and
 * `socket_path` stand in the message ("creating network oce-…"); the Engine's own text never does. */
bool docker_answer_fault(const struct docker_answer *answer, const char *doing, const char *socket_path,
                         struct fault *fault);

/* The fault of an answer whose shape is not as documented; returns false. `what` says what is wrong. */
bool docker_answer_invalid(const char *doing, const char *socket_path, const char *what, struct fault *fault);

#endif
