/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/iam/soundness.h"

#include "lib/base/memory.h"

bool iam_check_soundness(struct pg *connection, const void *context, const struct watch *watch,
                         struct iam_defect **list, size_t *count, struct fault *fault)
{
    return iam_state_defects(connection, context, watch, list, count, fault);
}

bool iam_require_soundness(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    struct iam_defect *list;
    size_t count;
    bool sound = iam_state_defects(connection, scratch, watch, &list, &count, fault);

    if (sound && count > 0) {
        if (count == 1)
            sound = fault_set(fault, FAULT_CONFIGURATION, list[0].code, "%s", list[0].message);
        else
            sound = fault_set(fault, FAULT_CONFIGURATION, list[0].code, "%s (and %zu more)", list[0].message,
                              count - 1);
    }
    talloc_free(scratch);
    return sound;
}
