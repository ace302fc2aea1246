/* SPDX-License-Identifier: MIT
 *
 * Agents: admission of all that is asked about them, and what of them a caller may see.
 *
 * Everywhere `namespace_text` is the Namespace by ID or exact name, and `text` the Agent by ID or exact name
 * in it; without a Namespace (NULL) an Agent is found by its ID alone.
 *
 * Faults of all: FAULT_DENIED; FAULT_NOT_FOUND NAMESPACE_NOT_FOUND, AGENT_NOT_FOUND; FAULT_INVALID
 * NAMESPACE_REQUIRED for a name without a Namespace; FAULT_CONFLICT AGENT_DELETING for changes of one that is
 * being deleted.
 */
#ifndef OCC_ADMIT_AGENT_H
#define OCC_ADMIT_AGENT_H

#include "lib/admit/caller.h"
#include "lib/driver/compute.h"
#include "lib/driver/configuration.h"
#include "lib/driver/sandbox.h"

/* What an admission leaves behind. */
struct agent_admission {
    char id[IDENTIFIER_SIZE];
    const char *name;
    const char *work_id; /* the work that makes it true; NULL: none is needed */
    bool changed;        /* false: it was so, or under way, already, and nothing was written */
    /* Of a deployment its revision; of a stop the one whose deployment is under way, and ends. 0: none. */
    int64_t revision_number;
};

/* What is asked for; NULL: not given. */
struct agent_request {
    const char *configuration;  /* ID */
    const char *execution_mode; /* "embedded", "dedicated" */
    /* "METHOD=SOURCE": api_key or codex_pat and a Secret, or chatgpt_service_account and a service account;
     * of the same Namespace, by ID or exact name. */
    const char *harness_auth;
    bool no_harness_auth; /* it goes */
};

/* Creates one, with the service principal that is its own for ever; configuration and execution_mode are
 * given. Asks for agent:create on the Namespace. Audit: openclaw.agents.create.
 *
 * Faults besides: FAULT_INVALID NAME_INVALID, HARNESS_AUTH_INVALID, HARNESS_AUTH_UNSUPPORTED; FAULT_NOT_FOUND
 * CONFIGURATION_NOT_FOUND, SECRET_NOT_FOUND, SERVICE_ACCOUNT_NOT_FOUND; FAULT_CONFLICT AGENT_NAME_TAKEN,
 * NAMESPACE_NOT_OPEN. */
bool agent_create(struct caller *caller, const void *context, const char *namespace_text, const char *name,
                  const struct agent_request *request, struct agent_admission *admitted,
                  struct fault *fault) MUST_USE;

/* Changes the draft: what is deployed stays as it was deployed. Asks for agent:update. Audit:
 * openclaw.agents.update. Faults besides: those of creation. */
bool agent_change(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  const struct agent_request *request, struct agent_admission *admitted,
                  struct fault *fault) MUST_USE;

/* What a deployment is made with. */
struct agent_drivers {
    const struct configuration_driver *configuration;
    const struct compute_driver *compute;
    const struct secret_driver *secret;   /* NULL: none is selected */
    const struct sandbox_driver *sandbox; /* NULL: none is selected */
    const char *log_level;                /* of the startup YAML: "info" */
};

/* Admits the draft for deployment: the next revision, immutable, and its work. Asks by what the revision
 * freezes: agent:deploy, configuration:read, secret:operate on every Secret that is bound or authenticates
 * the Harness, for the caller and for the Agent's service principal, and service_account:read for the caller
 * where an account authenticates it. Audit: openclaw.agents.deploy.
 *
 * Faults besides: FAULT_CONFLICT NAMESPACE_NOT_READY, HARNESS_AUTH_REQUIRED, SECRET_DRIVER_MISMATCH, those
 * of lib/admit/harness_selection.h and configuration.h, and what Compute refuses with its own code;
 * FAULT_UNAVAILABLE HARNESS_AUTH_VALIDATION_UNAVAILABLE where Compute cannot tell. */
bool agent_deploy(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  const struct agent_drivers *drivers, struct agent_admission *admitted,
                  struct fault *fault) MUST_USE;

/* Asks that nothing of it runs; each request is work of its own. Asks for agent:operate. Audit:
 * openclaw.agents.stop. */
bool agent_stop(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                struct agent_admission *admitted, struct fault *fault) MUST_USE;

/* Deletes it; a deletion that failed is queued again, and one that is under way is left alone. Asks for
 * agent:delete. Audit: openclaw.agents.delete. Fault besides: FAULT_CONFLICT DELETION_HELD. */
bool agent_delete(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  struct agent_admission *admitted, struct fault *fault) MUST_USE;

/* The document of one; see lib/store/agent_list.h. Asks for agent:read. */
bool agent_get(struct caller *caller, const void *context, const char *namespace_text, const char *text,
               const cJSON **found, struct fault *fault) MUST_USE;

/* All for which the caller has agent:read, of one Namespace or of all. */
bool agent_list(struct caller *caller, const void *context, const char *namespace_text, const cJSON **rows,
                struct fault *fault) MUST_USE;

/* How it stands, for people: id name namespaceName state activeRevision newestRevision, work{… meaning …} as
 * lib/store/work_list.h has it with the code's sentence, failure{component check checkedAt code} of the
 * runtime, warnings (sentences), error (a sentence, where the state is "failed"). Asks for agent:read. */
bool agent_status(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                  const cJSON **status, struct fault *fault) MUST_USE;

/* Its revisions for which the caller has agent_revision:read, oldest first. Asks for agent:read as well. */
bool agent_revisions(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                     const cJSON **rows, struct fault *fault) MUST_USE;

#endif
