/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/policy_change.h"

#include "lib/admit/policy.h"
#include "lib/base/memory.h"
#include "lib/store/iam_state.h"
#include "lib/store/namespace_admission.h"
#include "lib/store/role_binding.h"

bool policy_may_read(struct caller *caller, const char *action, struct fault *fault)
{
    const struct iam_question question = caller_on_installation(caller, "administer");

    return caller_may(caller, action, &question, fault);
}

bool policy_begin(struct admission *admission, struct fault *fault)
{
    const struct iam_question question = caller_on_installation(admission->caller, "administer");

    /* The lock first: the decision must see what an earlier change has left. */
    return iam_state_lock(admission->connection, admission->watch, fault) &&
           admission_authorize(admission, &question, fault);
}

bool policy_keep_administrator(struct admission *admission, struct fault *fault)
{
    bool has;

    if (!iam_state_has_administrator(admission->connection, admission->watch, &has, fault))
        return false;
    if (!has)
        return fault_set(fault, FAULT_CONFLICT, "IAM_LAST_ADMINISTRATOR",
                         "Nobody would have the permission installation:administer any more.");
    return true;
}

bool policy_namespace(struct admission *admission, const char *text, const char **id, struct fault *fault)
{
    struct namespace_row *row;
    struct iam_question question;

    *id = NULL;
    if (!text)
        return true;
    if (!namespace_find(admission->connection, admission->memory, text, NAMESPACE_LOOK, admission->watch,
                        &row, fault))
        return false;
    if (!row || row->deleted_at)
        return fault_set(fault, FAULT_NOT_FOUND, "NAMESPACE_NOT_FOUND",
                         "There is no Namespace with the ID or exact name \"%s\"%s.", text,
                         row ? " any more" : "");
    question = caller_on_namespace(row->id, "read");
    if (!admission_authorize(admission, &question, fault))
        return false;
    *id = row->id;
    return true;
}

bool policy_unused(struct admission *admission, const char *what, const char *id, struct fault *fault)
{
    int64_t count;

    if (!role_binding_uses(admission->connection, id, admission->watch, &count, fault))
        return false;
    if (count > 0)
        return fault_set(fault, FAULT_CONFLICT, "IAM_IN_USE",
                         "The %s %s is named by %lld access binding%s: delete %s first.", what, id,
                         (long long)count, count == 1 ? "" : "s", count == 1 ? "it" : "these");
    return true;
}
