/* SPDX-License-Identifier: MIT
 *
 * Decisions: by the database's rows, or by these and an installed IAM Driver.
 */
#include "lib/base/build.h"

#include "lib/admit/caller.h"

#include "lib/admit/driver.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define QUESTIONS_A_TRIP 200

_Static_assert(AUTHORITY_EVIDENCE_SIZE <= IAM_ID_SIZE, "an IAM Driver's evidence fits a decision");

static struct iam_question completed(const struct caller *caller, const struct iam_question *question)
{
    struct iam_question asked = *question;

    if (!asked.actor_id)
        asked.actor_id = caller->actor_id;
    return asked;
}

/* Whatever went wrong, it was no answer: the dependency failed. */
static bool unanswered(const struct authority *authority, struct fault *fault)
{
    const struct fault told = *fault;

    if (told.class == FAULT_CANCELLED)
        return false;
    (void)fault_set(fault, FAULT_UNAVAILABLE, told.code, "The IAM Driver %s does not decide: %s",
                    authority->id, told.message);
    return fault_depends(fault, told.dependency, told.cause);
}

/* Replaces what roles and bindings said by the Driver's answer. What the database denies stays denied, and is
 * not asked. */
static bool ask_authority(struct caller *caller, const struct iam_question *question, int64_t deadline_ms,
                          struct iam_decision *decision, struct fault *fault)
{
    const struct authority *authority = caller->authority;
    const struct authority_question asked = {
        .actor_id = question->actor_id,
        .action = question->action,
        .resource_kind = question->resource_kind,
        .resource_id = question->resource_id,
        .namespace_id = question->namespace_id,
    };
    char evidence[AUTHORITY_EVIDENCE_SIZE] = "";
    bool allowed = false, answered;
    struct driver_call call;
    void *scratch;

    if (decision->verdict == IAM_ACTOR_GONE || decision->verdict == IAM_RESTRICTED)
        return true;
    scratch = talloc_new(NULL);
    call = driver_call_new(caller, scratch);
    if (deadline_ms < call.deadline_ms)
        call.deadline_ms = deadline_ms;
    answered = authority->operations->decide(authority->self, &call, &asked, &allowed, evidence, fault);
    talloc_free(scratch);
    if (!answered)
        return unanswered(authority, fault);
    evidence[sizeof evidence - 1] = '\0';
    iam_answer_of_driver(authority->id, allowed, evidence, decision);
    return true;
}

/* What the database says of questions that fit one trip. */
static bool decide_some(struct caller *caller, const struct iam_question *questions, size_t count,
                        struct iam_decision *decisions, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(NULL);
    size_t index;
    bool done;

    for (index = 0; index < count; index++) {
        const struct iam_question asked = completed(caller, &questions[index]);

        (void)iam_ask(batch, &asked);
    }
    done = pg_run(caller->connection, batch, caller->watch, fault);
    for (index = 0; done && index < count; index++)
        iam_answer(pg_batch_result(batch, index), &decisions[index]);
    talloc_free(batch);
    return done;
}

bool caller_decide(struct caller *caller, const struct iam_question *questions, size_t count,
                   struct iam_decision *decisions, struct fault *fault)
{
    const int64_t deadline_ms = clock_now_ms() + CALLER_DECIDE_MS;
    size_t start, index;

    for (start = 0; start < count; start += QUESTIONS_A_TRIP) {
        size_t some = count - start < QUESTIONS_A_TRIP ? count - start : QUESTIONS_A_TRIP;

        if (!decide_some(caller, questions + start, some, decisions + start, fault))
            return false;
    }
    for (index = 0; caller->authority && index < count; index++) {
        const struct iam_question asked = completed(caller, &questions[index]);

        if (clock_now_ms() >= deadline_ms)
            return fault_set(fault, FAULT_UNAVAILABLE, "IAM_TIME_EXCEEDED",
                             "The IAM Driver %s answered %zu of %zu questions within %d s.",
                             caller->authority->id, index, count, CALLER_DECIDE_MS / 1000);
        if (!ask_authority(caller, &asked, deadline_ms, &decisions[index], fault))
            return false;
    }
    return true;
}

bool caller_filter(struct caller *caller, const struct iam_question *questions, size_t count, bool *allowed,
                   struct fault *fault)
{
    struct iam_decision *decisions = mem_array(NULL, struct iam_decision, count + 1);
    bool done = caller_decide(caller, questions, count, decisions, fault);
    size_t index;

    for (index = 0; done && index < count; index++)
        allowed[index] = decisions[index].verdict == IAM_ALLOWED;
    talloc_free(decisions);
    return done;
}

bool caller_readable_namespaces(struct caller *caller, const void *context, const char *const *ids,
                                size_t count, const char ***readable, size_t *readable_count,
                                struct fault *fault)
{
    const char **list = mem_array(context, const char *, count + 1);
    struct iam_question *questions = mem_array(list, struct iam_question, count + 1);
    bool *allowed = mem_array(list, bool, count + 1);
    size_t kept = 0, index;

    for (index = 0; index < count; index++)
        questions[index] = caller_on_namespace(ids[index], "read");
    if (!caller_filter(caller, questions, count, allowed, fault))
        return false;
    for (index = 0; index < count; index++) {
        if (allowed[index])
            list[kept++] = ids[index];
    }
    *readable = list;
    *readable_count = kept;
    return true;
}

bool caller_readable_documents(struct caller *caller, const void *context, const char *resource_kind,
                               const cJSON *documents, const cJSON **readable, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    struct iam_question *questions;
    const cJSON *document;
    size_t count = 0, index = 0;
    bool *allowed, done;

    for (document = documents->child; document; document = document->next)
        count++;
    questions = mem_array(scratch, struct iam_question, count + 1);
    allowed = mem_array(scratch, bool, count + 1);
    for (document = documents->child; document; document = document->next)
        questions[index++] = (struct iam_question){
            .action = "read",
            .resource_kind = resource_kind,
            .resource_id = json_text(document, "id"),
            .namespace_id = json_text(document, "namespaceId"),
        };
    done = caller_filter(caller, questions, count, allowed, fault);
    if (done) {
        cJSON *kept = json_new_array(context);

        index = 0;
        for (document = documents->child; document; document = document->next) {
            if (allowed[index++])
                json_append_copy(kept, document);
        }
        *readable = kept;
    }
    talloc_free(scratch);
    return done;
}
