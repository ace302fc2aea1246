/* SPDX-License-Identifier: MIT
 *
 * What Drivers are told of an Agent and of its revisions, read under the claim of an item about that Agent.
 * Revisions are immutable, so that one reading is enough for a pass. lib/reconcile/subject.h makes a Driver's
 * subject of it.
 *
 * JSON texts are the database's own: no number of a document passes through a double. A revision can hold a
 * document of a megabyte, so that they are read one by one; the list that goes before has none.
 */
#ifndef OCC_STORE_REVISION_SUBJECT_H
#define OCC_STORE_REVISION_SUBJECT_H

#include "lib/io/pg.h"

/* ---- The Agent and its Namespace */

struct agent_subject {
    const char *namespace_id;
    const char *namespace_name;
    const char *existing_namespace; /* NULL: none */
    const char *id;
    const char *name;
    const char *service_principal_id;
};

size_t agent_subject_add(struct pg_batch *batch, const char *key, const char *token);
/* False: the claim is lost, or there is no such Agent. The texts hang on `context`. */
bool agent_subject_read(const struct pg_result *result, const void *context, struct agent_subject *subject);

/* ---- Which revisions there are */

enum revision_choice {
    REVISIONS_ALL, /* of the item's Agent */
    /* Admitted not after the item was (a stop), and perhaps running: the active one; and down to the newest
     * one whose deployment was completed, without those that an earlier stop has stopped, or whose own
     * deployment ended so. */
    REVISIONS_CAPTURED,
    /* Before the item's own revision, and perhaps still there: down to the newest one whose deployment was
     * completed, which has retired everything before it. In both, one that another Compute completed is no
     * such bound. */
    REVISIONS_LIVE,
};

struct revision_entry {
    const char *id;
    int64_t number;
    bool active;
    const char *compute_id; /* the Compute that it is pinned to */
    const char *compute_implementation;
};

/* `compute_id` and `implementation` are this worker's. */
size_t revision_list_add(struct pg_batch *batch, const char *key, const char *token,
                         enum revision_choice choice, const char *compute_id, const char *implementation);
/* Newest first; the list hangs on `context`. Empty too when the claim is lost. */
void revision_list_read(const struct pg_result *result, const void *context, struct revision_entry **list,
                        size_t *count);

/* ---- One revision as it was admitted */

struct revision_subject {
    const char *id;
    int64_t number;
    bool first; /* the Agent never had an earlier one */
    const char *configuration_id;
    int64_t configuration_generation;
    const char *document;
    const char *compute_id;
    const char *compute_implementation;
    const char *harness_id;
    const char *harness_version;
    const char *harness_mode;
    const char *harness_auth;               /* NULL: none */
    const char *harness_service_account_id; /* NULL: it names none */
    const char *secret_driver_id;           /* NULL: none */
    const char *sandbox_driver_id;          /* NULL: none */
};

/* `revision_id` NULL: the item's own. */
size_t revision_subject_add(struct pg_batch *batch, const char *key, const char *token,
                            const char *revision_id);
/* False: the claim is lost, or there is no such revision of this Agent. */
bool revision_subject_read(const struct pg_result *result, const void *context,
                           struct revision_subject *subject);

/* A Secret that a revision refers to, as it is now. */
struct revision_secret {
    const char *name; /* of the binding; NULL: the Harness's credential, itself or through its account */
    const char *id;
    bool present; /* else the rest is NULL: it is gone */
    const char *driver_id;
    const char *namespace_id;
    const char *backend_namespace_name;
    const char *backend_name;
    const char *backend_key;
    const char *backend_uid; /* NULL: not known */
};

size_t revision_secrets_add(struct pg_batch *batch, const char *key, const char *token,
                            const char *revision_id);
/* The Harness's first, where there is one; then the bindings in their order. */
void revision_secrets_read(const struct pg_result *result, const void *context, struct revision_secret **list,
                           size_t *count);

#endif
