/* SPDX-License-Identifier: MIT
 *
 * The queue, as far as a caller may read it: the rows of Namespaces with namespace:read.
 */
#ifndef OCC_ADMIT_WORK_H
#define OCC_ADMIT_WORK_H

#include "lib/admit/caller.h"

struct work_selection {
    const char *namespace_id; /* that the caller may read; NULL: all that the caller may read */
    const char *state;        /* NULL: any; "pending": queued and claimed */
    const char *kind;         /* NULL: any */
    unsigned limit;
};

/* Documents as lib/store/work_list.h has them. */
bool work_select(struct caller *caller, const void *context, const struct work_selection *selection,
                 const cJSON **rows, struct fault *fault) MUST_USE;

/* One item by its key. Faults: FAULT_NOT_FOUND WORK_NOT_FOUND; FAULT_DENIED. */
bool work_get(struct caller *caller, const void *context, const char *work_id, const cJSON **found,
              struct fault *fault) MUST_USE;

#endif
