/* SPDX-License-Identifier: MIT
 *
 * The Secret contract: who keeps Secrets' values. The database keeps only their places.
 */
#ifndef OCC_DRIVER_SECRET_H
#define OCC_DRIVER_SECRET_H

#include "lib/base/secret.h"
#include "lib/driver/call.h"

struct subject_namespace;

/* Where a value is. */
struct secret_place {
    const char *secret_id; /* "sec_…" */
    const char *driver_id; /* the Driver that keeps it */
    const char *namespace_id;
    const char *backend_namespace_name;
    const char *backend_name;
    const char *backend_key;
    const char *backend_uid; /* NULL: not known */
};

/* Where a value was put. */
struct secret_kept {
    char backend_namespace_name[254];
    char backend_name[254];
    char backend_key[254];
    char backend_uid[201]; /* "": has none */
};

struct secret_operations {
    /* Credentials and reachability, without changing anything. May be NULL. */
    bool (*preflight)(void *self, const struct driver_call *call, struct fault *fault) MUST_USE;
    /* Keeps a value, or replaces the one that this Secret had. FAULT_PENDING NAMESPACE_NOT_READY promises
     * that it is nowhere, as the place for it is still being made. */
    bool (*store)(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                  const char *secret_id, const struct secret *value, struct secret_kept *kept,
                  struct fault *fault) MUST_USE;
    /* The value hangs on the call's memory. FAULT_PERMANENT SECRET_VALUE_MISSING where there is none. */
    bool (*read)(void *self, const struct driver_call *call, const struct secret_place *place,
                 const struct secret **value, struct fault *fault) MUST_USE;
    bool (*remove)(void *self, const struct driver_call *call, const struct secret_place *place,
                   struct fault *fault) MUST_USE;
};

struct secret_driver {
    const char *id; /* "secret-kubernetes" */
    const struct secret_operations *operations;
    void *self;
};

#endif
