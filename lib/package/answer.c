/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/answer.h"

#include "lib/base/text.h"
#include "lib/package/host.h"

#define RETRY_AFTER_MOST_MS 30000
#define LAST_MOMENT_MS 253402300799999 /* 9999-12-31T23:59:59.999Z */

bool answer_code_is_good(const char *code)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t length;

    if (!code || *code < 'A' || *code > 'Z')
        return false;
    length = strspn(code, letters);
    return length < FAULT_CODE_SIZE && code[length] == '\0';
}

#define CLEAN(array) clean((array), sizeof(array))

static void clean(char *text, size_t size)
{
    text[size - 1] = '\0';
    text_make_line(text);
}

static bool wrong(char problem[ANSWER_PROBLEM_SIZE], const char *what, const char *shown)
{
    (void)snprintf(problem, ANSWER_PROBLEM_SIZE, "%s%s%s%s", what, *shown ? " (\"" : "", shown,
                   *shown ? "\")" : "");
    text_make_line(problem);
    return false;
}

static bool check_warnings(struct occ_answer *answer, char problem[ANSWER_PROBLEM_SIZE])
{
    size_t index;

    if (answer->warning_count > OCC_WARNINGS)
        return wrong(problem, "more warnings than there is room for", "");
    for (index = 0; index < answer->warning_count; index++) {
        CLEAN(answer->warnings[index].code);
        CLEAN(answer->warnings[index].message);
        if (!answer_code_is_good(answer->warnings[index].code))
            return wrong(problem, "a warning whose code is none", answer->warnings[index].code);
    }
    return true;
}

static bool check_failure(struct occ_answer *answer, char problem[ANSWER_PROBLEM_SIZE])
{
    CLEAN(answer->failure.component);
    CLEAN(answer->failure.check);
    CLEAN(answer->failure.code);
    if (!answer->failure.component[0])
        return true;
    if (!answer_code_is_good(answer->failure.code))
        return wrong(problem, "a failure whose code is none", answer->failure.code);
    if (answer->failure.checked_at_ms < 0 || answer->failure.checked_at_ms > LAST_MOMENT_MS)
        return wrong(problem, "a failure whose time is none", "");
    return true;
}

bool answer_check(enum occ_result result, struct occ_answer *answer, char problem[ANSWER_PROBLEM_SIZE])
{
    CLEAN(answer->namespace_id);
    CLEAN(answer->agent_id);
    CLEAN(answer->revision_id);
    CLEAN(answer->code);
    CLEAN(answer->message);
    CLEAN(answer->dependency);
    CLEAN(answer->cause);
    switch (result) {
    case OCC_READY:
        break;
    case OCC_PENDING:
    case OCC_RETRYABLE:
    case OCC_PERMANENT:
        if (!answer_code_is_good(answer->code))
            return wrong(problem, answer->code[0] ? "a code that is none" : "no code", answer->code);
        break;
    case OCC_CANCELLED:
        return wrong(problem, "\"cancelled\", which nobody had said", "");
    default:
        return wrong(problem, "a result that there is not", "");
    }
    return check_warnings(answer, problem) && check_failure(answer, problem);
}

void answer_observe(const struct occ_answer *answer, struct compute_observation *seen)
{
    size_t index;

    *seen = (struct compute_observation){.warnings = answer->warning_count};
    (void)text_copy(seen->namespace_id, sizeof seen->namespace_id, answer->namespace_id);
    (void)text_copy(seen->agent_id, sizeof seen->agent_id, answer->agent_id);
    (void)text_copy(seen->revision_id, sizeof seen->revision_id, answer->revision_id);
    for (index = 0; index < seen->warnings; index++) {
        (void)text_copy(seen->warning[index].code, sizeof seen->warning[index].code,
                        answer->warnings[index].code);
        (void)text_copy(seen->warning[index].message, sizeof seen->warning[index].message,
                        answer->warnings[index].message);
    }
    if (!answer->failure.component[0])
        return;
    (void)text_copy(seen->failure.component, sizeof seen->failure.component, answer->failure.component);
    (void)text_copy(seen->failure.check, sizeof seen->failure.check, answer->failure.check);
    (void)text_copy(seen->failure.code, sizeof seen->failure.code, answer->failure.code);
    seen->failure.checked_at_ms = answer->failure.checked_at_ms;
}

bool answer_fault(enum occ_result result, const struct occ_answer *answer, struct fault *fault)
{
    const enum fault_class class = result == OCC_PENDING     ? FAULT_PENDING
                                   : result == OCC_RETRYABLE ? FAULT_RETRYABLE
                                                             : FAULT_PERMANENT;

    (void)fault_set(fault, class, answer->code, "%s", answer->message[0] ? answer->message : answer->code);
    if (answer->dependency[0])
        (void)fault_depends(fault, answer->dependency, answer->cause);
    if (class == FAULT_PENDING)
        fault->retry_after_ms =
            answer->retry_after_ms < RETRY_AFTER_MOST_MS ? answer->retry_after_ms : RETRY_AFTER_MOST_MS;
    return false;
}

enum occ_result answer_of_fault(const struct fault *fault, struct occ_answer *answer)
{
    struct occ_answer ours;

    if (answer) {
        /* What the Driver has written into it so far, such as whom it speaks of, stays. */
        HOST_TAKE(ours, answer);
        (void)text_copy(ours.code, sizeof ours.code, fault->code);
        (void)text_copy(ours.message, sizeof ours.message, fault->message);
        (void)text_copy(ours.dependency, sizeof ours.dependency, fault->dependency);
        (void)text_copy(ours.cause, sizeof ours.cause, fault->cause);
        ours.retry_after_ms = fault->retry_after_ms;
        HOST_GIVE(answer, ours);
    }
    switch (fault->class) {
    case FAULT_PENDING:
        return OCC_PENDING;
    case FAULT_RETRYABLE:
    case FAULT_UNAVAILABLE:
        return OCC_RETRYABLE;
    default:
        return OCC_PERMANENT;
    }
}
