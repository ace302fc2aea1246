/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/effect.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"

/* What a Driver may take for one operation before it must say "pending"; and what is added before it is
 * ended, for one that forgot. */
#define EFFECT_LIMIT_MS 60000
#define EFFECT_GRACE_MS 5000

/* What an operation is about; NULL: nothing of that kind. */
struct named {
    const char *namespace_id;
    const char *agent_id;
    const char *revision_id;
};

struct driver_call effect_call(struct pass *pass, int64_t limit_ms)
{
    const struct reconciler_options *options = pass->reconciler->options;

    pass_effect_begin(pass, limit_ms + EFFECT_GRACE_MS);
    return (struct driver_call){.memory = pass->memory,
                                .watch = &pass->watch,
                                .installation_id = options->installation_id,
                                .deadline_ms = clock_now_ms() + limit_ms,
                                .secrets = options->secrets};
}

static struct driver_call begin(struct pass *pass, bool observe_only)
{
    struct driver_call call = effect_call(pass, EFFECT_LIMIT_MS);

    memset(&pass->failure, 0, sizeof pass->failure);
    call.observe_only = observe_only;
    return call;
}

/* A success must name what it is about; a failure must not name something else. */
static bool fits(const char *asked, const char *said, bool done)
{
    if (!asked || (!done && !said[0]))
        return true;
    return text_equal(asked, said);
}

static bool spoke_of(struct pass *pass, const char *kind, const char *asked, const char *said,
                     struct fault *fault)
{
    const char *driver_id = pass->reconciler->options->compute->id;

    if (!said[0])
        return fault_set(fault, FAULT_PERMANENT, "INVALID_DRIVER_OBSERVATION",
                         "the Compute Driver %s was asked about the %s %s, and its answer names none",
                         driver_id, kind, asked);
    return fault_set(fault, FAULT_PERMANENT, "INVALID_DRIVER_OBSERVATION",
                     "the Compute Driver %s was asked about the %s %s, and spoke of another one", driver_id,
                     kind, asked);
}

/* For the evidence: each once in a pass, and no more of all its operations than one of them may tell. */
static void keep_warning(struct pass *pass, const char *code, const char *message)
{
    char *line = mem_text(pass->memory, message);
    size_t count = 0;
    const cJSON *known;
    cJSON *kept;

    text_make_line(line);
    if (!pass->warnings)
        pass->warnings = json_new_array(pass->memory);
    cJSON_ArrayForEach(known, pass->warnings)
    {
        if (text_equal(json_text(known, "code"), code) && text_equal(json_text(known, "message"), line))
            return;
        count++;
    }
    if (count >= COMPUTE_WARNINGS)
        return;
    kept = json_append_object(pass->warnings);
    json_add_text(kept, "code", code);
    json_add_text(kept, "message", line);
}

static void say_warnings(struct pass *pass, const struct named *asked, const struct compute_observation *seen)
{
    size_t count = seen->warnings < COMPUTE_WARNINGS ? seen->warnings : COMPUTE_WARNINGS;

    for (size_t i = 0; i < count; i++) {
        log_event(LOG_WARN, "compute.warning", log_text("code", seen->warning[i].code),
                  log_text("message", seen->warning[i].message), log_text("namespaceId", asked->namespace_id),
                  log_text("agentId", asked->agent_id), log_text("revisionId", asked->revision_id),
                  log_text("workId", pass->item.key));
        keep_warning(pass, seen->warning[i].code, seen->warning[i].message);
    }
}

static bool end(struct pass *pass, const struct named *asked, bool done,
                const struct compute_observation *seen, const struct fault *said, struct fault *fault)
{
    if (!pass_effect_end(pass, fault))
        return false;
    if (!done && (said->class == FAULT_CLAIM_LOST || said->class == FAULT_CANCELLED)) {
        *fault = *said;
        return false;
    }
    if (!fits(asked->namespace_id, seen->namespace_id, done))
        return spoke_of(pass, "Namespace", asked->namespace_id, seen->namespace_id, fault);
    if (!fits(asked->agent_id, seen->agent_id, done))
        return spoke_of(pass, "Agent", asked->agent_id, seen->agent_id, fault);
    if (!fits(asked->revision_id, seen->revision_id, done))
        return spoke_of(pass, "revision", asked->revision_id, seen->revision_id, fault);
    say_warnings(pass, asked, seen);
    if (done)
        return true;
    pass->failure = seen->failure;
    text_make_line(pass->failure.component);
    text_make_line(pass->failure.check);
    text_make_line(pass->failure.code);
    *fault = *said;
    text_make_line(fault->message);
    return false;
}

bool effect_namespace(struct pass *pass, compute_namespace_operation operation,
                      const struct subject_namespace *subject, bool observe_only, struct fault *fault)
{
    const struct named asked = {subject->id, NULL, NULL};
    struct driver_call call = begin(pass, observe_only);
    struct compute_observation seen = {0};
    struct fault said = {0};
    bool done = operation(pass->reconciler->options->compute->self, &call, subject, &seen, &said);

    return end(pass, &asked, done, &seen, &said, fault);
}

bool effect_agent(struct pass *pass, compute_agent_operation operation, const struct subject_agent *subject,
                  bool observe_only, struct fault *fault)
{
    const struct named asked = {subject->owner.id, subject->id, NULL};
    struct driver_call call = begin(pass, observe_only);
    struct compute_observation seen = {0};
    struct fault said = {0};
    bool done = operation(pass->reconciler->options->compute->self, &call, subject, &seen, &said);

    return end(pass, &asked, done, &seen, &said, fault);
}

bool effect_revision(struct pass *pass, compute_revision_operation operation,
                     const struct subject_revision *subject, bool observe_only, struct fault *fault)
{
    const struct named asked = {subject->agent->owner.id, subject->agent->id, subject->id};
    struct driver_call call = begin(pass, observe_only);
    struct compute_observation seen = {0};
    struct fault said = {0};
    bool done = operation(pass->reconciler->options->compute->self, &call, subject, &seen, &said);

    return end(pass, &asked, done, &seen, &said, fault);
}

struct verdict effect_verdict(const struct pass *pass, const struct fault *fault)
{
    const struct compute_failure *failure = &pass->failure;
    struct verdict verdict = verdict_of_fault(pass, fault);
    char checked_at[CLOCK_TEXT_SIZE];
    cJSON *evidence;
    cJSON *told;

    if (!failure->code[0])
        return verdict;
    evidence = json_new_object(pass->memory);
    json_add_text(evidence, "message", fault->message);
    told = json_add_object(evidence, "failure");
    clock_text_of(failure->checked_at_ms, checked_at);
    json_add_text(told, "component", failure->component[0] ? failure->component : NULL);
    json_add_text(told, "check", failure->check[0] ? failure->check : NULL);
    json_add_text(told, "checkedAt", checked_at);
    json_add_text(told, "code", failure->code);
    verdict.evidence = json_write(pass->memory, evidence);
    return verdict;
}

const char *effect_evidence(const struct pass *pass, const char *evidence)
{
    const cJSON *before = evidence ? json_read(pass->memory, evidence, strlen(evidence)) : NULL;
    const cJSON *member;
    cJSON *told;

    if (!pass->warnings)
        return evidence;
    told = json_new_object(pass->memory);
    cJSON_ArrayForEach(member, before)
    {
        json_add_copy(told, member->string, member);
    }
    json_add_copy(told, "warnings", pass->warnings);
    return json_write(pass->memory, told);
}
