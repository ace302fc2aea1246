/* SPDX-License-Identifier: MIT
 *
 * Service keys: made, handed over in a file, revoked. All need installation:administer.
 */
#ifndef OCC_ADMIT_SERVICE_KEY_H
#define OCC_ADMIT_SERVICE_KEY_H

#include "lib/admit/caller.h"

#define SERVICE_KEY_DAYS_MOST 365

struct service_key_request {
    const char *name;
    const char *service_principal_id; /* NULL: the caller's own */
    unsigned days;                    /* how long it is valid: 1 to SERVICE_KEY_DAYS_MOST */
    const char *path;                 /* of the file, which must not exist; written before the commit */
    const char *setting;              /* where the path comes from */
};

/* The new key's document; the key itself is in the file only. *left_file tells that a file was written, also
 * when this failed afterwards: it is not taken back.
 *
 * Faults: FAULT_DENIED; FAULT_NOT_FOUND IDENTITY_NOT_FOUND; FAULT_INVALID; FAULT_CONFIGURATION
 * OUTPUT_FILE_REFUSED. */
bool service_key_create(struct caller *caller, const void *context, const struct service_key_request *request,
                        bool *left_file, const cJSON **created, struct fault *fault) MUST_USE;

/* Ends a key now. One that has ended already stays as it is. Faults: FAULT_NOT_FOUND SERVICE_KEY_NOT_FOUND;
 * FAULT_CONFLICT SERVICE_KEY_IN_USE for the key that the caller is asking with. */
bool service_key_end(struct caller *caller, const void *context, const char *id, const cJSON **ended,
                     struct fault *fault) MUST_USE;

#endif
