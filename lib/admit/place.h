/* SPDX-License-Identifier: MIT
 *
 * The Namespace that an admission works in, for whatever a Namespace owns.
 */
#ifndef OCC_ADMIT_PLACE_H
#define OCC_ADMIT_PLACE_H

#include "lib/admit/admission.h"
#include "lib/store/namespace_admission.h"

/* Finds the Namespace by id or exact name, and keeps it FOR SHARE until the transaction ends: it is not
 * deleted meanwhile. A tombstone is found too: who may not know of it must not hear of its end, so ask IAM,
 * and then place_open(). Fault: FAULT_NOT_FOUND NAMESPACE_NOT_FOUND. */
bool place_enter(struct admission *admission, const char *text, struct namespace_row **place,
                 struct fault *fault) MUST_USE;

/* The same, but nobody shares it. */
bool place_enter_alone(struct admission *admission, const char *text, struct namespace_row **place,
                       struct fault *fault) MUST_USE;

/* Refuses a Namespace in which nothing can be created or changed now; with `ready` also one whose
 * infrastructure is not there. Faults: FAULT_NOT_FOUND NAMESPACE_NOT_FOUND (deleted), FAULT_CONFLICT
 * NAMESPACE_NOT_OPEN or, with `ready`, NAMESPACE_NOT_READY. */
bool place_open(const struct namespace_row *place, bool ready, struct fault *fault) MUST_USE;

/* Refuses a name without a Namespace: it means something only in one, where an ID (`prefix` and a UUID) means
 * the same everywhere. `what` is what is named ("An Agent"). Fault: FAULT_INVALID NAMESPACE_REQUIRED. */
bool place_needed(const char *namespace_text, const char *text, const char *prefix, const char *what,
                  struct fault *fault) MUST_USE;

/* For what only reads: the Namespace by id or exact name, unlocked; NULL as `namespace_text` finds none, and
 * then place_needed() holds for `text`. Fault: FAULT_NOT_FOUND NAMESPACE_NOT_FOUND too. */
bool place_look(struct caller *caller, const void *context, const char *namespace_text, const char *text,
                const char *prefix, const char *what, struct namespace_row **place,
                struct fault *fault) MUST_USE;

/* There is no such Namespace, or (a tombstone that was found) not any more. */
bool place_missing(const char *text, const struct namespace_row *tombstone, struct fault *fault);

#endif
