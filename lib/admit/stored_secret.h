/* SPDX-License-Identifier: MIT
 *
 * Secrets that Agents use: the row is the database's, the value is the Secret Driver's and nobody else's. A
 * value passes through here as a `struct secret` on its way to the Driver, and is never shown again.
 *
 * A Secret whose value somebody else keeps is registered with its place: its value is never changed or
 * removed by us.
 *
 * A write takes the row, lets the Driver store, and commits: a crash leaves at most a value that nothing
 * refers to, or a new value of a Secret whose change is not in the audit, and repeating the command heals
 * both. Where the commit fails, what the Driver did is undone.
 *
 * Everywhere `namespace_text` is the Namespace by ID or exact name, and `text` the Secret by ID or exact name
 * in it; without a Namespace (NULL) a Secret is found by its ID alone.
 *
 * Faults of all: FAULT_DENIED; FAULT_NOT_FOUND NAMESPACE_NOT_FOUND, SECRET_NOT_FOUND; FAULT_INVALID
 * NAMESPACE_REQUIRED for a name without a Namespace; the Driver's, as lib/admit/driver.h turns them.
 */
#ifndef OCC_ADMIT_STORED_SECRET_H
#define OCC_ADMIT_STORED_SECRET_H

#include "lib/admit/caller.h"
#include "lib/driver/subject.h"

#define STORED_SECRET_VALUE_LIMIT ((size_t)1024 * 1024) /* bytes */

/* Where a registered value is; all but the uid are given. */
struct stored_secret_place {
    const char *driver_id; /* the selected Driver's */
    const char *backend_namespace_name;
    const char *backend_name;
    const char *backend_key;
    const char *backend_uid; /* NULL: not known */
};

/* Exactly one of the value and the place is given. */
struct stored_secret_request {
    const struct secret_driver *driver; /* for a value */
    const struct secret *value;         /* 1 to STORED_SECRET_VALUE_LIMIT bytes */
    const struct stored_secret_place *place;
};

/* What an admission leaves behind; it hangs on the context that was given. */
struct stored_secret_admission {
    const cJSON *document;
    /* Also after a failure: what the Driver keeps that it should not, and that could not be undone; a
     * sentence for the operator. NULL: nothing. */
    const char *left;
};

/* Creates one in a Namespace that is open: secret:create on it, and installation:administer as well to
 * register a place, which may be anybody's. Audit: openclaw.secrets.create.
 *
 * Faults besides: FAULT_INVALID NAME_INVALID, SECRET_VALUE_INVALID, SECRET_PLACE_INVALID; FAULT_CONFLICT
 * SECRET_NAME_TAKEN, SECRET_PLACE_TAKEN, NAMESPACE_NOT_OPEN, INVALID_DRIVER_OBSERVATION (the Driver names a
 * place that is none, or another Secret's). */
bool stored_secret_create(struct caller *caller, const void *context, const char *namespace_text,
                          const char *name, const struct stored_secret_request *request,
                          struct stored_secret_admission *admitted, struct fault *fault) MUST_USE;

/* Replaces the value, or the place of a registered one: secret:update, and for a place
 * installation:administer as well. Audit: openclaw.secrets.update.
 *
 * Faults besides: FAULT_CONFLICT SECRET_REGISTERED (its value is elsewhere), SECRET_NOT_REGISTERED,
 * SECRET_DRIVER_MISMATCH (another Driver keeps it). */
bool stored_secret_update(struct caller *caller, const void *context, const char *namespace_text,
                          const char *text, const struct stored_secret_request *request,
                          struct stored_secret_admission *admitted, struct fault *fault) MUST_USE;

/* Deletes one that nothing but revisions refers to, and its value with it, unless that is registered or is to
 * be kept. `driver` is NULL where none could be opened. Asks for secret:delete. Audit:
 * openclaw.secrets.delete.
 *
 * Faults besides: FAULT_CONFLICT SECRET_IN_USE, with what refers to it; SECRET_DRIVER_MISMATCH;
 * FAULT_CONFIGURATION SECRET_DRIVER_UNAVAILABLE where a Driver is needed and there is none. */
bool stored_secret_delete(struct caller *caller, const char *namespace_text, const char *text,
                          const struct secret_driver *driver, bool keep_value, struct fault *fault) MUST_USE;

/* The document (see lib/store/stored_secret.h) of one that the caller may read; and of all these, in one
 * Namespace or, for NULL, in all. */
bool stored_secret_get(struct caller *caller, const void *context, const char *namespace_text,
                       const char *text, const cJSON **found, struct fault *fault) MUST_USE;
bool stored_secret_select(struct caller *caller, const void *context, const char *namespace_id,
                          const cJSON **rows, struct fault *fault) MUST_USE;

#endif
