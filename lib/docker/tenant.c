/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/tenant.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/docker/leftovers.h"
#include "lib/docker/network.h"
#include "lib/driver/name.h"

/* How often a lost race is read again within one pass; the next pass goes on from there. */
#define ROUNDS 5
/* How many foreign containers a message names. */
#define NAMED 3

static bool check_driver(const struct docker_engine *engine, const struct docker_networks *networks,
                         struct fault *fault)
{
    const struct docker_network *network = &networks->ours[0];

    if (text_equal(network->driver, "bridge"))
        return true;
    return fault_set(
        fault, FAULT_PERMANENT, "DOCKER_NETWORK_UNSUITABLE",
        "The network %s (%.12s) of the Engine at %s carries this Namespace's labels, but its driver is "
        "%.32s, not bridge",
        networks->name, network->id, docker_engine_socket(engine), network->driver);
}

/* Of two networks with our name and labels the one in use is kept, then the older: whoever else converges at
 * the same time chooses the same one. */
static bool is_better(const struct docker_network *one, const struct docker_network *other)
{
    if ((one->endpoints > 0) != (other->endpoints > 0))
        return one->endpoints > 0;
    return docker_network_compare(one, other) < 0;
}

static bool converge(struct docker_engine *engine, const struct driver_call *call,
                     const struct docker_owner *owner, const struct docker_networks *networks,
                     struct fault *fault)
{
    struct docker_network *kept = NULL;
    struct docker_endpoints endpoints;
    size_t index;

    for (index = 0; index < networks->count; index++) {
        struct docker_network *network = &networks->ours[index];
        bool there;

        if (!docker_network_inspect(engine, call, networks->name, network->id, owner, &there, &endpoints,
                                    fault))
            return false;
        if (!there)
            return true; /* somebody else converges: read again */
        network->endpoints = endpoints.count;
        if (kept == NULL || is_better(network, kept))
            kept = network;
    }
    for (index = 0; index < networks->count; index++) {
        const struct docker_network *network = &networks->ours[index];
        bool in_use = false;

        if (network == kept)
            continue;
        if (network->endpoints == 0 &&
            !docker_network_remove(engine, call, networks->name, network->id, &in_use, fault))
            return false;
        if (network->endpoints > 0 || in_use)
            return fault_set(
                fault, FAULT_PENDING, "DOCKER_NETWORK_DUPLICATED",
                "The Engine at %s has more than one network %s in use, among them %.12s and %.12s; "
                "detach what is attached to one of them",
                docker_engine_socket(engine), networks->name, kept->id, network->id);
    }
    return true;
}

static bool observe(const struct docker_engine *engine, const struct docker_networks *networks,
                    struct fault *fault)
{
    if (networks->count == 0)
        return fault_set(fault, FAULT_PENDING, "DOCKER_NETWORK_MISSING",
                         "The Engine at %s has no network %s yet", docker_engine_socket(engine),
                         networks->name);
    if (networks->count > 1)
        return fault_set(fault, FAULT_PENDING, "DOCKER_NETWORK_DUPLICATED",
                         "The Engine at %s has %zu networks named %s", docker_engine_socket(engine),
                         networks->count, networks->name);
    return check_driver(engine, networks, fault);
}

bool docker_tenant_ensure(struct docker_engine *engine, const struct driver_call *call,
                          const struct docker_owner *owner, struct fault *fault)
{
    char name[DRIVER_NAME_SIZE];
    struct docker_networks networks;
    int round;

    driver_name(name, owner->namespace_id);
    for (round = 0; round < ROUNDS; round++) {
        bool created;

        if (!docker_network_find(engine, call, name, owner, &networks, fault))
            return false;
        if (call->observe_only)
            return observe(engine, &networks, fault);
        if (networks.count == 1)
            return check_driver(engine, &networks, fault);
        /* What was created is read again by name: only that shows whether it is the only one. */
        if (networks.count == 0 && !docker_network_create(engine, call, name, owner, &created, fault))
            return false;
        if (networks.count > 1 && !converge(engine, call, owner, &networks, fault))
            return false;
    }
    return fault_set(
        fault, FAULT_PENDING, "DOCKER_NETWORK_CONTENDED",
        "The network %s of the Engine at %s is created and removed by somebody else at the same time", name,
        docker_engine_socket(engine));
}

/* Takes our own and stale endpoints off a network; counts and names the rest. */
static bool detach(struct docker_engine *engine, const struct driver_call *call,
                   const struct docker_owner *owner, const struct docker_networks *networks, const char *id,
                   const struct docker_endpoints *endpoints, size_t *foreign, char **names,
                   struct fault *fault)
{
    size_t index;

    *foreign = 0;
    *names = mem_text(call->memory, "");
    for (index = 0; index < endpoints->count; index++) {
        const struct docker_endpoint *endpoint = &endpoints->endpoint[index];
        const bool nameless = strncmp(endpoint->container, "ep-", 3) == 0;
        const char *container = nameless ? endpoint->name : endpoint->container;
        enum docker_container_owner whose;

        if (!docker_container_look(engine, call, container, owner, &whose, fault))
            return false;
        if (whose == DOCKER_CONTAINER_OURS) { /* came after the leftovers were listed */
            if (!docker_container_remove(engine, call, container, fault))
                return false;
        } else if (whose == DOCKER_CONTAINER_NONE) {
            /* A stale endpoint: its container is gone, and Docker finds it by the container's name (K70). */
            if (!docker_network_disconnect(engine, call, networks->name, id, endpoint->name, fault))
                return false;
        } else {
            if (*foreign < NAMED)
                *names = mem_append(*names, "%s%.64s", *foreign == 0 ? "" : ", ", endpoint->name);
            *foreign += 1;
        }
    }
    if (*foreign > NAMED)
        *names = mem_append(*names, " and %zu more", *foreign - NAMED);
    return true;
}

static bool remove_network(struct docker_engine *engine, const struct driver_call *call,
                           const struct docker_owner *owner, const struct docker_networks *networks,
                           const char *id, struct fault *fault)
{
    struct docker_endpoints endpoints;
    size_t foreign;
    char *names;
    bool there;
    bool in_use;

    if (!docker_network_inspect(engine, call, networks->name, id, owner, &there, &endpoints, fault))
        return false;
    if (!there)
        return true;
    if (!detach(engine, call, owner, networks, id, &endpoints, &foreign, &names, fault))
        return false;
    if (foreign > 0)
        return fault_set(
            fault, FAULT_PENDING, "DOCKER_NETWORK_IN_USE",
            "The network %s of the Engine at %s stays, as containers are attached to it that are not "
            "this Namespace's: %s",
            networks->name, docker_engine_socket(engine), names);
    if (!docker_network_remove(engine, call, networks->name, id, &in_use, fault))
        return false;
    if (in_use)
        return fault_set(
            fault, FAULT_PENDING, "DOCKER_NETWORK_IN_USE",
            "The Engine at %s says that the network %s is in use, but shows no container of it; a "
            "restart of the Engine clears stale endpoints",
            docker_engine_socket(engine), networks->name);
    return true;
}

static bool look(struct docker_engine *engine, const struct driver_call *call, const char *name,
                 const struct docker_owner *owner, struct docker_networks *networks,
                 struct docker_leftovers *leftovers, bool *nothing, struct fault *fault)
{
    if (!docker_network_find(engine, call, name, owner, networks, fault) ||
        !docker_leftovers_find(engine, call, owner, leftovers, fault))
        return false;
    *nothing = networks->count + leftovers->containers + leftovers->volumes == 0;
    return true;
}

static bool present(const struct docker_engine *engine, const struct docker_owner *owner,
                    const struct docker_networks *networks, const struct docker_leftovers *leftovers,
                    struct fault *fault)
{
    return fault_set(fault, FAULT_PENDING, "DOCKER_NAMESPACE_PRESENT",
                     "The Engine at %s still has of Namespace %s: %zu networks, %zu containers, %zu volumes",
                     docker_engine_socket(engine), owner->namespace_id, networks->count,
                     leftovers->containers, leftovers->volumes);
}

bool docker_tenant_delete(struct docker_engine *engine, const struct driver_call *call,
                          const struct docker_owner *owner, struct fault *fault)
{
    char name[DRIVER_NAME_SIZE];
    struct docker_networks networks;
    struct docker_leftovers leftovers;
    size_t index;
    bool nothing;

    driver_name(name, owner->namespace_id);
    if (!look(engine, call, name, owner, &networks, &leftovers, &nothing, fault))
        return false;
    if (nothing)
        return true;
    if (call->observe_only)
        return present(engine, owner, &networks, &leftovers, fault);
    if (!docker_leftovers_remove(engine, call, &leftovers, fault))
        return false;
    for (index = 0; index < networks.count; index++)
        if (!remove_network(engine, call, owner, &networks, networks.ours[index].id, fault))
            return false;
    /* That an Engine said "gone" is no proof, and something may have come meanwhile; but a deleted Namespace
     * is never looked at again. */
    if (!look(engine, call, name, owner, &networks, &leftovers, &nothing, fault))
        return false;
    return nothing || present(engine, owner, &networks, &leftovers, fault);
}
