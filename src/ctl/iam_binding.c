/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/role_binding.h"

#include "lib/admit/policy.h"
#include "src/ctl/ctl.h"

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"ID", "id", COLUMN_TEXT},
        {"ROLE", "roleName", COLUMN_LONG},
        {"IDENTITY", "identityId", COLUMN_TEXT},
        {"GROUP", "groupName", COLUMN_LONG},
        {"NAMESPACE", "namespaceId", COLUMN_TEXT},
        {"RESOURCE", "resourceId", COLUMN_TEXT},
    };
    const cJSON *rows;

    return policy_may_read(ctl->caller, "openclaw.iam.bindings.read", fault) &&
           role_binding_list(ctl->connection, ctl->memory, NULL, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    const struct binding_request request = {
        .role = options_text(ctl->options, "role"),
        .identity_id = options_text(ctl->options, "identity"),
        .group = options_text(ctl->options, "group"),
        .namespace_text = options_text(ctl->options, "namespace"),
        .resource = options_text(ctl->options, "resource"),
    };
    const cJSON *created;

    if (!request.role)
        return fault_set(fault, FAULT_INVALID, "USAGE", "--role is needed; see --help");
    return binding_create(ctl->caller, ctl->memory, &request, &created, fault) &&
           output_document(&ctl->output, created, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    return binding_remove(ctl->caller, ctl->operands[0], fault);
}

static const struct option create_options[] = {
    {.flag = "role",
     .type = OPTION_TEXT,
     .value = "ROLE",
     .help = "What is given: a role by ID or exact name."},
    {.flag = "identity",
     .type = OPTION_TEXT,
     .value = "ID",
     .help = "To whom: an identity, or else --group."},
    {.flag = "group",
     .type = OPTION_TEXT,
     .value = "GROUP",
     .help = "To whom: the people of a group, by ID or exact name."},
    {.flag = "resource",
     .type = OPTION_TEXT,
     .value = "KIND:ID",
     .help = "Where: one exact resource. Without it and --namespace: in the whole Installation."},
};
static const struct option_table create_table = {"Binding", create_options, COUNT_OF(create_options)};

const struct command iam_binding_commands[] = {
    {
        .name = "iam binding list",
        .summary = "Shows who holds which role, and where. Needs installation:administer.",
        .run = list,
    },
    {
        .name = "iam binding create",
        .options = &create_table,
        .in_namespace = true,
        .summary =
            "Gives a role to an identity or a group: for the whole Installation, with --namespace for one "
            "Namespace, or with "
            "--resource for one exact resource. Needs installation:administer, and namespace:read on that "
            "Namespace.",
        .run = create,
    },
    {
        .name = "iam binding delete",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Takes a role away. Refused where nobody would be the administrator any more. Needs "
                   "installation:administer.",
        .run = delete,
    },
    {0},
};
