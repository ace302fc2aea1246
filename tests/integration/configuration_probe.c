/* SPDX-License-Identifier: MIT
 *
 * What a deployment freezes of a Configuration, in an admission of its own. The URL comes from PROBE_URL.
 *
 *     configuration_probe KEY_FILE ROOT NAMESPACE CONFIGURATION LEVEL
 *
 * Answers with {"kind","generation","bindings","draft"} as texts, or {"class","code","message"}; between
 * them, where the variable PROBE_HOLD is set, it waits for the end of its standard input, its locks held.
 */
#include "lib/base/build.h"

#include "lib/admit/configuration.h"
#include "lib/base/memory.h"
#include "lib/filesystem/driver.h"

#include <unistd.h>

struct wanted {
    const struct configuration_driver *driver;
    const char *namespace_id;
    const char *configuration_id;
    const char *level;
    cJSON *answer;
};

static void hold(void)
{
    char byte;

    (void)printf("held\n");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

static bool freeze(struct admission *admission, void *argument, struct fault *fault)
{
    const struct wanted *wanted = argument;
    struct configuration_snapshot snapshot;

    if (!configuration_snapshot(admission, wanted->driver, wanted->namespace_id, wanted->configuration_id,
                                wanted->level, &snapshot, fault))
        return false;
    if (getenv("PROBE_HOLD"))
        hold();
    json_add_text(wanted->answer, "kind", snapshot.kind);
    json_add_number(wanted->answer, "generation", snapshot.generation);
    json_add_text(wanted->answer, "bindings", snapshot.secret_bindings);
    json_add_text(wanted->answer, "draft", snapshot.draft_spec);
    return true;
}

static bool connect_as(void *memory, const char *key_path, struct caller **caller, struct fault *fault)
{
    const char *url = getenv("PROBE_URL");
    struct pg_options options = {.application_name = "configuration_probe", .timeout_ms = 60000};
    struct pg *connection;
    struct key_file *file;

    options.url = secret_new(memory, url, strlen(url));
    return pg_connect(memory, &options, &connection, fault) &&
           key_file_read(memory, "KEY_FILE", key_path, &file, fault) &&
           caller_authenticate(connection, memory, file, NULL, caller, fault);
}

int main(int argc, char **argv)
{
    void *memory = talloc_new(NULL);
    struct wanted wanted = {.answer = json_new_object(memory)};
    struct caller *caller;
    struct fault fault;

    if (argc != 6 || !getenv("PROBE_URL"))
        return 2;
    wanted.namespace_id = argv[3];
    wanted.configuration_id = argv[4];
    wanted.level = argv[5];
    if (!filesystem_open_configuration(memory, argv[2], &wanted.driver, &fault) ||
        !connect_as(memory, argv[1], &caller, &fault) ||
        !admission_run(caller, "openclaw.agents.deploy", freeze, &wanted, &fault)) {
        json_add_number(wanted.answer, "class", fault.class);
        json_add_text(wanted.answer, "code", fault.code);
        json_add_text(wanted.answer, "message", fault.message);
    }
    (void)printf("%s\n", json_write(memory, wanted.answer));
    talloc_free(memory);
    return 0;
}
