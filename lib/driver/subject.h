/* SPDX-License-Identifier: MIT
 *
 * What Drivers' operations speak of. Everything is borrowed for the time of the operation.
 */
#ifndef OCC_DRIVER_SUBJECT_H
#define OCC_DRIVER_SUBJECT_H

#include "lib/driver/secret.h"

struct subject_namespace {
    const char *id;                 /* "ns_…" */
    const char *name;               /* for people; never part of an identity */
    const char *existing_namespace; /* the adopted namespace's name, or NULL */
};

struct subject_agent {
    struct subject_namespace owner;
    const char *id; /* "agt_…" */
    const char *name;
    const char *service_principal_id;
};

/* A Secret that a Configuration binds, by the name under which the runtime finds it. */
struct subject_binding {
    const char *name;
    struct secret_place place;
};

/* A revision as it was admitted. JSON texts are the database's own, no number of which went through a double.
 */
struct subject_revision {
    const struct subject_agent *agent;
    const char *id; /* "rev_…" */
    int64_t number; /* 1, 2, … of this Agent */
    bool first;     /* the Agent never had an earlier one */
    const char *configuration_id;
    int64_t configuration_generation;
    const char *document;   /* the native document */
    const char *compute_id; /* the Compute that it is pinned to */
    const char *compute_implementation;
    const char *harness_id; /* "openclaw", "codex" */
    const char *harness_version;
    const char *harness_mode;                  /* "embedded", "dedicated" */
    const char *harness_auth;                  /* {"method":…}, references only; NULL: none */
    const struct secret_place *harness_secret; /* where that credential is; NULL: it is gone, or none */
    const char *secret_driver_id;              /* NULL: none */
    const char *sandbox_driver_id;             /* NULL: none */
    const struct subject_binding *bindings;
    size_t binding_count;
};

/* How a Harness would authenticate, before a revision is admitted. */
struct subject_harness {
    const char *id;
    const char *mode;
    const char *auth; /* {"method":…}, references only */
};

#endif
