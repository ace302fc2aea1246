/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/pass.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"

struct verdict verdict_of(enum outcome_kind kind, const char *code)
{
    struct verdict verdict = {.kind = kind};

    (void)text_copy(verdict.code, sizeof verdict.code, code);
    return verdict;
}

/* A Driver's code goes into a column that takes nothing else. */
static bool is_code(const char *code)
{
    return code[0] >= 'A' && code[0] <= 'Z' &&
           strspn(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(code);
}

static enum outcome_kind kind_of(enum fault_class class)
{
    switch (class) {
    case FAULT_PENDING:
        return OUTCOME_DEFER;
    case FAULT_PERMANENT:
        return OUTCOME_FAIL;
    case FAULT_CANCELLED:
        return OUTCOME_HAND_BACK;
    default:
        /* What a Driver should not say is tried again, and ends with the attempts. */
        return OUTCOME_RETRY;
    }
}

struct verdict verdict_of_fault(const struct pass *pass, const struct fault *fault)
{
    struct verdict verdict = verdict_of(kind_of(fault->class), fault->code);
    cJSON *evidence = json_new_object(pass->memory);

    json_add_text(evidence, "message", fault->message);
    verdict.evidence = json_write(pass->memory, evidence);

    verdict.lost = fault->class == FAULT_CLAIM_LOST;
    verdict.retry_after_ms = fault->retry_after_ms;
    (void)text_copy(verdict.dependency, sizeof verdict.dependency, fault->dependency);
    (void)text_copy(verdict.cause, sizeof verdict.cause, fault->cause);
    if (!verdict.lost && text_equal(fault->dependency, "postgresql"))
        (void)text_copy(verdict.code, sizeof verdict.code, "DEPENDENCY_UNAVAILABLE");
    else if (!is_code(verdict.code))
        (void)text_copy(verdict.code, sizeof verdict.code, "INVALID_DRIVER_OBSERVATION");
    return verdict;
}

struct verdict verdict_of_denial(const struct pass *pass, const struct iam_question *question,
                                 const struct iam_decision *decision)
{
    bool gone = decision->verdict == IAM_ACTOR_GONE;
    struct verdict verdict = verdict_of(OUTCOME_FAIL, gone ? "ACTOR_REVOKED" : "AUTHORIZATION_DENIED");

    verdict.denied = true;
    verdict.evidence = verdict_evidence(pass, question, decision);
    return verdict;
}

const char *verdict_evidence(const struct pass *pass, const struct iam_question *question,
                             const struct iam_decision *decision)
{
    cJSON *evidence = json_new_object(pass->memory);

    iam_add_evidence(evidence, question, decision);
    return json_write(pass->memory, evidence);
}
