/* SPDX-License-Identifier: MIT
 *
 * The queue's statements, one a line: reads commands from stdin, answers each with one JSON object on stdout.
 * tests/integration/test_queue.py drives it. The database is OCC_DATABASE_URL's.
 *
 *     claim TOKEN LEASE_MS MAX [DUE_US KEY]    find TOKEN               renew TOKEN LEASE_MS
 *     outcome KIND TOKEN CODE RETRY_AFTER_MS TIMEOUT_MS MAX DENIED      fate (the same)
 *     target TOKEN     survey IDLE MAX COUNT   sweep MAX                release TOKEN CODE MAX
 *     ask ACTOR ACTION KIND RESOURCE NAMESPACE ("-": none)
 */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/iam/decision.h"
#include "lib/store/claim.h"
#include "lib/store/namespace_target.h"
#include "lib/store/outcome.h"
#include "lib/store/recovery.h"
#include "lib/store/survey.h"

#define WORDS 10
#define CLAIMS 64

struct probe {
    struct pg *connection;
    char *word[WORDS];
    struct {
        char token[UUID_SIZE];
        struct claim claim;
    } held[CLAIMS];
    size_t count;
};

static const char *const kinds[] = {"done", "close", "defer", "retry", "fail", "hand_back"};
static const char *const states[] = {"queued", "succeeded", "failed_permanent"};
static const char *const fates[] = {"pending", "done", "lost", "unknown"};
static const char *const verdicts[] = {"allowed", "not_granted", "restricted", "actor_gone"};

static void print_fault(const struct fault *fault)
{
    printf("{\"fault\":\"%s\",\"class\":%d,\"origin\":\"%s\"}\n", fault->code, (int)fault->class,
           fault->origin);
}

static unsigned number(const struct probe *probe, size_t index)
{
    return (unsigned)strtoul(probe->word[index], NULL, 10);
}

static const struct claim *held(const struct probe *probe, const char *token)
{
    for (size_t i = 0; i < probe->count; i++) {
        if (text_equal(probe->held[i].token, token))
            return &probe->held[i].claim;
    }
    fprintf(stderr, "no claim of this probe: %s\n", token);
    exit(1);
}

static void print_item(const struct work_item *item)
{
    printf("\"key\":\"%s\",\"kind\":\"%s\",\"namespace\":\"%s\",\"actor\":\"%s\",\"attempt\":%u,"
           "\"age_ms\":%lld,\"waited_ms\":%lld",
           item->key, work_kind_name(item->kind), item->namespace_id, item->actor_id, item->attempt,
           (long long)item->age_ms, (long long)item->waited_ms);
}

static void print_claim(struct probe *probe, const struct claim *claim, bool found, const char *token)
{
    if (!found) {
        printf("{\"found\":false}\n");
        return;
    }
    printf("{\"found\":true,");
    print_item(&claim->item);
    printf(",\"lease_ms\":%lld,\"due_us\":%lld,\"search_us\":%lld}\n", (long long)claim->lease_ms,
           (long long)claim->position.due_us, (long long)claim->search_us);
    probe->count %= CLAIMS;
    text_copy(probe->held[probe->count].token, UUID_SIZE, token);
    probe->held[probe->count++].claim = *claim;
}

static bool do_claim(struct probe *probe, void *memory, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(memory);
    struct claim_position from = {0};
    struct claim claim;
    size_t index;
    bool found;

    if (probe->word[4]) {
        from.due_us = strtoll(probe->word[4], NULL, 10);
        text_copy(from.key, sizeof from.key, probe->word[5]);
    }
    index = claim_add(batch, probe->word[1], (int)number(probe, 2), number(probe, 3),
                      probe->word[4] ? &from : NULL);
    if (!pg_run(probe->connection, batch, NULL, fault) ||
        !claim_read(pg_batch_result(batch, index), probe, &claim, &found, fault))
        return false;
    print_claim(probe, &claim, found, probe->word[1]);
    return true;
}

static bool do_find(struct probe *probe, void *memory, struct fault *fault)
{
    struct claim claim;
    bool found;

    (void)memory;
    if (!claim_find(probe->connection, probe, probe->word[1], NULL, &claim, &found, fault))
        return false;
    print_claim(probe, &claim, found, probe->word[1]);
    return true;
}

static bool do_renew(struct probe *probe, void *memory, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(memory);
    size_t index =
        claim_renew_add(batch, held(probe, probe->word[1])->item.key, probe->word[1], (int)number(probe, 2));

    if (!pg_run(probe->connection, batch, NULL, fault))
        return false;
    printf("{\"renewed\":%zu}\n", pg_affected(pg_batch_result(batch, index)));
    return true;
}

static struct outcome outcome_of(const struct probe *probe)
{
    struct outcome outcome = {.item = &held(probe, probe->word[2])->item,
                              .token = probe->word[2],
                              .code = probe->word[3],
                              .retry_after_ms = number(probe, 4),
                              .convergence_timeout_ms = number(probe, 5),
                              .max_attempts = number(probe, 6),
                              .denied = number(probe, 7) != 0};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (text_equal(kinds[i], probe->word[1]))
            outcome.kind = (enum outcome_kind)i;
    }
    return outcome;
}

static bool do_outcome(struct probe *probe, void *memory, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(memory);
    struct outcome outcome = outcome_of(probe);
    struct outcome_record record;
    size_t index = outcome_add(batch, &outcome);

    if (!pg_run(probe->connection, batch, NULL, fault))
        return false;
    if (outcome_read(pg_batch_result(batch, index), &record))
        printf("{\"recorded\":true,\"state\":\"%s\",\"code\":\"%s\"}\n", states[record.state], record.code);
    else
        printf("{\"recorded\":false}\n");
    return true;
}

static bool do_fate(struct probe *probe, void *memory, struct fault *fault)
{
    struct outcome outcome = outcome_of(probe);
    struct outcome_record record = {0};
    enum outcome_fate fate;
    int64_t lease_ms = -1;

    (void)memory;
    if (!outcome_find(probe->connection, &outcome, NULL, &fate, &record, &lease_ms, fault))
        return false;
    printf("{\"fate\":\"%s\",\"state\":\"%s\",\"code\":\"%s\",\"lease_ms\":%lld}\n", fates[fate],
           states[record.state], record.code, (long long)lease_ms);
    return true;
}

static bool do_target(struct probe *probe, void *memory, struct fault *fault)
{
    struct pg_batch *batch = pg_batch_new(memory);
    struct namespace_target target;
    size_t index = namespace_target_add(batch, held(probe, probe->word[1])->item.key, probe->word[1]);

    if (!pg_run(probe->connection, batch, NULL, fault))
        return false;
    if (namespace_target_read(pg_batch_result(batch, index), memory, &target))
        printf("{\"live\":true,\"name\":\"%s\",\"status\":\"%s\",\"deleted\":%s,\"lease_ms\":%lld}\n",
               target.name, target.status, target.deleted ? "true" : "false", (long long)target.lease_ms);
    else
        printf("{\"live\":false}\n");
    return true;
}

static bool do_survey(struct probe *probe, void *memory, struct fault *fault)
{
    struct survey seen;

    (void)memory;
    if (!survey_take(probe->connection, number(probe, 1), number(probe, 2), number(probe, 3) != 0, NULL,
                     &seen, fault))
        return false;
    printf("{\"eligible\":%zu,\"next_due_ms\":%lld,\"next_expiry_ms\":%lld,\"exhausted\":%s,\"pending\":%lld,"
           "\"oldest_ms\":%lld}\n",
           seen.eligible, (long long)seen.next_due_ms, (long long)seen.next_expiry_ms,
           seen.exhausted ? "true" : "false", (long long)seen.pending, (long long)seen.oldest_pending_age_ms);
    return true;
}

static void print_recovered(const struct recovered *list, size_t count)
{
    printf("{\"rows\":[");
    for (size_t i = 0; i < count; i++) {
        printf("%s{", i > 0 ? "," : "");
        print_item(&list[i].item);
        printf(",\"failed\":%s,\"code\":\"%s\"}", list[i].failed ? "true" : "false", list[i].code);
    }
    printf("]}\n");
}

static bool do_recovery(struct probe *probe, void *memory, struct fault *fault)
{
    struct recovered *list;
    size_t count;

    if (text_equal(probe->word[0], "sweep")) {
        if (!recovery_sweep(probe->connection, memory, number(probe, 1), NULL, &list, &count, fault))
            return false;
    } else if (!recovery_release(probe->connection, memory, probe->word[1], probe->word[2], "",
                                 number(probe, 3), NULL, &list, &count, fault)) {
        return false;
    }
    print_recovered(list, count);
    return true;
}

static const char *none(const char *word)
{
    return text_equal(word, "-") ? NULL : word;
}

static bool do_ask(struct probe *probe, void *memory, struct fault *fault)
{
    struct iam_question question = {.actor_id = probe->word[1],
                                    .action = probe->word[2],
                                    .resource_kind = probe->word[3],
                                    .resource_id = none(probe->word[4]),
                                    .namespace_id = none(probe->word[5])};
    struct pg_batch *batch = pg_batch_new(memory);
    const size_t index = iam_ask(batch, &question);
    struct iam_decision decision;

    if (!pg_run(probe->connection, batch, NULL, fault))
        return false;
    iam_answer(pg_batch_result(batch, index), &decision);
    printf("{\"verdict\":\"%s\",\"binding\":\"%s\",\"role\":\"%s\",\"restriction\":\"%s\",\"permission\":\"%"
           "s\"}\n",
           verdicts[decision.verdict], decision.binding_id, decision.role_id, decision.restriction_id,
           iam_permission_text(memory, &question));
    return true;
}

static const struct {
    const char *name;
    bool (*run)(struct probe *probe, void *memory, struct fault *fault);
} commands[] = {
    {"claim", do_claim},      {"find", do_find},     {"renew", do_renew},   {"outcome", do_outcome},
    {"fate", do_fate},        {"target", do_target}, {"survey", do_survey}, {"sweep", do_recovery},
    {"release", do_recovery}, {"ask", do_ask},
};

static void split(struct probe *probe, char *line)
{
    char *rest = line;

    memset(probe->word, 0, sizeof probe->word);
    for (size_t i = 0; i < WORDS && rest; i++) {
        probe->word[i] = rest;
        rest = strchr(rest, ' ');
        if (rest)
            *rest++ = '\0';
    }
}

int main(void)
{
    const char *url = getenv("OCC_DATABASE_URL");
    struct probe *probe = mem_new(NULL, struct probe);
    struct pg_options options = {.application_name = "queue probe", .timeout_ms = 20000};
    struct fault fault;
    char line[4096];

    options.url = secret_new(probe, url ? url : "", url ? strlen(url) : 0);
    if (!pg_connect(probe, &options, &probe->connection, &fault)) {
        fprintf(stderr, "%s\n", fault.message);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        void *memory = talloc_new(probe);

        line[strcspn(line, "\n")] = '\0';
        split(probe, line);
        for (size_t i = 0; i < COUNT_OF(commands); i++) {
            if (text_equal(commands[i].name, probe->word[0]) && !commands[i].run(probe, memory, &fault))
                print_fault(&fault);
        }
        (void)fflush(stdout);
        talloc_free(memory);
    }
    talloc_free(probe);
    return 0;
}
