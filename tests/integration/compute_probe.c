/* SPDX-License-Identifier: MIT
 *
 * Opens a Compute Driver through the catalog, as the programs do, and drives it by commands on stdin, one a
 * line; answers each with one JSON object on stdout, so that a test can do things to the Engine in between.
 *
 *     compute_probe development|production DRIVER SOCKET [PACKAGE]
 *
 *     installation ID     who asks; "ins_probe" at first
 *     timeout MS          the deadline of each of the following operations; 60000 at first
 *     watch MS            the next operations have a watch which ends them after MS (0: none)
 *     existing NAME       the following Namespaces ask for this existing namespace
 *     preflight
 *     ensure|delete|observe-ensure|observe-delete NAMESPACE
 *
 * An answer: {"opened": true} first; then {"ok", "class", "code", "message", "dependency", "cause",
 * "retryAfterMs", "exit", "namespaceId", "warnings", "turns", "elapsedMs"}. A failed opening is answered so,
 * too.
 */
#include "lib/base/build.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/catalog/catalog.h"
#include "lib/io/json.h"

static const char *const class_names[] = {
    [FAULT_NONE] = "none",
    [FAULT_PENDING] = "pending",
    [FAULT_RETRYABLE] = "retryable",
    [FAULT_PERMANENT] = "permanent",
    [FAULT_CLAIM_LOST] = "claim_lost",
    [FAULT_CANCELLED] = "cancelled",
    [FAULT_CONFIGURATION] = "configuration",
    [FAULT_UNAVAILABLE] = "unavailable",
    [FAULT_INVALID] = "invalid",
    [FAULT_DENIED] = "denied",
    [FAULT_NOT_FOUND] = "not_found",
    [FAULT_CONFLICT] = "conflict",
    [FAULT_BUG] = "bug",
};

static struct {
    char installation[64];
    char existing[64];
    int64_t timeout_ms;
    int64_t watch_ms;
} asked = {.installation = "ins_probe", .timeout_ms = 60000};

static struct {
    int64_t end_ms;
    int64_t next_ms;
    int64_t turns;
} watching;

static size_t prepare_watch(void *subject, struct pollfd *room, int64_t *wake_ms)
{
    (void)subject;
    (void)room;
    if (watching.next_ms < *wake_ms)
        *wake_ms = watching.next_ms;
    return 0;
}

static bool turn_watch(void *subject, const struct pollfd *ready, size_t count, struct fault *fault)
{
    const int64_t now_ms = clock_now_ms();

    (void)subject;
    (void)ready;
    (void)count;
    watching.turns++;
    watching.next_ms = now_ms + 20;
    if (now_ms >= watching.end_ms)
        return fault_set(fault, FAULT_CANCELLED, "PROBE_CANCELLED", "the watch ended it");
    return true;
}

static const struct watch watch = {.prepare = prepare_watch, .turn = turn_watch};

static void answer(bool ok, const struct fault *fault, const struct compute_observation *seen,
                   int64_t elapsed_ms)
{
    TALLOC_CTX *context = talloc_new(NULL);
    cJSON *told = json_new_object(context);
    cJSON *warnings;
    size_t index;

    json_add_boolean(told, "ok", ok);
    json_add_text(told, "class", class_names[ok ? FAULT_NONE : fault->class]);
    json_add_text(told, "code", ok ? "" : fault->code);
    json_add_text(told, "message", ok ? "" : fault->message);
    json_add_text(told, "dependency", ok ? "" : fault->dependency);
    json_add_text(told, "cause", ok ? "" : fault->cause);
    json_add_number(told, "retryAfterMs", ok ? 0 : fault->retry_after_ms);
    json_add_number(told, "exit", ok ? 0 : fault_exit_status(fault));
    json_add_text(told, "namespaceId", seen->namespace_id);
    warnings = json_add_array(told, "warnings");
    for (index = 0; index < seen->warnings; index++)
        json_append_text(warnings, seen->warning[index].code);
    json_add_number(told, "turns", watching.turns);
    json_add_number(told, "elapsedMs", elapsed_ms);
    (void)printf("%s\n", json_write(context, told));
    (void)fflush(stdout);
    talloc_free(context);
}

static bool operate(const struct compute_driver *driver, const struct driver_call *call, const char *verb,
                    const char *id, struct compute_observation *seen, struct fault *fault)
{
    const struct subject_namespace tenant = {
        .id = id,
        .name = "probe",
        .existing_namespace = asked.existing[0] == 0 ? NULL : asked.existing,
    };

    if (strcmp(verb, "preflight") == 0)
        return driver->operations->preflight(driver->self, call, seen, fault);
    if (strcmp(verb, "ensure") == 0 || strcmp(verb, "observe-ensure") == 0)
        return driver->operations->ensure_namespace(driver->self, call, &tenant, seen, fault);
    if (strcmp(verb, "delete") == 0 || strcmp(verb, "observe-delete") == 0)
        return driver->operations->delete_namespace(driver->self, call, &tenant, seen, fault);
    return fault_set(fault, FAULT_BUG, "PROBE_COMMAND", "there is no command %s", verb);
}

static void run(const struct compute_driver *driver, const char *verb, const char *id)
{
    TALLOC_CTX *memory = talloc_new(NULL);
    const int64_t begun_ms = clock_now_ms();
    const struct driver_call call = {
        .memory = memory,
        .watch = asked.watch_ms > 0 ? &watch : NULL,
        .installation_id = asked.installation,
        .deadline_ms = begun_ms + asked.timeout_ms,
        .observe_only = strncmp(verb, "observe", 7) == 0,
    };
    struct compute_observation seen = {0};
    struct fault fault = {0};
    bool ok;

    watching.turns = 0;
    watching.next_ms = begun_ms + 20;
    watching.end_ms = begun_ms + asked.watch_ms;
    ok = operate(driver, &call, verb, id, &seen, &fault);
    answer(ok, &fault, &seen, clock_now_ms() - begun_ms);
    talloc_free(memory);
}

static void command(const struct compute_driver *driver, const char *verb, const char *value)
{
    uint64_t number = 0;

    if (strcmp(verb, "installation") == 0)
        (void)text_copy(asked.installation, sizeof asked.installation, value);
    else if (strcmp(verb, "existing") == 0)
        (void)text_copy(asked.existing, sizeof asked.existing, value);
    else if (strcmp(verb, "timeout") == 0 && text_to_number(value, INT32_MAX, &number))
        asked.timeout_ms = (int64_t)number;
    else if (strcmp(verb, "watch") == 0 && text_to_number(value, INT32_MAX, &number))
        asked.watch_ms = (int64_t)number;
    else
        run(driver, verb, value);
}

int main(int count, char **words)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const struct compute_observation nothing = {0};
    const struct compute_driver *driver;
    struct fault fault;
    char line[512];

    if (count < 4)
        return 2;
    {
        const struct catalog_settings settings = {
            .production = strcmp(words[1], "production") == 0,
            .docker_socket_path = words[3],
        };
        const struct startup startup = {.compute = {.id = words[2], .package = words[4]}};
        const struct driver_call call = {.memory = context, .deadline_ms = clock_now_ms() + 60000};

        if (!catalog_open_compute(context, &settings, &startup, NULL, &call, &driver, &fault)) {
            answer(false, &fault, &nothing, 0);
            talloc_free(context);
            return 0;
        }
    }
    (void)printf("{\"opened\":true}\n");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *value;

        line[strcspn(line, "\n")] = 0;
        value = line + strcspn(line, " ");
        if (*value != 0)
            *value++ = 0;
        command(driver, line, value);
    }
    talloc_free(context);
    return 0;
}
