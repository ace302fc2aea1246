/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/status.h"

#include "lib/base/memory.h"
#include "lib/store/migration.h"
#include "src/ctl/ctl.h"

static bool show(struct ctl *ctl, struct fault *fault)
{
    const struct iam_question question = caller_on_installation(ctl->caller, "read");
    struct migration_status schema;
    const cJSON *state;
    cJSON *document, *part;

    if (!caller_may(ctl->caller, "openclaw.installation.read", &question, fault) ||
        !migration_check(ctl->connection, ctl->memory, NULL, &schema, fault) ||
        !status_read(ctl->connection, ctl->memory, NULL, &state, fault))
        return false;
    document = json_new_object(ctl->memory);
    part = json_add_object(document, "installation");
    json_add_text(part, "id", ctl->caller->installation->id);
    json_add_text(part, "name", ctl->caller->installation->name);
    part = json_add_object(document, "schema");
    json_add_text(part, "state", migration_state_name(schema.state));
    json_add_number(part, "applied", (int64_t)schema.applied);
    json_add_number(part, "known", (int64_t)migration_list_length);
    json_add_copy(document, "namespaces", json_object(state, "namespaces"));
    json_add_copy(document, "queue", json_object(state, "queue"));
    json_add_copy(document, "workers", json_object(state, "workers"));
    return output_document(&ctl->output, document, fault);
}

const struct command status_commands[] = {
    {.name = "status",
     .summary = "Shows the Installation, the schema, the queue, and whether any worker is claiming. Needs "
                "installation:read.",
     .run = show,
     .any_schema = true},
    {0},
};
