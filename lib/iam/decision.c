/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/iam/decision.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/policy.h"

const char *iam_permission_text(const void *context, const struct iam_question *question)
{
    return mem_format(context, "%s:%s", question->resource_kind, question->action);
}

size_t iam_ask(struct pg_batch *batch, const struct iam_question *question)
{
    return policy_add(batch, question->actor_id, question->action, question->resource_kind,
                      question->resource_id, question->namespace_id);
}

void iam_answer(const struct pg_result *result, struct iam_decision *decision)
{
    struct policy_answer answer;

    policy_read(result, &answer);
    memset(decision, 0, sizeof *decision);
    text_copy(decision->driver_id, sizeof decision->driver_id, IAM_NATIVE);
    if (!answer.actor_exists) {
        decision->verdict = IAM_ACTOR_GONE;
    } else if (answer.restriction_id) {
        decision->verdict = IAM_RESTRICTED;
        text_copy(decision->restriction_id, sizeof decision->restriction_id, answer.restriction_id);
    } else if (!answer.binding_id) {
        decision->verdict = IAM_NOT_GRANTED;
    } else {
        decision->verdict = IAM_ALLOWED;
        text_copy(decision->binding_id, sizeof decision->binding_id, answer.binding_id);
        text_copy(decision->role_id, sizeof decision->role_id, answer.role_id);
    }
}

void iam_answer_of_driver(const char *driver_id, bool allowed, const char *reference,
                          struct iam_decision *decision)
{
    memset(decision, 0, sizeof *decision);
    decision->verdict = allowed ? IAM_ALLOWED : IAM_NOT_GRANTED;
    text_copy(decision->driver_id, sizeof decision->driver_id, driver_id);
    text_copy(decision->reference, sizeof decision->reference, reference);
    text_make_line(decision->reference);
}

static const char *verdict_name(enum iam_verdict verdict)
{
    switch (verdict) {
    case IAM_ALLOWED:
        return "allowed";
    case IAM_RESTRICTED:
        return "restricted";
    case IAM_ACTOR_GONE:
        return "actor_gone";
    case IAM_NOT_GRANTED:
        break;
    }
    return "not_granted";
}

void iam_add_evidence(cJSON *details, const struct iam_question *question,
                      const struct iam_decision *decision)
{
    cJSON *evidence = json_add_object(details, "decision");
    void *scratch = talloc_new(NULL);

    json_add_text(evidence, "driver", decision->driver_id);
    json_add_text(evidence, "permission", iam_permission_text(scratch, question));
    json_add_text(evidence, "verdict", verdict_name(decision->verdict));
    if (*decision->binding_id)
        json_add_text(evidence, "bindingId", decision->binding_id);
    if (*decision->role_id)
        json_add_text(evidence, "roleId", decision->role_id);
    if (*decision->restriction_id)
        json_add_text(evidence, "restrictionId", decision->restriction_id);
    if (*decision->reference)
        json_add_text(evidence, "reference", decision->reference);
    talloc_free(scratch);
}
