/* SPDX-License-Identifier: MIT
 *
 * Networks of an Engine: finding those that carry a name, and single requests on one of them.
 *
 * Names are not unique in Docker before API 1.44, and in Podman an ID is made from the name; so a network is
 * found by name, proved by its labels, acted on by ID, and proved again right before it is removed.
 */
#ifndef OCC_DOCKER_NETWORK_H
#define OCC_DOCKER_NETWORK_H

#include "lib/docker/engine.h"
#include "lib/docker/labels.h"

struct docker_network {
    const char *id;
    const char *created; /* as the Engine writes it: RFC 3339 with a fraction of any length */
    const char *driver;
    size_t endpoints; /* known after docker_network_inspect() only */
};

/* Every network with exactly one name. */
struct docker_networks {
    const char *name;
    size_t count;
    struct docker_network *ours;
};

/* What is attached to a network. */
struct docker_endpoint {
    const char *container; /* its ID; "ep-…" when Docker knows no container to it */
    const char *name;
};

struct docker_endpoints {
    size_t count;
    struct docker_endpoint *endpoint;
};

/* All networks named `name`. Fault: FAULT_PERMANENT OWNERSHIP_CONFLICT when one of them is not the owner's:
 * the message names it and the first label that does not fit; or the Engine's. */
bool docker_network_find(struct docker_engine *engine, const struct driver_call *call, const char *name,
                         const struct docker_owner *owner, struct docker_networks *networks,
                         struct fault *fault) MUST_USE;

/* Asks for a bridge network with the owner's labels. *created is false when the name is taken. Fault:
 * DOCKER_ADDRESS_POOL_EXHAUSTED and the others of docker_answer_fault(). */
bool docker_network_create(struct docker_engine *engine, const struct driver_call *call, const char *name,
                           const struct docker_owner *owner, bool *created, struct fault *fault) MUST_USE;

/* Reads one network by ID, proves that it is still the owner's, and tells what is attached to it. *there is
 * false when it is gone. Fault: OWNERSHIP_CONFLICT; or the Engine's. */
bool docker_network_inspect(struct docker_engine *engine, const struct driver_call *call, const char *name,
                            const char *id, const struct docker_owner *owner, bool *there,
                            struct docker_endpoints *endpoints, struct fault *fault) MUST_USE;

/* Detaches a container, by ID or name, running or not; one that is not attached is no fault. */
bool docker_network_disconnect(struct docker_engine *engine, const struct driver_call *call, const char *name,
                               const char *id, const char *container, struct fault *fault) MUST_USE;

/* Removes one by ID; one that is gone is no fault. *in_use: something is attached, and it stays. */
bool docker_network_remove(struct docker_engine *engine, const struct driver_call *call, const char *name,
                           const char *id, bool *in_use, struct fault *fault) MUST_USE;

/* Orders networks by age, oldest first, and by ID where that is equal. */
int docker_network_compare(const struct docker_network *one, const struct docker_network *other);

#endif
