/* SPDX-License-Identifier: MIT
 *
 * What is wrong with the stored IAM state as a whole. lib/iam/soundness.h is what programs use.
 */
#ifndef OCC_STORE_IAM_STATE_H
#define OCC_STORE_IAM_STATE_H

#include "lib/io/pg.h"

struct iam_defect {
    const char *code;    /* IAM_ADMINISTRATOR_ROLE_MISSING … */
    const char *message; /* one line for an operator */
};

#define IAM_DEFECTS_MOST 100

/* At most IAM_DEFECTS_MOST of them, the missing administrator first. The list hangs on `context`. */
bool iam_state_defects(struct pg *connection, const void *context, const struct watch *watch,
                       struct iam_defect **list, size_t *count, struct fault *fault) MUST_USE;

/* Makes changes of the IAM state follow each other, until the caller's transaction ends. */
bool iam_state_lock(struct pg *connection, const struct watch *watch, struct fault *fault) MUST_USE;

/* Whether somebody holds installation:administer for the whole Installation and no restriction takes it away:
 * asked in the transaction of each change that could lock everybody out. */
bool iam_state_has_administrator(struct pg *connection, const struct watch *watch, bool *has,
                                 struct fault *fault) MUST_USE;

#endif
