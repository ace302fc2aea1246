/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/deletion.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/deletion.h"

static bool not_retryable(struct fault *fault, const char *work_id, const char *instead)
{
    return fault_set(fault, FAULT_CONFLICT, "WORK_NOT_RETRYABLE", "The work %s is not retried: %s", work_id,
                     instead);
}

static bool explain(enum deletion_answer answer, const char *work_id, const char *holder, struct fault *fault)
{
    switch (answer) {
    case DELETION_REQUEUED:
    case DELETION_PENDING:
        return true;
    case DELETION_SUCCEEDED:
        return not_retryable(fault, work_id, "it has succeeded.");
    case DELETION_OTHER_ACTOR:
        return fault_set(
            fault, FAULT_CONFLICT, "DELETION_HELD",
            "The deletion was begun by %s, who still has the permission for it: only they repeat it, or "
            "anybody who may once they have lost it.",
            holder);
    case DELETION_NOT_DELETION:
        return not_retryable(fault, work_id, "only failed deletions are.");
    case DELETION_NOT_DELETING:
        return not_retryable(fault, work_id, "nothing waits for this deletion any more.");
    case DELETION_MISSING:
        break;
    }
    return fault_set(fault, FAULT_NOT_FOUND, "WORK_NOT_FOUND", "There is no work \"%s\".", work_id);
}

bool deletion_repeat(struct admission *admission, const char *work_id, const struct iam_question *question,
                     bool *changed, struct fault *fault)
{
    struct deletion_work *work;
    struct iam_question first = *question;
    struct iam_decision decision;
    enum deletion_answer answer;
    bool takeover = false;

    if (!deletion_find(admission->connection, admission->memory, work_id, admission->watch, &work, fault))
        return false;
    if (!work)
        return explain(DELETION_MISSING, work_id, NULL, fault);
    if (!text_equal(work->actor_id, admission->caller->actor_id)) {
        first.actor_id = work->actor_id;
        if (!caller_decide(admission->caller, &first, 1, &decision, fault))
            return false;
        takeover = decision.verdict != IAM_ALLOWED;
    }
    if (!deletion_requeue(admission->connection, work_id, admission->caller->actor_id, takeover,
                          admission->watch, &answer, fault) ||
        !explain(answer, work_id, work->actor_id, fault))
        return false;
    *changed = answer == DELETION_REQUEUED;
    if (*changed) {
        json_add_boolean(admission->details, "repeated", true);
        if (takeover)
            json_add_text(admission->details, "takenOverFrom", work->actor_id);
    }
    return true;
}

struct request {
    const void *context;
    const char *work_id;
    struct retry_admission *admitted;
};

/* What to do about work which is not retried. */
static bool advise(const struct deletion_work *work, const char *work_id, struct fault *fault)
{
    if (text_equal(work->state, "succeeded"))
        return not_retryable(fault, work_id, "it has succeeded.");
    if (!text_equal(work->state, "failed_permanent"))
        return not_retryable(fault, work_id, "it has not ended yet, and is tried again by itself.");
    if (!work->agent_id)
        return not_retryable(
            fault, work_id,
            "a Namespace that failed stays failed. Remove the cause, delete it, and create another "
            "under a new name.");
    if (work->revision_id)
        return not_retryable(fault, work_id, "deploy the Agent again, which admits a new revision.");
    return not_retryable(fault, work_id, "stop the Agent again, which admits new work.");
}

static bool retry(struct admission *admission, void *argument, struct fault *fault)
{
    struct request *request = argument;
    struct deletion_work *work;
    struct iam_question question;
    const char *id;

    if (!deletion_find(admission->connection, admission->memory, request->work_id, admission->watch, &work,
                       fault))
        return false;
    if (!work)
        return explain(DELETION_MISSING, request->work_id, NULL, fault);
    question = caller_on_namespace(work->namespace_id, "delete");
    if (work->agent_id) {
        question.resource_kind = "agent";
        question.resource_id = work->agent_id;
        admission->action = "openclaw.agents.delete";
    }
    if (!admission_authorize(admission, &question, fault))
        return false;
    if (!text_equal(work->target, "deleted"))
        return advise(work, request->work_id, fault);
    if (!deletion_repeat(admission, request->work_id, &question, &request->admitted->changed, fault))
        return false;
    json_add_text(admission->details, "workId", request->work_id);
    id = work->agent_id ? work->agent_id : work->namespace_id;
    if (request->admitted->changed &&
        !admission_record(admission, work->namespace_id, work->agent_id ? "agent" : "namespace", id, fault))
        return false;
    request->admitted->namespace_id = mem_text(request->context, work->namespace_id);
    return true;
}

bool work_retry(struct caller *caller, const void *context, const char *work_id,
                struct retry_admission *admitted, struct fault *fault)
{
    struct request request = {context, work_id, admitted};

    return admission_run(caller, "openclaw.namespaces.delete", retry, &request, fault);
}
