/* SPDX-License-Identifier: MIT
 *
 * What all changes of the IAM state have in common; for lib/admit's own files.
 */
#ifndef OCC_ADMIT_POLICY_CHANGE_H
#define OCC_ADMIT_POLICY_CHANGE_H

#include "lib/admit/admission.h"

/* Asks for installation:administer, and takes the lock that makes changes of the IAM state follow each other:
 * two that are each harmless could together leave nobody who administers. */
bool policy_begin(struct admission *admission, struct fault *fault) MUST_USE;

/* After a change that takes something away. Fault: FAULT_CONFLICT IAM_LAST_ADMINISTRATOR. */
bool policy_keep_administrator(struct admission *admission, struct fault *fault) MUST_USE;

/* The identifier of a named Namespace that is there and that the caller may read; NULL for NULL. */
bool policy_namespace(struct admission *admission, const char *text, const char **id,
                      struct fault *fault) MUST_USE;

/* Refuses while bindings name the identity, group or role. Fault: FAULT_CONFLICT IAM_IN_USE. */
bool policy_unused(struct admission *admission, const char *what, const char *id,
                   struct fault *fault) MUST_USE;

#endif
