/* SPDX-License-Identifier: MIT
 *
 * The Sandbox contract: what surrounds a dedicated Harness. Used by a Compute Driver that supports one.
 */
#ifndef OCC_DRIVER_SANDBOX_H
#define OCC_DRIVER_SANDBOX_H

#include "lib/driver/compute.h"

enum sandbox_facet {
    SANDBOX_NETWORKING = 1,
    SANDBOX_FILESYSTEM = 2,
    SANDBOX_PROCESS = 4,
    SANDBOX_ALL = 7,
};

/* All but cleanup may be NULL; each of them comes before what it is about is prepared. */
struct sandbox_operations {
    bool (*preflight)(void *self, const struct driver_call *call, struct fault *fault) MUST_USE;
    bool (*ensure_namespace)(void *self, const struct driver_call *call,
                             const struct subject_namespace *wanted, struct compute_observation *seen,
                             struct fault *fault) MUST_USE;
    bool (*configure_agent)(void *self, const struct driver_call *call,
                            const struct subject_revision *revision, struct compute_observation *seen,
                            struct fault *fault) MUST_USE;
    /* Provides the Harness itself; *endpoint, which hangs on the call's memory, is where the gateway reaches
     * it. */
    bool (*provision_harness)(void *self, const struct driver_call *call,
                              const struct subject_revision *revision, const char **endpoint,
                              struct compute_observation *seen, struct fault *fault) MUST_USE;
    /* Nothing of this revision (NULL: of the whole Agent) is left. */
    bool (*cleanup)(void *self, const struct driver_call *call, const struct subject_agent *agent,
                    const struct subject_revision *revision, struct compute_observation *seen,
                    struct fault *fault) MUST_USE;
};

struct sandbox_driver {
    const char *id;
    unsigned facets; /* of enum sandbox_facet */
    const struct sandbox_operations *operations;
    void *self;
};

#endif
