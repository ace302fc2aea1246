/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver's operations: each says what it is about, and the script does the rest.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

struct act act_plain(void *self, const struct occ_call *call, const char *operation,
                     struct occ_answer *answer)
{
    return (struct act){
        .self = self, .call = call, .host = call->host, .answer = answer, .operation = operation};
}

static void name(char target[OCC_IDENTIFIER_SIZE], const char *id)
{
    (void)snprintf(target, OCC_IDENTIFIER_SIZE, "%s", id);
}

struct act act_on_namespace(void *self, const struct occ_call *call, const char *operation,
                            const struct occ_namespace *subject, struct occ_answer *answer)
{
    struct act act = act_plain(self, call, operation, answer);

    act.namespace_ = subject;
    act.namespace_id = subject->id;
    act.namespace_name = subject->name;
    name(answer->namespace_id, subject->id);
    return act;
}

struct act act_on_agent(void *self, const struct occ_call *call, const char *operation,
                        const struct occ_agent *subject, struct occ_answer *answer)
{
    struct act act = act_on_namespace(self, call, operation, subject->namespace_, answer);

    act.agent = subject;
    act.agent_id = subject->id;
    act.agent_name = subject->name;
    name(answer->agent_id, subject->id);
    return act;
}

struct act act_on_revision(void *self, const struct occ_call *call, const char *operation,
                           const struct occ_revision *subject, struct occ_answer *answer)
{
    struct act act = act_on_agent(self, call, operation, subject->agent, answer);

    act.revision = subject;
    act.revision_id = subject->id;
    act.number = subject->number;
    name(answer->revision_id, subject->id);
    return act;
}

const struct occ_setting scripted_settings[] = {
    {.name = "folder", .type = OCC_SETTING_TEXT, .required = 1},
    {.name = "speed", .type = OCC_SETTING_TEXT, .choices = "fast|safe"},
    {.name = "limit", .type = OCC_SETTING_NUMBER, .least = 1, .most = 1000},
    {.name = "strict", .type = OCC_SETTING_BOOLEAN},
    {.name = "tags", .type = OCC_SETTING_TEXTS, .least = 1, .most = 3},
    {.name = "server",
     .type = OCC_SETTING_MAP,
     .settings = (const struct occ_setting[]){{.name = "address", .type = OCC_SETTING_TEXT, .required = 1},
                                              {.name = "port", .type = OCC_SETTING_NUMBER, .most = 65535},
                                              {.name = "tokenPath", .type = OCC_SETTING_TEXT},
                                              {.name = NULL}}},
    {.name = NULL},
};

enum occ_result scripted_open(struct scripted *self, const struct occ_call *call, const struct occ_open *with,
                              const char *operation, void **made, struct occ_answer *answer)
{
    const struct occ_host *host = call->host;
    const struct occ_json *configuration =
        host->json_read(call, with->configuration, strlen(with->configuration));
    struct act act;

    (void)snprintf(self->folder, sizeof self->folder, "%s",
                   host->json_text(host->json_member(configuration, "folder"), ""));
    if (self->folder[0] != '/') {
        (void)snprintf(answer->code, sizeof answer->code, "SCRIPTED_FOLDER_INVALID");
        (void)snprintf(answer->message, sizeof answer->message, "folder must be an absolute path");
        return OCC_PERMANENT;
    }
    *made = self;
    act = act_plain(self, call, operation, answer);
    journal(&act, "opened", "\"id\":%s,\"production\":%s,\"configuration\":%s",
            host->json_quote(call, with->id), with->production ? "true" : "false", with->configuration);
    return act_run(&act);
}
