/* SPDX-License-Identifier: MIT
 *
 * The Compute contract: what a Driver must do with Namespaces, Agents and their revisions. How operations end
 * stands in lib/driver/call.h.
 */
#ifndef OCC_DRIVER_COMPUTE_H
#define OCC_DRIVER_COMPUTE_H

#include "lib/driver/call.h"
#include "lib/driver/subject.h"

#define COMPUTE_WARNINGS 4
#define COMPUTE_WORD_SIZE 64

/* What is wrong with a runtime that is not ready. */
struct compute_failure {
    char component[COMPUTE_WORD_SIZE]; /* "gateway"; "": none */
    char check[COMPUTE_WORD_SIZE];     /* "readiness-probe" */
    char code[FAULT_CODE_SIZE];        /* "CRASH_LOOP" */
    int64_t checked_at_ms;             /* since the epoch, UTC */
};

/* What a Driver says it saw. It names what it speaks of: the Namespace, and where the operation is about an
 * Agent or a revision those too. One that names another is refused by the caller as
 * INVALID_DRIVER_OBSERVATION. */
struct compute_observation {
    char namespace_id[IDENTIFIER_SIZE];
    char agent_id[IDENTIFIER_SIZE];
    char revision_id[IDENTIFIER_SIZE];
    size_t warnings;
    struct {
        char code[FAULT_CODE_SIZE];
        char message[FAULT_MESSAGE_SIZE];
    } warning[COMPUTE_WARNINGS];
    struct compute_failure failure;
};

/* One operation on a Namespace. */
typedef bool (*compute_namespace_operation)(void *self, const struct driver_call *call,
                                            const struct subject_namespace *subject,
                                            struct compute_observation *seen, struct fault *fault);
/* One operation on a revision. */
typedef bool (*compute_revision_operation)(void *self, const struct driver_call *call,
                                           const struct subject_revision *revision,
                                           struct compute_observation *seen, struct fault *fault);
/* One operation on an Agent as a whole. */
typedef bool (*compute_agent_operation)(void *self, const struct driver_call *call,
                                        const struct subject_agent *agent, struct compute_observation *seen,
                                        struct fault *fault);

/* The operations; a Driver fills one static table. `self` is what its open function made. A Driver without
 * prepare_revision runs no Agents, and everything after it is NULL too. */
struct compute_operations {
    /* Checks credentials, reachability and versions without changing anything. Warnings go into `seen`. */
    bool (*preflight)(void *self, const struct driver_call *call, struct compute_observation *seen,
                      struct fault *fault);
    compute_namespace_operation ensure_namespace; /* there, and ready for Agents */
    compute_namespace_operation delete_namespace; /* all that belongs to it is gone */
    /* At deployment, without side effects: whether a Harness may authenticate so. FAULT_PERMANENT with why
     * not. NULL: nothing can be deployed. */
    bool (*validate_harness_auth)(void *self, const struct driver_call *call,
                                  const struct subject_harness *harness, struct fault *fault);
    compute_agent_operation bind_agent; /* before a revision is prepared; may be NULL */
    /* Whether every earlier revision must be stopped before this one is prepared. NULL: never. */
    bool (*needs_stopped_predecessors)(void *self, const struct subject_revision *revision);
    compute_revision_operation prepare_revision;    /* there and ready, without being served */
    compute_revision_operation activate_revision;   /* served */
    compute_revision_operation deactivate_revision; /* not served; may be NULL in development only */
    compute_revision_operation stop_revision;       /* runs no more; what it keeps stays */
    compute_revision_operation retire_revision;     /* all that belongs to it alone is gone */
    /* May be NULL; where it is not, delete_agent_credentials is there too. */
    compute_agent_operation provision_agent_credentials;
    compute_agent_operation delete_agent_credentials; /* all that belongs to the Agent as a whole is gone */
};

enum compute_order {
    COMPUTE_ACTIVATES_AFTER_COMMIT,  /* the database says "active" first, the route follows */
    COMPUTE_ACTIVATES_BEFORE_COMMIT, /* the route first */
};

struct compute_driver {
    const char *id;             /* as selected: "compute-docker-development" */
    const char *implementation; /* as recorded: "docker-local" */
    bool supports_existing_namespaces;
    enum compute_order order;
    int64_t maintenance_interval_ms; /* 0: asks for no maintenance passes */
    const struct compute_operations *operations;
    void *self;
};

/* Whether the Driver can run Agents at all. */
bool compute_runs_agents(const struct compute_driver *driver);

/* Adds a warning; more than COMPUTE_WARNINGS are dropped. */
void compute_warn(struct compute_observation *seen, const char *code, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
