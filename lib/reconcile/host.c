/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/host.h"

const char *pass_outcome_name(enum pass_outcome outcome)
{
    static const char *const names[] = {
        [PASS_SUCCESS] = "success",     [PASS_PENDING] = "pending",       [PASS_RETRY] = "retry",
        [PASS_PERMANENT] = "permanent", [PASS_CLAIM_LOST] = "claim_lost", [PASS_HANDED_BACK] = "pending",
        [PASS_ERROR] = "error",
    };

    return names[outcome];
}
