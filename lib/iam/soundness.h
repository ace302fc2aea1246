/* SPDX-License-Identifier: MIT
 *
 * Is the stored IAM state sound as a whole? An Installation in which nobody is the administrator, or whose
 * bindings name what is not there, must not be worked on: the worker's preflight and occ-bootstrap ask here.
 */
#ifndef OCC_IAM_SOUNDNESS_H
#define OCC_IAM_SOUNDNESS_H

#include "lib/store/iam_state.h"

/* Everything that is wrong, as codes and messages for operators; none: *count is 0. The list hangs on
 * `context`.
 *
 * Codes: IAM_ADMINISTRATOR_ROLE_MISSING (no role of the Installation has installation:administer),
 * IAM_ADMINISTRATOR_BINDING_MISSING (nobody who exists holds such a role for the whole Installation),
 * IAM_BINDING_DANGLING, IAM_BINDING_MISPLACED, IAM_MEMBERSHIP_DANGLING, IAM_ROLE_DANGLING, IAM_ROLE_INVALID,
 * IAM_RESTRICTION_DANGLING, IAM_RESTRICTION_INVALID, IAM_IDENTITY_DANGLING, IAM_SERVICE_KEY_DANGLING. */
bool iam_check_soundness(struct pg *connection, const void *context, const struct watch *watch,
                         struct iam_defect **list, size_t *count, struct fault *fault) MUST_USE;

#endif
