/* SPDX-License-Identifier: MIT
 *
 * A reconciler: claims one item at a time and makes it true. One connection, one claim, one context a pass.
 */
#ifndef OCC_RECONCILE_RECONCILER_H
#define OCC_RECONCILE_RECONCILER_H

#include "lib/base/secret.h"
#include "lib/driver/authority.h"
#include "lib/driver/compute.h"
#include "lib/reconcile/host.h"

struct reconciler_options {
    const struct secret *database_url;
    const char *installation_id;
    bool production;
    const struct compute_driver *compute;
    const struct secret_driver *secrets; /* NULL: none is selected */
    const char *sandbox_driver_id;       /* NULL: none is selected */
    bool sandbox_provisions;             /* it provides whole Harnesses, with all facets */
    const struct authority *authority;   /* an installed IAM Driver; NULL: native IAM */
    unsigned max_attempts;
    int lease_duration_ms;
    int convergence_timeout_ms;
    int database_timeout_ms;
};

struct reconciler;

/* Makes a reconciler that hangs on `context`; it connects when it first has something to do. All of `options`
 * and `host` is borrowed and must outlive it. */
struct reconciler *reconciler_new(const void *context, const struct reconciler_options *options,
                                  const struct reconcile_host *host) __attribute__((returns_nonnull));

enum reconciler_rest {
    RECONCILER_IDLE,    /* nothing eligible is left: wait for the next "go" */
    RECONCILER_STOPPED, /* the host said finish or abort, or is gone: nothing is held any more */
    RECONCILER_LIMIT,   /* `pass_limit` passes are done: nothing is held any more */
};

/* Claims and carries out work until nothing is eligible, the host ends it, or `pass_limit` passes are done
 * (*passes counts up). A database that does not answer is waited for here with capped backoff, hearing the
 * host all the while. False only for what this process cannot go on from (FAULT_CONFIGURATION, FAULT_BUG). */
bool reconciler_run(struct reconciler *reconciler, uint64_t pass_limit, uint64_t *passes,
                    enum reconciler_rest *rest, struct fault *fault) MUST_USE;

#endif
