/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver's words: what each of them does.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* One word with its arguments, and how the call ends by now. */
struct saying {
    char *word;
    char *rest; /* all that comes after it */
    enum occ_result result;
    int stop; /* the call ends with this result at once */
};

static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    char *end = word + strcspn(word, " ");

    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static void put(char *target, size_t size, const char *text)
{
    (void)snprintf(target, size, "%s", text);
}

static void NORETURN unknown(const struct saying *saying)
{
    (void)dprintf(STDERR_FILENO, "the scripted Driver does not understand \"%s %s\"\n", saying->word,
                  saying->rest);
    _exit(70);
}

static int ends(struct act *act, struct saying *saying)
{
    static const struct {
        const char *word;
        enum occ_result result;
    } results[] = {{"ready", OCC_READY},
                   {"pending", OCC_PENDING},
                   {"retryable", OCC_RETRYABLE},
                   {"permanent", OCC_PERMANENT},
                   {"cancelled", OCC_CANCELLED}};
    size_t index;

    for (index = 0; index < COUNT_OF(results); index++) {
        if (strcmp(saying->word, results[index].word) != 0)
            continue;
        saying->result = results[index].result;
        if (*saying->rest) {
            put(act->answer->code, sizeof act->answer->code, next_word(&saying->rest));
            put(act->answer->message, sizeof act->answer->message, "as the script says");
        }
        if (*saying->rest)
            act->answer->retry_after_ms = (uint32_t)strtoul(saying->rest, NULL, 10);
        return 1;
    }
    if (strcmp(saying->word, "result") != 0)
        return 0;
    saying->result = (enum occ_result)strtol(saying->rest, NULL, 10);
    return 1;
}

static int speaks(struct act *act, struct saying *saying)
{
    struct occ_answer *answer = act->answer;

    if (strcmp(saying->word, "mute") == 0) {
        answer->namespace_id[0] = answer->agent_id[0] = answer->revision_id[0] = '\0';
    } else if (strcmp(saying->word, "foreign") == 0) {
        if (strcmp(saying->rest, "namespace") == 0)
            put(answer->namespace_id, sizeof answer->namespace_id, "ns_00000000-0000-4000-8000-000000000000");
        else if (strcmp(saying->rest, "agent") == 0)
            put(answer->agent_id, sizeof answer->agent_id, "agt_00000000-0000-4000-8000-000000000000");
        else if (strcmp(saying->rest, "revision") == 0)
            put(answer->revision_id, sizeof answer->revision_id, "rev_00000000-0000-4000-8000-000000000000");
        else
            unknown(saying);
    } else if (strcmp(saying->word, "garbage") == 0) {
        script_garbage(act, saying->rest);
    } else if (strcmp(saying->word, "warn") == 0 && answer->warning_count < OCC_WARNINGS) {
        put(answer->warnings[answer->warning_count].code, OCC_CODE_SIZE, next_word(&saying->rest));
        put(answer->warnings[answer->warning_count++].message, OCC_MESSAGE_SIZE, saying->rest);
    } else if (strcmp(saying->word, "failure") == 0) {
        put(answer->failure.component, OCC_WORD_SIZE, next_word(&saying->rest));
        put(answer->failure.check, OCC_WORD_SIZE, next_word(&saying->rest));
        put(answer->failure.code, OCC_CODE_SIZE, saying->rest);
        answer->failure.checked_at_ms = 1764460800000;
    } else if (strcmp(saying->word, "dependency") == 0) {
        put(answer->dependency, sizeof answer->dependency, next_word(&saying->rest));
        put(answer->cause, sizeof answer->cause, saying->rest);
    } else if (strcmp(saying->word, "log") == 0) {
        static const char *const levels[] = {"debug", "info", "warn", "error"};
        const char *level = next_word(&saying->rest), *code = next_word(&saying->rest);
        size_t index;

        for (index = 0; index < COUNT_OF(levels) && strcmp(levels[index], level) != 0; index++)
            ;
        if (index == COUNT_OF(levels))
            unknown(saying);
        act->host->log(act->call, (enum occ_log_level)index, code, "%s", saying->rest);
    } else
        return 0;
    return 1;
}

/* A real death by this signal, also where a sanitizer would make a report of it. */
__attribute__((no_sanitize("address", "undefined"))) static void NORETURN crash(void)
{
    volatile uintptr_t nowhere = 8;

    (void)signal(SIGSEGV, SIG_DFL);
    for (;;)
        *(volatile int *)nowhere = 1;
}

/* The one socket of its kind in the process is the host's channel to its supervisor. */
static void close_channel(void)
{
    int descriptor, type;

    for (descriptor = 3; descriptor < 256; descriptor++) {
        socklen_t size = sizeof type;

        if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET)
            (void)close(descriptor);
    }
}

static int ends_process(const struct saying *saying)
{
    if (strcmp(saying->word, "close") == 0)
        return close_channel(), 1;
    if (strcmp(saying->word, "crash") == 0)
        crash();
    if (strcmp(saying->word, "abort") == 0)
        abort();
    if (strcmp(saying->word, "exit") == 0)
        _exit((int)strtol(saying->rest, NULL, 10));
    if (strcmp(saying->word, "kill") == 0)
        (void)kill(getpid(), SIGKILL);
    if (strcmp(saying->word, "hang") == 0) {
        volatile uint64_t turns = 0;

        for (;;)
            turns++;
    }
    if (strcmp(saying->word, "sleep") == 0)
        return usleep((useconds_t)strtoul(saying->rest, NULL, 10) * 1000), 1;
    return 0;
}

/* Waiting as a Driver should: the host may end it. */
static int waits(struct act *act, struct saying *saying)
{
    const struct occ_host *host = act->host;
    enum occ_result waited = OCC_PENDING;

    if (strcmp(saying->word, "delay") == 0) {
        waited = host->wait(act->call, -1, 0, host->now_ms() + strtol(saying->rest, NULL, 10));
    } else if (strcmp(saying->word, "gate") == 0) {
        journal(act, "gate", "\"gate\":\"%s\"", saying->rest);
        while (waited == OCC_PENDING && !folder_has(act, saying->rest))
            waited = host->wait(act->call, -1, 0, host->now_ms() + 20);
    } else if (strcmp(saying->word, "spin") == 0) {
        int64_t end = host->now_ms() + strtol(saying->rest, NULL, 10);

        while (host->now_ms() < end && waited != OCC_CANCELLED)
            waited = host->check(act->call) == OCC_CANCELLED ? OCC_CANCELLED : OCC_PENDING;
    } else
        return 0;
    if (waited == OCC_CANCELLED) {
        saying->result = OCC_CANCELLED;
        saying->stop = 1;
    }
    return 1;
}

static void ask_http(struct act *act, struct saying *saying)
{
    struct occ_http_response response = {.size = sizeof response};
    const struct occ_http_options options = {
        .size = sizeof options,
        .unix_socket = next_word(&saying->rest),
        .base_url = "http://localhost",
        .dependency = "scripted",
        .unavailable_code = "SCRIPTED_API_UNAVAILABLE",
        .body_limit = 65536,
        .connect_timeout_ms = 5000,
    };
    const struct occ_http_request request = {
        .size = sizeof request, .method = "GET", .path = saying->rest, .timeout_ms = 60000};
    struct occ_http *client;
    enum occ_result sent = act->host->http_open(act->call, &options, &client, act->answer);

    if (sent == OCC_READY)
        sent = act->host->http_send(act->call, client, &request, &response, act->answer);
    if (sent == OCC_READY) {
        journal(act, "http", "\"status\":%d,\"body\":%s", response.status,
                act->host->json_quote(act->call, response.body));
        return;
    }
    saying->result = sent;
    saying->stop = 1;
}

static void read_secret(struct act *act, struct saying *saying, const char *name,
                        const struct occ_secret_place *place)
{
    const char *bytes;
    size_t length;
    enum occ_result said = act->host->secret_read(act->call, place, &bytes, &length, act->answer);

    if (said != OCC_READY) {
        saying->result = said;
        saying->stop = 1;
        return;
    }
    journal(act, "secret", "\"name\":%s,\"value\":%s", act->host->json_quote(act->call, name),
            act->host->json_quote(act->call, act->host->format(act->call, "%.*s", (int)length, bytes)));
}

static void read_secrets(struct act *act, struct saying *saying)
{
    uint32_t index;

    if (!act->revision)
        unknown(saying);
    if (act->revision->harness_secret)
        read_secret(act, saying, "harness", act->revision->harness_secret);
    for (index = 0; index < act->revision->binding_count && !saying->stop; index++)
        read_secret(act, saying, act->revision->bindings[index]->name, act->revision->bindings[index]->place);
}

static void carry_out(struct act *act, struct saying *saying)
{
    enum occ_result done = act->effect && !act->carried_out ? act->effect(act) : OCC_READY;

    act->carried_out = 1;
    if (done != OCC_READY) {
        saying->result = done;
        saying->stop = 1;
    }
}

static int asks(struct act *act, struct saying *saying)
{
    if (strcmp(saying->word, "effect") == 0)
        carry_out(act, saying);
    else if (strcmp(saying->word, "http") == 0)
        ask_http(act, saying);
    else if (strcmp(saying->word, "read-secrets") == 0)
        read_secrets(act, saying);
    else if (act->decision && (strcmp(saying->word, "deny") == 0 || strcmp(saying->word, "allow") == 0)) {
        act->decision->allowed = saying->word[0] == 'a';
        put(act->decision->evidence, sizeof act->decision->evidence, saying->rest);
    } else
        return 0;
    return 1;
}

static const char *const result_names[] = {
    [OCC_READY] = "ready",         [OCC_PENDING] = "pending",     [OCC_RETRYABLE] = "retryable",
    [OCC_PERMANENT] = "permanent", [OCC_CANCELLED] = "cancelled",
};

static const char *result_name(enum occ_result result)
{
    return (size_t)result < COUNT_OF(result_names) ? result_names[result] : "none";
}

enum occ_result act_run(struct act *act)
{
    const char *step = script_take(act);
    char *words = act->host->format(act->call, "%s", step);
    struct saying saying = {.result = OCC_READY};
    char *next;

    journal(act, "begin", "\"step\":%s", act->host->json_quote(act->call, step));
    for (; words && !saying.stop; words = next) {
        next = strstr(words, " + ");
        if (next) {
            *next = '\0';
            next += 3;
        }
        saying.rest = words;
        saying.word = next_word(&saying.rest);
        if (!ends(act, &saying) && !speaks(act, &saying) && !ends_process(&saying) && !waits(act, &saying) &&
            !asks(act, &saying))
            unknown(&saying);
    }
    if (!saying.stop && saying.result == OCC_READY)
        carry_out(act, &saying);
    journal(act, "end", "\"result\":\"%s\",\"code\":%s", result_name(saying.result),
            act->host->json_quote(
                act->call, act->host->format(act->call, "%.*s", OCC_CODE_SIZE - 1, act->answer->code)));
    return saying.result;
}
