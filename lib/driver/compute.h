/* SPDX-License-Identifier: MIT
 *
 * The Compute contract: what a Driver must do with a Namespace (and, with later interfaces, with Agents).
 *
 * Every operation is idempotent and safe to repeat after a crash at any point. It returns true when the thing
 * is as asked (ready, or gone), and false with a fault otherwise: FAULT_PENDING (converging: look again
 * later), FAULT_RETRYABLE (failed, an attempt is spent), FAULT_PERMANENT (will not succeed),
 * FAULT_CONFIGURATION (preflight only), or the fault of the call's watch passed on unchanged. Codes are the
 * Driver's own, as precise as it can be. A Driver knows nothing of SQL, leases or the queue.
 */
#ifndef OCC_DRIVER_COMPUTE_H
#define OCC_DRIVER_COMPUTE_H

#include "lib/base/fault.h"
#include "lib/base/identifier.h"
#include "lib/io/watch.h"

/* What a Driver gets with every operation. */
struct compute_call {
    const void *memory;        /* the pass's context: results and scratch hang on it */
    const struct watch *watch; /* hand it to every wait: it renews the claim and hears the supervisor */
    const char *installation_id;
    int64_t deadline_ms; /* clock_now_ms: no request may last beyond it */
    bool observe_only;   /* only look whether the thing is as asked; change nothing (a deletion past its
                            deadline) */
};

struct compute_namespace {
    const char *id;                 /* "ns_…" */
    const char *name;               /* for people; never part of an identity */
    const char *existing_namespace; /* the adopted namespace's name, or NULL */
};

#define COMPUTE_WARNINGS 4

/* What a Driver says it saw. It names the Namespace that it speaks of; one that names another is refused by
 * the caller as INVALID_DRIVER_OBSERVATION. */
struct compute_observation {
    char namespace_id[IDENTIFIER_SIZE];
    size_t warnings;
    struct {
        char code[FAULT_CODE_SIZE];
        char message[FAULT_MESSAGE_SIZE];
    } warning[COMPUTE_WARNINGS];
};

struct compute_driver;

/* The operations; a Driver fills one static table. `self` is what its open function made. */
struct compute_operations {
    /* Checks credentials, reachability and versions without changing anything. Warnings go into `seen`. */
    bool (*preflight)(void *self, const struct compute_call *call, struct compute_observation *seen,
                      struct fault *fault);
    bool (*ensure_namespace)(void *self, const struct compute_call *call,
                             const struct compute_namespace *wanted, struct compute_observation *seen,
                             struct fault *fault);
    bool (*delete_namespace)(void *self, const struct compute_call *call,
                             const struct compute_namespace *unwanted, struct compute_observation *seen,
                             struct fault *fault);
};

struct compute_driver {
    const char *id;             /* as selected: "compute-docker-development" */
    const char *implementation; /* as recorded: "docker-local" */
    bool supports_existing_namespaces;
    const struct compute_operations *operations;
    void *self;
};

/* Adds a warning; more than COMPUTE_WARNINGS are dropped. */
void compute_warn(struct compute_observation *seen, const char *code, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
