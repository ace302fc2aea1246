/* SPDX-License-Identifier: MIT
 *
 * Changes of the IAM state: who there is, what roles allow, who holds them where, what is denied. All need
 * installation:administer, and namespace:read where a Namespace is named. None may leave the Installation
 * without anybody who can administer it.
 *
 * Faults of all: FAULT_DENIED; FAULT_NOT_FOUND IDENTITY_NOT_FOUND, GROUP_NOT_FOUND …; FAULT_CONFLICT where
 * the same is there already (…_EXISTS), where bindings still name what is to be deleted (IAM_IN_USE), or
 * where nobody would be the administrator any more (IAM_LAST_ADMINISTRATOR); FAULT_INVALID for values. What
 * is created is returned as its document, which hangs on `context`.
 */
#ifndef OCC_ADMIT_POLICY_H
#define OCC_ADMIT_POLICY_H

#include "lib/admit/caller.h"

/* Whether the caller may look at any of it. `action` as the audit names it: "openclaw.iam.roles.read". */
bool policy_may_read(struct caller *caller, const char *action, struct fault *fault) MUST_USE;

/* A person, known by issuer and subject, or with both NULL a service principal of the Installation. */
bool identity_create(struct caller *caller, const void *context, const char *issuer, const char *subject,
                     const cJSON **created, struct fault *fault) MUST_USE;
bool identity_remove(struct caller *caller, const char *id, struct fault *fault) MUST_USE;

/* `members` are ids of people. */
bool group_create(struct caller *caller, const void *context, const char *name, const char *const *members,
                  size_t member_count, const cJSON **created, struct fault *fault) MUST_USE;
bool group_remove(struct caller *caller, const char *text, struct fault *fault) MUST_USE;

/* Takes a person in, or out: FAULT_NOT_FOUND GROUP_MEMBER_NOT_FOUND for one who is not in. One who is in
 * already stays, and no evidence is written. */
bool group_take_in(struct caller *caller, const void *context, const char *text, const char *member,
                   const cJSON **changed, struct fault *fault) MUST_USE;
bool group_take_out(struct caller *caller, const void *context, const char *text, const char *member,
                    const cJSON **changed, struct fault *fault) MUST_USE;

/* `permissions` are "kind:action"; at least one. `namespace_text` (id or exact name, or NULL) owns the role.
 */
bool role_create(struct caller *caller, const void *context, const char *name, const char *namespace_text,
                 const char *const *permissions, size_t permission_count, const cJSON **created,
                 struct fault *fault) MUST_USE;
/* Another name (NULL: the same), and exactly these permissions instead (0: the same). */
bool role_change(struct caller *caller, const void *context, const char *text, const char *namespace_text,
                 const char *name, const char *const *permissions, size_t permission_count,
                 const cJSON **changed, struct fault *fault) MUST_USE;
bool role_remove(struct caller *caller, const char *text, const char *namespace_text,
                 struct fault *fault) MUST_USE;

/* Who gets which role where. */
struct binding_request {
    const char *role;           /* id or exact name */
    const char *identity_id;    /* exactly one of these two */
    const char *group;          /* id or exact name */
    const char *namespace_text; /* id or exact name; NULL: none */
    const char *resource;       /* "kind:id"; NULL: none */
};

bool binding_create(struct caller *caller, const void *context, const struct binding_request *request,
                    const cJSON **created, struct fault *fault) MUST_USE;
bool binding_remove(struct caller *caller, const char *id, struct fault *fault) MUST_USE;

/* Denies "kind:action" to everybody: everywhere, in one Namespace, or on one resource ("kind:id"). */
bool restriction_create(struct caller *caller, const void *context, const char *permission,
                        const char *namespace_text, const char *resource, const cJSON **created,
                        struct fault *fault) MUST_USE;
bool restriction_remove(struct caller *caller, const char *id, struct fault *fault) MUST_USE;

#endif
