/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/role.h"

#include "lib/admit/policy.h"
#include "src/ctl/ctl.h"

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_LONG},
        {"ID", "id", COLUMN_TEXT},
        {"NAMESPACE", "namespaceId", COLUMN_TEXT},
        {"PERMISSIONS", "permissions", COLUMN_LONG},
    };
    const cJSON *rows;

    return policy_may_read(ctl->caller, "openclaw.iam.roles.read", fault) &&
           role_list(ctl->connection, ctl->memory, NULL, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    size_t count;
    const char *const *permissions = options_list(ctl->options, "permission", &count);
    const cJSON *created;

    return role_create(ctl->caller, ctl->memory, ctl->operands[0], options_text(ctl->options, "namespace"),
                       permissions, count, &created, fault) &&
           output_document(&ctl->output, created, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    return role_remove(ctl->caller, ctl->operands[0], options_text(ctl->options, "namespace"), fault);
}

static bool update(struct ctl *ctl, struct fault *fault)
{
    const char *name = options_text(ctl->options, "name");
    size_t count;
    const char *const *permissions = options_list(ctl->options, "permission", &count);
    const cJSON *changed;

    if (!name && count == 0)
        return fault_set(fault, FAULT_INVALID, "USAGE", "--name or --permission is needed; see --help");
    return role_change(ctl->caller, ctl->memory, ctl->operands[0], options_text(ctl->options, "namespace"),
                       name, permissions, count, &changed, fault) &&
           output_document(&ctl->output, changed, fault);
}

static const struct option create_options[] = {
    {.flag = "permission",
     .type = OPTION_TEXT,
     .many = true,
     .value = "KIND:ACTION",
     .help = "What the role allows, such as namespace:create."},
};
static const struct option_table create_table = {"Permissions", create_options, COUNT_OF(create_options)};

static const struct option update_options[] = {
    {.flag = "permission",
     .type = OPTION_TEXT,
     .many = true,
     .value = "KIND:ACTION",
     .help = "What the role allows from now on: these, and nothing else."},
    {.flag = "name", .type = OPTION_TEXT, .value = "NAME", .help = "Another name."},
};
static const struct option_table update_table = {"Change", update_options, COUNT_OF(update_options)};

const struct command iam_role_commands[] = {
    {
        .name = "iam role list",
        .summary = "Shows roles and what they allow. Needs installation:administer.",
        .run = list,
    },
    {
        .name = "iam role create",
        .operands = "NAME",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .in_namespace = true,
        .summary = "Makes a role of the Installation, or with --namespace of one Namespace. Needs "
                   "installation:administer, "
                   "and "
                   "namespace:read on that Namespace.",
        .run = create,
    },
    {
        .name = "iam role update",
        .operands = "ROLE",
        .operands_least = 1,
        .operands_most = 1,
        .options = &update_table,
        .in_namespace = true,
        .summary = "Changes what a role allows, or its name: for everybody who holds it, at once. Needs "
                   "installation:administer.",
        .run = update,
    },
    {
        .name = "iam role delete",
        .operands = "ROLE",
        .operands_least = 1,
        .operands_most = 1,
        .in_namespace = true,
        .summary = "Removes a role, named by ID or exact name, that no access binding names. Needs "
                   "installation:administer.",
        .run = delete,
    },
    {0},
};
