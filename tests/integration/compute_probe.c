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
#include "tests/integration/probe_answer.h"

static struct {
    char installation[64];
    char existing[64];
    int64_t timeout_ms;
    int64_t watch_ms;
} asked = {.installation = "ins_probe", .timeout_ms = 60000};

static void answer(bool ok, const struct fault *fault, const struct compute_observation *seen,
                   int64_t elapsed_ms)
{
    TALLOC_CTX *context = talloc_new(NULL);
    cJSON *told = json_new_object(context);
    cJSON *warnings;
    size_t index;

    probe_tell(told, ok, fault, elapsed_ms);
    json_add_text(told, "namespaceId", seen->namespace_id);
    warnings = json_add_array(told, "warnings");
    for (index = 0; index < seen->warnings; index++)
        json_append_text(warnings, seen->warning[index].code);
    probe_answer(told);
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
        .watch = asked.watch_ms > 0 ? &probe_watch : NULL,
        .installation_id = asked.installation,
        .deadline_ms = begun_ms + asked.timeout_ms,
        .observe_only = strncmp(verb, "observe", 7) == 0,
    };
    struct compute_observation seen = {0};
    struct fault fault = {0};
    bool ok;

    probe_watch_begin(begun_ms, asked.watch_ms);
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
