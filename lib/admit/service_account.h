/* SPDX-License-Identifier: MIT
 *
 * Service accounts: names under which Agents authenticate at a provider; the credential is a Secret of the
 * same Namespace.
 *
 * Everywhere `namespace_text` is the Namespace by ID or exact name, and `text` the account by ID or exact
 * name in it; without a Namespace (NULL) an account is found by its ID alone. `secret` is a Secret of the
 * Namespace by ID or exact name; secret:read on it is asked for.
 *
 * Faults of all: FAULT_DENIED; FAULT_NOT_FOUND NAMESPACE_NOT_FOUND, SERVICE_ACCOUNT_NOT_FOUND,
 * SECRET_NOT_FOUND; FAULT_INVALID NAMESPACE_REQUIRED for a name without a Namespace. Documents hang on the
 * context that is given; see lib/store/service_account.h.
 */
#ifndef OCC_ADMIT_SERVICE_ACCOUNT_H
#define OCC_ADMIT_SERVICE_ACCOUNT_H

#include "lib/admit/caller.h"

/* Asks for service_account:create on the Namespace, which must be open. Audit:
 * openclaw.service-accounts.create. Faults besides: FAULT_INVALID NAME_INVALID; FAULT_CONFLICT
 * SERVICE_ACCOUNT_NAME_TAKEN, NAMESPACE_NOT_OPEN. */
bool service_account_create(struct caller *caller, const void *context, const char *namespace_text,
                            const char *name, const char *secret, const cJSON **created,
                            struct fault *fault) MUST_USE;

/* Another name, another credential, or both; NULL leaves what there is. Asks for service_account:update.
 * Audit: openclaw.service-accounts.update. Faults besides: those of creation. */
bool service_account_update(struct caller *caller, const void *context, const char *namespace_text,
                            const char *text, const char *name, const char *secret, const cJSON **updated,
                            struct fault *fault) MUST_USE;

/* Deletes one with which no Agent authenticates; its Secret stays. Asks for service_account:delete. Audit:
 * openclaw.service-accounts.delete. Fault besides: FAULT_CONFLICT SERVICE_ACCOUNT_IN_USE, with the Agents. */
bool service_account_delete(struct caller *caller, const char *namespace_text, const char *text,
                            struct fault *fault) MUST_USE;

/* One that the caller may read; and all these, in one Namespace or, for NULL, in all. */
bool service_account_get(struct caller *caller, const void *context, const char *namespace_text,
                         const char *text, const cJSON **found, struct fault *fault) MUST_USE;
bool service_account_select(struct caller *caller, const void *context, const char *namespace_id,
                            const cJSON **rows, struct fault *fault) MUST_USE;

#endif
