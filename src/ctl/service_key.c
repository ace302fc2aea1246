/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/service_key.h"

#include "lib/admit/policy.h"
#include "lib/admit/service_key.h"
#include "src/ctl/ctl.h"

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"ID", "id", COLUMN_TEXT},
        {"NAME", "name", COLUMN_LONG},
        {"STATE", "state", COLUMN_STATE},
        {"EXPIRES", "expiresAt", COLUMN_TEXT},
        {"SERVICE PRINCIPAL", "servicePrincipalId", COLUMN_TEXT},
    };
    const cJSON *rows;

    return policy_may_read(ctl->caller, "openclaw.service-keys.read", fault) &&
           service_key_list(ctl->connection, ctl->memory, NULL, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    const struct service_key_request request = {
        .name = ctl->operands[0],
        .service_principal_id = options_text(ctl->options, "service-principal"),
        .days = (unsigned)options_number(ctl->options, "days"),
        .path = options_text(ctl->options, "file"),
        .setting = "--file",
    };
    const cJSON *created;
    bool left_file;

    if (!request.path)
        return fault_set(fault, FAULT_INVALID, "USAGE", "--file is needed; see --help");
    if (!service_key_create(ctl->caller, ctl->memory, &request, &left_file, &created, fault)) {
        /* The path is an argument here and no setting. */
        if (fault_is(fault, "OUTPUT_FILE_REFUSED"))
            fault->class = FAULT_INVALID;
        if (left_file)
            ctl_say("%s was written and is left as it is.", request.path);
        return false;
    }
    return output_document(&ctl->output, created, fault);
}

static bool revoke(struct ctl *ctl, struct fault *fault)
{
    const cJSON *ended;

    return service_key_end(ctl->caller, ctl->memory, ctl->operands[0], &ended, fault) &&
           output_document(&ctl->output, ended, fault);
}

static const struct option create_options[] = {
    {.flag = "file",
     .type = OPTION_PATH,
     .value = "PATH",
     .help = "Where the key is written, mode 0600; the file must not exist, in a folder that others cannot "
             "write. It is "
             "shown nowhere else."},
    {.flag = "service-principal",
     .type = OPTION_TEXT,
     .value = "ID",
     .help = "Whom the key speaks for; without it, who you are asking as."},
    {.flag = "days",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = SERVICE_KEY_DAYS_MOST,
     .value = "NUMBER",
     .fallback = "30",
     .help = "How long it is valid."},
};
static const struct option_table create_table = {"Service key", create_options, COUNT_OF(create_options)};

const struct command service_key_commands[] = {
    {
        .name = "service-key list",
        .summary = "Shows service keys, never the keys themselves. Needs installation:administer.",
        .run = list,
    },
    {
        .name = "service-key create",
        .operands = "NAME",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .summary = "Makes a service key and writes it to a new file. Needs installation:administer.",
        .run = create,
    },
    {
        .name = "service-key revoke",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Ends a service key at once. Needs installation:administer.",
        .run = revoke,
    },
    {0},
};
