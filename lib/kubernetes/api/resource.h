/* SPDX-License-Identifier: MIT
 *
 * Single requests on objects. Trees hang on call->memory. Faults are the client's and those of
 * kubernetes_answer_fault(), but for what a function tells otherwise.
 */
#ifndef OCC_KUBERNETES_API_RESOURCE_H
#define OCC_KUBERNETES_API_RESOURCE_H

#include "lib/kubernetes/api/kind.h"

/* Which object. `space` is the Kubernetes namespace; NULL for a kind that has none. */
struct kubernetes_reference {
    const struct kubernetes_kind *kind;
    const char *space;
    const char *name;
};

/* "NetworkPolicy oce-…/default-deny", for messages; hangs on `context`. */
const char *kubernetes_reference_words(const void *context, const struct kubernetes_reference *reference)
    __attribute__((returns_nonnull));

/* *object is NULL where there is none. */
bool kubernetes_get(struct kubernetes_client *client, const struct driver_call *call,
                    const struct kubernetes_reference *reference, const cJSON **object,
                    struct fault *fault) MUST_USE;

/* All objects of a kind in a namespace (`space` NULL: everywhere) that carry the labels of `selector`
 * ("a=b,c=d"; NULL: all): an array of objects. Comes in pages of 250; a continuation that expired starts the
 * list again (K79), at most three times. At most 10000 objects in at most 200 pages, else
 * FAULT_RETRYABLE KUBERNETES_ANSWER_INVALID. */
bool kubernetes_list(struct kubernetes_client *client, const struct driver_call *call,
                     const struct kubernetes_kind *kind, const char *space, const char *selector,
                     const cJSON **objects, struct fault *fault) MUST_USE;

/* Creates an object from `intent` without apiVersion and kind, which are added, as are metadata.name and
 * metadata.namespace; members that are null are left out. *created is what the server made of it; NULL where
 * the name is taken. */
bool kubernetes_create(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_reference *reference, const cJSON *intent,
                       const cJSON **created, struct fault *fault) MUST_USE;

enum kubernetes_patched {
    KUBERNETES_PATCHED,
    KUBERNETES_PATCH_RACED, /* the object changed or went since `seen` was read: read again */
};

/* Merges `patch` (RFC 7386) into the object that was read as `seen`, guarded by its UID and resourceVersion.
 * *patched is the object as it is now; NULL when raced. */
bool kubernetes_merge(struct kubernetes_client *client, const struct driver_call *call,
                      const struct kubernetes_reference *reference, const cJSON *seen, const cJSON *patch,
                      enum kubernetes_patched *outcome, const cJSON **patched, struct fault *fault) MUST_USE;

/* Deletes the object that has this UID, with what it owns in the background (propagationPolicy Background).
 * True when it is gone or going, also when there is another one of that name by now; never strips a
 * finalizer. */
bool kubernetes_delete(struct kubernetes_client *client, const struct driver_call *call,
                       const struct kubernetes_reference *reference, const char *uid,
                       struct fault *fault) MUST_USE;

/* ---- What an object says of itself; "" or NULL where it does not */

const char *kubernetes_uid(const cJSON *object) __attribute__((returns_nonnull));
const char *kubernetes_name(const cJSON *object) __attribute__((returns_nonnull));
const char *kubernetes_label(const cJSON *object, const char *key);
const char *kubernetes_annotation(const cJSON *object, const char *key);
bool kubernetes_is_terminating(const cJSON *object); /* it has a deletionTimestamp */

/* An entry of status.conditions by its type, or NULL; and whether its status is "True". */
const cJSON *kubernetes_condition(const cJSON *object, const char *type);
bool kubernetes_condition_is_true(const cJSON *object, const char *type);

#endif
