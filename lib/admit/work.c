/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/work.h"

#include "lib/base/memory.h"
#include "lib/store/namespace_admission.h"
#include "lib/store/work_list.h"

bool work_select(struct caller *caller, const void *context, const struct work_selection *selection,
                 const cJSON **rows, struct fault *fault)
{
    struct work_filter filter = {
        .state = selection->state,
        .kind = selection->kind,
        .limit = selection->limit,
    };
    const char **ids, **readable;
    size_t count;

    if (selection->namespace_id) {
        filter.namespace_ids = &selection->namespace_id;
        filter.namespace_count = 1;
    } else {
        if (!namespace_ids(caller->connection, context, true, caller->watch, &ids, &count, fault) ||
            !caller_readable_namespaces(caller, context, ids, count, &readable, &filter.namespace_count,
                                        fault))
            return false;
        filter.namespace_ids = readable;
    }
    return work_list(caller->connection, context, &filter, caller->watch, rows, fault);
}

bool work_get(struct caller *caller, const void *context, const char *work_id, const cJSON **found,
              struct fault *fault)
{
    struct iam_question question;
    const cJSON *work;

    if (!work_find(caller->connection, context, work_id, caller->watch, &work, fault))
        return false;
    if (!work)
        return fault_set(fault, FAULT_NOT_FOUND, "WORK_NOT_FOUND", "There is no work \"%s\".", work_id);
    question = caller_on_namespace(json_text(work, "namespaceId"), "read");
    if (!caller_may(caller, "openclaw.work.read", &question, fault))
        return false;
    *found = work;
    return true;
}
