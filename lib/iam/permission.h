/* SPDX-License-Identifier: MIT
 *
 * The permissions that exist: pairs of an action and a kind of resource, written "kind:action". The schema
 * holds the same list (occ.permissions()) and refuses every other pair; this one lets a wrong pair be named
 * before anything is asked of the database.
 */
#ifndef OCC_IAM_PERMISSION_H
#define OCC_IAM_PERMISSION_H

#include "lib/base/fault.h"

struct iam_permission {
    const char *resource_kind;
    const char *action;
};

/* By kind, in the order in which people expect the actions. */
extern const struct iam_permission iam_permissions[];
extern const size_t iam_permissions_count;

/* Reads "kind:action". Fault: FAULT_INVALID PERMISSION_UNKNOWN, which says what there is for that kind. */
bool iam_permission_parse(const char *text, const struct iam_permission **permission,
                          struct fault *fault) MUST_USE;

/* True when there are permissions for resources of this kind. */
bool iam_is_resource_kind(const char *kind);

/* Reads "kind:id" of one exact resource, whose identifier must have that kind's form. *kind is static, *id
 * points into `text`. Fault: FAULT_INVALID RESOURCE_INVALID. */
bool iam_resource_parse(const char *text, const char **kind, const char **id, struct fault *fault) MUST_USE;

#endif
