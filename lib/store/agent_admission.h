/* SPDX-License-Identifier: MIT
 *
 * Agents as admissions see and change them. Lock order: Namespace, Agent, work. Everything here runs in the
 * caller's transaction.
 *
 * What orders a deployment against a stop is the Agent's lock, and the times that they leave say the same:
 * each is the time of a statement that was sent when the lock was held.
 */
#ifndef OCC_STORE_AGENT_ADMISSION_H
#define OCC_STORE_AGENT_ADMISSION_H

#include "lib/io/pg.h"

struct agent_row {
    const char *id;
    const char *namespace_id;
    const char *name;
    const char *configuration_id;
    const char *execution_mode; /* "embedded", "dedicated" */
    const char *service_principal_id;
    const char *harness_auth; /* {"method":…}; NULL: none */
    const char *harness_auth_secret_id;
    const char *harness_auth_service_account_id;
    const char *desired_runtime_state; /* "running", "stopped" */
    const char *status;                /* "active", "deleting" */
    bool deployed;                     /* it has a revision */
};

/* By identifier or exact name in the Namespace; with NULL as `namespace_id`, by identifier only, wherever it
 * is. `lock` keeps others from changing it until the transaction ends. *found is NULL where there is none; it
 * hangs on `context`. */
bool agent_find(struct pg *connection, const void *context, const char *namespace_id, const char *text,
                bool lock, const struct watch *watch, struct agent_row **found, struct fault *fault) MUST_USE;

/* What is drafted: identifiers that were found, and JSON. */
struct agent_draft {
    const char *configuration_id;
    const char *execution_mode;
    const char *harness_auth; /* NULL: none */
};

/* The Agent, and the service principal that is its own for ever. *inserted is false, and nothing was written,
 * where the name is taken: a concurrent admission's end is waited for. */
bool agent_insert(struct pg *connection, const char *id, const char *namespace_id, const char *name,
                  const char *service_principal_id, const struct agent_draft *draft,
                  const struct watch *watch, bool *inserted, struct fault *fault) MUST_USE;

/* *changed is false where everything was so already. */
bool agent_update(struct pg *connection, const char *id, const struct agent_draft *draft,
                  const struct watch *watch, bool *changed, struct fault *fault) MUST_USE;

/* What a revision freezes; see occ.is_admitted_spec(). */
struct agent_revision_draft {
    const char *id; /* "rev_…" */
    const struct agent_row *agent;
    const char *configuration_kind;
    int64_t configuration_generation;
    const char *draft_spec;      /* JSON */
    const char *secret_bindings; /* JSON */
    const char *harness_id;
    const char *harness_version;
    const char *compute_id;
    const char *compute_implementation;
    const char *secret_driver_id;  /* NULL: none */
    const char *sandbox_driver_id; /* NULL: none */
};

/* The next revision of an Agent that is locked, the wish that it runs, and the work. */
bool agent_deploy_insert(struct pg *connection, const struct agent_revision_draft *revision,
                         const char *actor_id, const struct watch *watch, int64_t *number,
                         struct fault *fault) MUST_USE;

/* The wish that it does not run, and the work under its key. */
bool agent_stop_insert(struct pg *connection, const struct agent_row *agent, const char *work_id,
                       const char *actor_id, const struct watch *watch, struct fault *fault) MUST_USE;

/* `deleting`, and the work of it. */
bool agent_begin_delete(struct pg *connection, const struct agent_row *agent, const char *actor_id,
                        const struct watch *watch, struct fault *fault) MUST_USE;

/* Work keys; they hang on `context`. */
const char *agent_revision_work_key(const void *context, const char *revision_id)
    __attribute__((returns_nonnull));
const char *agent_stop_work_key(const void *context, const char *agent_id, const char *uuid)
    __attribute__((returns_nonnull));
const char *agent_delete_work_key(const void *context, const char *agent_id) __attribute__((returns_nonnull));

/* The number of the newest revision whose deployment has not ended yet; 0: there is none. */
bool agent_deployment_under_way(struct pg *connection, const char *id, const struct watch *watch,
                                int64_t *number, struct fault *fault) MUST_USE;

/* Of the Secrets `ids`, one that another Driver than `driver_id` (NULL: none) keeps, and which. *id is NULL
 * where all are its own. They hang on `context`. */
bool agent_secret_elsewhere(struct pg *connection, const void *context, const char *const *ids, size_t count,
                            const char *driver_id, const struct watch *watch, const char **id,
                            const char **keeper, struct fault *fault) MUST_USE;

#endif
