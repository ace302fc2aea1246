/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/iam/soundness.h"

bool iam_check_soundness(struct pg *connection, const void *context, const struct watch *watch,
                         struct iam_defect **list, size_t *count, struct fault *fault)
{
    return iam_state_defects(connection, context, watch, list, count, fault);
}
