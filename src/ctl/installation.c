/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/installation.h"

#include "lib/base/memory.h"
#include "src/ctl/ctl.h"

static bool get(struct ctl *ctl, struct fault *fault)
{
    const struct installation *installation = ctl->caller->installation;
    const struct iam_question question = caller_on_installation(ctl->caller, "read");
    cJSON *document;

    if (!caller_may(ctl->caller, "openclaw.installation.read", &question, fault))
        return false;
    document = json_new_object(ctl->memory);
    json_add_text(document, "id", installation->id);
    json_add_text(document, "name", installation->name);
    json_add_text(document, "createdAt", installation->created_at);
    return output_document(&ctl->output, document, fault);
}

const struct command installation_commands[] = {
    {
        .name = "installation get",
        .summary = "Shows the Installation. Needs installation:read.",
        .run = get,
    },
    {0},
};
