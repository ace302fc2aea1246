/* SPDX-License-Identifier: MIT
 *
 * What a Namespace leaves behind beside its network: containers and volumes that carry its labels. They are
 * looked for on every deletion, also when the network is already gone (K106).
 */
#ifndef OCC_DOCKER_LEFTOVERS_H
#define OCC_DOCKER_LEFTOVERS_H

#include "lib/docker/engine.h"
#include "lib/docker/labels.h"

/* What carries the owner's labels, as IDs of containers and names of volumes. */
struct docker_leftovers {
    size_t containers;
    const char **container;
    size_t volumes;
    const char **volume;
};

/* Lists them. Faults: the Engine's. */
bool docker_leftovers_find(struct docker_engine *engine, const struct driver_call *call,
                           const struct docker_owner *owner, struct docker_leftovers *leftovers,
                           struct fault *fault) MUST_USE;

/* Removes them, running containers too. What is gone meanwhile is no fault. Faults: FAULT_PENDING
 * DOCKER_VOLUME_IN_USE where a container without our labels uses one, DOCKER_REMOVAL_IN_PROGRESS; or the
 * Engine's. */
bool docker_leftovers_remove(struct docker_engine *engine, const struct driver_call *call,
                             const struct docker_leftovers *leftovers, struct fault *fault) MUST_USE;

/* Removes one container by ID, as above. */
bool docker_container_remove(struct docker_engine *engine, const struct driver_call *call, const char *id,
                             struct fault *fault) MUST_USE;

enum docker_container_owner {
    DOCKER_CONTAINER_NONE, /* there is no such container */
    DOCKER_CONTAINER_OURS,
    DOCKER_CONTAINER_FOREIGN,
};

/* Whose a container is, by ID or name. Faults: the Engine's. */
bool docker_container_look(struct docker_engine *engine, const struct driver_call *call,
                           const char *container, const struct docker_owner *owner,
                           enum docker_container_owner *whose, struct fault *fault) MUST_USE;

#endif
