/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/service_account.h"

#include "src/ctl/ctl.h"

static bool create(struct ctl *ctl, struct fault *fault)
{
    const char *secret = options_text(ctl->options, "credential");
    const cJSON *created;

    if (!secret)
        return fault_set(fault, FAULT_INVALID, "USAGE", "--credential is needed; see --help");
    return service_account_create(ctl->caller, ctl->memory, options_text(ctl->options, "namespace"),
                                  ctl->operands[0], secret, &created, fault) &&
           output_document(&ctl->output, created, fault);
}

static bool update(struct ctl *ctl, struct fault *fault)
{
    const char *name = options_text(ctl->options, "name");
    const char *secret = options_text(ctl->options, "credential");
    const cJSON *updated;

    if (!name && !secret)
        return fault_set(fault, FAULT_INVALID, "USAGE", "--name or --credential is needed; see --help");
    return service_account_update(ctl->caller, ctl->memory, options_text(ctl->options, "namespace"),
                                  ctl->operands[0], name, secret, &updated, fault) &&
           output_document(&ctl->output, updated, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    return service_account_delete(ctl->caller, options_text(ctl->options, "namespace"), ctl->operands[0],
                                  fault);
}

static bool get(struct ctl *ctl, struct fault *fault)
{
    const cJSON *found;

    return service_account_get(ctl->caller, ctl->memory, options_text(ctl->options, "namespace"),
                               ctl->operands[0], &found, fault) &&
           output_document(&ctl->output, found, fault);
}

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_LONG},
        {"CREDENTIAL", "secretName", COLUMN_LONG},
        {"AGE", "ageMs", COLUMN_DURATION},
        {"ID", "id", COLUMN_TEXT},
        {"NAMESPACE", "namespaceId", COLUMN_TEXT},
    };
    const char *namespace_id;
    const cJSON *rows;

    return ctl_namespace(ctl, &namespace_id, fault) &&
           service_account_select(ctl->caller, ctl->memory, namespace_id, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

#define CREDENTIAL_OPTION                                                                                    \
    {                                                                                                        \
        .flag = "credential", .type = OPTION_TEXT, .value = "SECRET",                                        \
        .help = "The Secret of the same Namespace that holds the credential, by ID or exact name; needs "    \
                "secret:read on it."                                                                         \
    }
static const struct option create_options[] = {CREDENTIAL_OPTION};
static const struct option_table create_table = {"Service account", create_options, COUNT_OF(create_options)};
static const struct option update_options[] = {
    CREDENTIAL_OPTION,
    {.flag = "name", .type = OPTION_TEXT, .value = "NAME", .help = "Another name."},
};
static const struct option_table update_table = {"Service account", update_options, COUNT_OF(update_options)};

const struct command service_account_commands[] = {
    {
        .name = "service-account create",
        .operands = "NAME",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .in_namespace = true,
        .summary = "Names an account at a provider, with which Agents of the Namespace authenticate. Needs "
                   "service_account:create on the Namespace.",
        .run = create,
    },
    {
        .name = "service-account list",
        .in_namespace = true,
        .summary = "Shows the service accounts that you may read.",
        .run = list,
    },
    {
        .name = "service-account get",
        .operands = "ACCOUNT",
        .operands_least = 1,
        .operands_most = 1,
        .in_namespace = true,
        .summary = "Shows one service account, named by ID or exact name. Needs service_account:read on it.",
        .run = get,
    },
    {
        .name = "service-account update",
        .operands = "ACCOUNT",
        .operands_least = 1,
        .operands_most = 1,
        .options = &update_table,
        .in_namespace = true,
        .summary = "Changes a service account's name or credential. Needs service_account:update on it.",
        .run = update,
    },
    {
        .name = "service-account delete",
        .operands = "ACCOUNT",
        .operands_least = 1,
        .operands_most = 1,
        .in_namespace = true,
        .summary = "Deletes a service account with which no Agent authenticates; its Secret stays. Needs "
                   "service_account:delete on it.",
        .run = delete,
    },
    {0},
};
