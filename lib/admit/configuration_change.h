/* SPDX-License-Identifier: MIT
 *
 * What the operations on Configurations have in common; for lib/admit's own files.
 */
#ifndef OCC_ADMIT_CONFIGURATION_CHANGE_H
#define OCC_ADMIT_CONFIGURATION_CHANGE_H

#include "lib/admit/configuration.h"
#include "lib/store/configuration.h"

/* The row, or FAULT_NOT_FOUND CONFIGURATION_NOT_FOUND. It hangs on `memory`. */
bool configuration_require(struct caller *caller, const void *memory, const char *id,
                           enum configuration_lock lock, struct configuration_row **row,
                           struct fault *fault) MUST_USE;

/* "create" is asked of the Namespace (`id` NULL), everything else of the Configuration. */
struct iam_question configuration_question(const char *namespace_id, const char *id, const char *action);

/* The Driver's operations, with its faults turned. What is read hangs on `memory`. */
bool configuration_store_text(struct caller *caller, const struct configuration_driver *driver,
                              const struct subject_namespace *owner, const char *id, const char *document,
                              size_t length, struct fault *fault) MUST_USE;
bool configuration_remove_text(struct caller *caller, const struct configuration_driver *driver,
                               const struct subject_namespace *owner, const char *id,
                               struct fault *fault) MUST_USE;
bool configuration_read_text(struct caller *caller, const struct configuration_driver *driver,
                             const void *memory, const struct subject_namespace *owner, const char *id,
                             const char **document, size_t *length, struct fault *fault) MUST_USE;

struct subject_namespace configuration_owner(const struct configuration_row *row);

/* The list of bindings that `request` makes of `bindings` (JSON as the row keeps it), by name. Each Secret
 * must be of this Namespace, and the caller must have secret:read on it. Faults: FAULT_INVALID
 * BINDING_INVALID, FAULT_NOT_FOUND SECRET_NOT_FOUND, BINDING_NOT_FOUND. */
bool configuration_bind(struct admission *admission, const char *namespace_id, const char *bindings,
                        const struct configuration_request *request, const char **changed,
                        struct fault *fault) MUST_USE;

#endif
