/* SPDX-License-Identifier: MIT
 *
 * What must change in an object so that it is as intended. Servers add fields of their own (defaults, status,
 * metadata), so an intent says what matters and a difference looks at nothing else: an unchanged intent
 * writes nothing and restarts nothing (K119).
 */
#ifndef OCC_KUBERNETES_OBJECT_DIFFERENCE_H
#define OCC_KUBERNETES_OBJECT_DIFFERENCE_H

#include "lib/io/json.h"

/* How the members of one object are compared. Objects below are compared member by member; arrays have the
 * same length and are compared item by item; amounts of resources (the members of "hard", "requests",
 * "limits", "default" and "defaultRequest", and an emptyDir's "sizeLimit") are equal when their values are
 * ("1000m", "1"), as the server writes them in its own form. All other texts are compared as they stand.
 *
 * A member that is null in the intent must not be there: a server leaves out what is false or empty in most
 * optional fields, so an intent says null, never false, "" or {}, where it wants none
 * ("spec.template.spec.hostNetwork"). An array without items is the same as none. */
struct kubernetes_comparison {
    /* Paths of objects whose members are all ours, so that one too many is a difference as well:
     * "spec.hard", "data", "spec.selector"; a path covers everything below it, the items of arrays included,
     * which have their array's path. Ends with NULL. */
    const char *const *exact;
};

/* NULL when `live` is as `intent` says; else the merge patch (RFC 7386) that makes it so, hanging on
 * `context`: null for a member that must go, whole arrays where one differs. Once it is merged, there is no
 * difference. */
const cJSON *kubernetes_difference(const void *context, const cJSON *live, const cJSON *intent,
                                   const struct kubernetes_comparison *comparison) MUST_USE;

#endif
