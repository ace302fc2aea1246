/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/driver.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/docker/network.h"
#include "lib/docker/socket.h"
#include "lib/docker/tenant.h"
#include "lib/driver/name.h"

#define IMPLEMENTATION "docker-local"

struct docker_driver {
    struct compute_driver driver;
    struct docker_engine *engine;
};

/* At the start nothing is retried by attempts: a fault either needs an operator or may pass by itself. */
static bool at_start(const struct docker_engine *engine, struct fault *fault)
{
    static const char *const settings[] = {"DOCKER_ANSWER_INVALID", "DOCKER_API_UNSUPPORTED",
                                           "DOCKER_ACCESS_DENIED"};
    char reason[DOCKER_SOCKET_REASON_SIZE];
    enum docker_socket_state state;
    size_t index;

    if (fault->class != FAULT_RETRYABLE)
        return false;
    fault->class = FAULT_UNAVAILABLE;
    for (index = 0; index < COUNT_OF(settings); index++)
        if (fault_is(fault, settings[index]))
            fault->class = FAULT_CONFIGURATION;
    if (text_equal(fault->cause, "unreachable")) {
        state = docker_socket_look(docker_engine_socket(engine), reason);
        if (state == DOCKER_SOCKET_FOREIGN || state == DOCKER_SOCKET_DENIED)
            fault->class = FAULT_CONFIGURATION;
    }
    return false;
}

static bool preflight(void *self, const struct driver_call *call, struct compute_observation *seen,
                      struct fault *fault)
{
    struct docker_driver *docker = self;
    const struct docker_owner nobody = {.namespace_id = "preflight",
                                        .installation_id = call->installation_id};
    struct docker_networks networks;
    struct docker_facts facts;
    char name[DRIVER_NAME_SIZE];

    *seen = (struct compute_observation){0};
    driver_name(name, nobody.namespace_id);
    if (!docker_engine_describe(docker->engine, call, "asking for the Engine's version", &facts, fault) ||
        !docker_network_find(docker->engine, call, name, &nobody, &networks, fault))
        return at_start(docker->engine, fault);
    if (!facts.is_linux)
        return fault_set(fault, FAULT_CONFIGURATION, "DOCKER_ENGINE_UNSUPPORTED",
                         "The Engine at %s does not run Linux containers",
                         docker_engine_socket(docker->engine));
    return true;
}

static struct docker_owner owner_of(const struct driver_call *call, const struct subject_namespace *tenant)
{
    return (struct docker_owner){.namespace_id = tenant->id, .installation_id = call->installation_id};
}

static void begin(const struct subject_namespace *tenant, struct compute_observation *seen)
{
    *seen = (struct compute_observation){0};
    (void)text_copy(seen->namespace_id, sizeof seen->namespace_id, tenant->id);
}

static bool refuse_existing(const struct subject_namespace *tenant, struct fault *fault)
{
    if (text_is_empty(tenant->existing_namespace))
        return true;
    return fault_set(
        fault, FAULT_PERMANENT, "EXISTING_NAMESPACE_UNSUPPORTED",
        "Namespace %s asks for the existing namespace %s, but the Compute Driver " DOCKER_COMPUTE_ID
        " has none",
        tenant->id, tenant->existing_namespace);
}

static bool ensure_namespace(void *self, const struct driver_call *call,
                             const struct subject_namespace *wanted, struct compute_observation *seen,
                             struct fault *fault)
{
    struct docker_driver *docker = self;
    const struct docker_owner owner = owner_of(call, wanted);

    begin(wanted, seen);
    return refuse_existing(wanted, fault) && docker_tenant_ensure(docker->engine, call, &owner, fault);
}

/* An existing-namespace request never got anything from us, so there is nothing to refuse here: what carries
 * the Namespace's labels goes in any case. */
static bool delete_namespace(void *self, const struct driver_call *call,
                             const struct subject_namespace *unwanted, struct compute_observation *seen,
                             struct fault *fault)
{
    struct docker_driver *docker = self;
    const struct docker_owner owner = owner_of(call, unwanted);

    begin(unwanted, seen);
    return docker_tenant_delete(docker->engine, call, &owner, fault);
}

/* No Engine is asked: there is nothing here that could run an Agent. */
static bool validate_harness_auth(void *self, const struct driver_call *call,
                                  const struct subject_harness *harness, struct fault *fault)
{
    (void)self;
    (void)call;
    (void)harness;
    return fault_set(fault, FAULT_PERMANENT, "HARNESS_AUTH_UNSUPPORTED",
                     "The Compute Driver " DOCKER_COMPUTE_ID
                     " runs no Agents, and so takes no Harness authentication: "
                     "select compute-kubernetes in the startup YAML to deploy them");
}

static const struct compute_operations operations = {
    .preflight = preflight,
    .ensure_namespace = ensure_namespace,
    .delete_namespace = delete_namespace,
    .validate_harness_auth = validate_harness_auth,
};

bool docker_open_compute(const void *context, const char *socket_path, const struct compute_driver **driver,
                         struct fault *fault)
{
    struct docker_driver *docker;

    if (!docker_socket_path_is_valid(socket_path))
        return fault_set(
            fault, FAULT_CONFIGURATION, "DOCKER_HOST_INVALID",
            "DOCKER_HOST must be unix:// and the absolute path of a socket, at most 107 characters long");
    docker = mem_new(context, struct docker_driver);
    if (!docker_engine_open(docker, socket_path, &docker->engine, fault)) {
        talloc_free(docker);
        return false;
    }
    docker->driver = (struct compute_driver){
        .id = DOCKER_COMPUTE_ID,
        .implementation = IMPLEMENTATION,
        .operations = &operations,
        .self = docker,
    };
    *driver = &docker->driver;
    return true;
}
