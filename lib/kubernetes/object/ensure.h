/* SPDX-License-Identifier: MIT
 *
 * One object as intended: there, ours, and without a difference; and one object gone. Each looks before it
 * writes, so that a repetition after a crash at any point, or beside another one, ends the same.
 */
#ifndef OCC_KUBERNETES_OBJECT_ENSURE_H
#define OCC_KUBERNETES_OBJECT_ENSURE_H

#include "lib/kubernetes/object/difference.h"
#include "lib/kubernetes/object/owner.h"

struct kubernetes_wanted {
    struct kubernetes_reference reference;
    struct kubernetes_owner owner; /* its labels are added to the intent */
    cJSON *intent;                 /* without apiVersion, kind, name and namespace */
    struct kubernetes_comparison comparison;
    bool keep; /* what is there, is ours and not terminating stays as it is: made once, never changed */
};

/* Makes it so; *live (may be NULL) is the object as it is then. With call->observe_only nothing is written,
 * and FAULT_PENDING NAMESPACE_INCOMPLETE or the caller's word for it tells that something is missing or
 * differs.
 *
 * Faults: FAULT_PERMANENT OWNERSHIP_CONFLICT (there is one of that name that is not ours: left alone);
 * FAULT_PENDING KUBERNETES_OBJECT_TERMINATING (ours, but on its way out: its name is not free yet),
 * KUBERNETES_CONFLICT (others keep changing it); FAULT_PERMANENT KUBERNETES_FIELD_IMMUTABLE (K83); or the
 * client's. */
bool kubernetes_ensure(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_wanted *wanted, const cJSON **live,
                       struct fault *fault) MUST_USE;

/* kubernetes_get() of what is to go: *object is NULL also where the namespace that it would be in is gone, of
 * which a server says "denied", as the RoleBinding in it went too. */
bool kubernetes_get_leaving(struct kubernetes_client *client, const struct driver_call *call,
                            const struct kubernetes_reference *reference, const cJSON **object,
                            struct fault *fault) MUST_USE;

/* Whether it is gone; deletes it, by UID, where it is there and ours. *gone is false while it is still on its
 * way out (background deletion, finalizers) and, with call->observe_only, while it is there. In a namespace
 * that does not exist it is gone. Fault: OWNERSHIP_CONFLICT for one that is not ours, or the client's. */
bool kubernetes_remove(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_reference *reference, const struct kubernetes_owner *owner,
                       bool *gone, struct fault *fault) MUST_USE;

#endif
