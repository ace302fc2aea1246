/* SPDX-License-Identifier: MIT
 *
 * A Docker Engine, or Podman's service that speaks its API, behind a unix socket.
 *
 * The version of the API is negotiated with the first request of a process: the highest that both the Engine
 * and this program know. An Engine that was replaced meanwhile says so, and is asked again once (K72).
 * Sources: the Engine API's reference for 1.24 to 1.52; Docker 29 accepts 1.44 and later.
 */
#ifndef OCC_DOCKER_ENGINE_H
#define OCC_DOCKER_ENGINE_H

#include "lib/docker/answer.h"
#include "lib/driver/compute.h"

/* The versions of the API, as minor numbers of 1.x, that this program's requests fit. */
#define DOCKER_API_OLDEST 24
#define DOCKER_API_NEWEST 52

struct docker_engine;

/* An Engine that hangs on `context`; the first request connects. Fault: of http_open(). */
bool docker_engine_open(const void *context, const char *socket_path, struct docker_engine **engine,
                        struct fault *fault) MUST_USE;

const char *docker_engine_socket(const struct docker_engine *engine);

struct docker_request {
    const char *method;
    const char *path;  /* after the version: "/networks/create" */
    const char *body;  /* JSON or NULL */
    const char *doing; /* "creating network oce-…": stands in every fault's message */
    bool slow;         /* the Engine works for this one (create, remove): it gets a longer limit */
};

/* Sends a request and reads its answer, which hangs on call->memory. Any answer that means something is
 * success; docker_answer_fault() has words for those that the caller does not expect. Never lasts beyond
 * call->deadline_ms.
 *
 * Faults: FAULT_RETRYABLE DOCKER_ENGINE_UNAVAILABLE (no socket, refused, denied, cut, too slow: the message
 * names the path and the stage), DOCKER_ANSWER_INVALID, DOCKER_API_UNSUPPORTED; or the watch's. */
bool docker_engine_send(struct docker_engine *engine, const struct driver_call *call,
                        const struct docker_request *request, struct docker_answer *answer,
                        struct fault *fault) MUST_USE;

/* What an Engine says about itself. Podman's service is not told apart: it keeps the API's promises, and
 * where it has words of its own they are known (lib/docker/answer.h). */
struct docker_facts {
    int oldest; /* minor numbers of its API's range; 0 where it does not say */
    int newest;
    bool is_linux;
};

/* Asks for it. Faults as above. */
bool docker_engine_describe(struct docker_engine *engine, const struct driver_call *call, const char *doing,
                            struct docker_facts *facts, struct fault *fault) MUST_USE;

/* The minor number of an API version "1.N"; an unknown major counts as newer than all. False for anything
 * that is no version. */
bool docker_api_from_text(const char *text, int *minor) MUST_USE;

#endif
