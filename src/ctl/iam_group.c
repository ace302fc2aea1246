/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/group.h"

#include "lib/admit/policy.h"
#include "src/ctl/ctl.h"

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_LONG},
        {"ID", "id", COLUMN_TEXT},
        {"MEMBERS", "members", COLUMN_LONG},
    };
    const cJSON *rows;

    return policy_may_read(ctl->caller, "openclaw.iam.groups.read", fault) &&
           group_list(ctl->connection, ctl->memory, NULL, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    size_t count;
    const char *const *members = options_list(ctl->options, "member", &count);
    const cJSON *created;

    return group_create(ctl->caller, ctl->memory, ctl->operands[0], members, count, &created, fault) &&
           output_document(&ctl->output, created, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    return group_remove(ctl->caller, ctl->operands[0], fault);
}

typedef bool (*member_operation)(struct caller *caller, const void *context, const char *text,
                                 const char *member, const cJSON **changed, struct fault *fault);

static bool change(struct ctl *ctl, member_operation operation, struct fault *fault)
{
    const cJSON *changed;

    return operation(ctl->caller, ctl->memory, ctl->operands[0], ctl->operands[1], &changed, fault) &&
           output_document(&ctl->output, changed, fault);
}

static bool add_member(struct ctl *ctl, struct fault *fault)
{
    return change(ctl, group_take_in, fault);
}

static bool remove_member(struct ctl *ctl, struct fault *fault)
{
    return change(ctl, group_take_out, fault);
}

static const struct option create_options[] = {
    {.flag = "member",
     .type = OPTION_TEXT,
     .many = true,
     .value = "ID",
     .help = "A person who is in the group, by identity."},
};
static const struct option_table create_table = {"Members", create_options, COUNT_OF(create_options)};

const struct command iam_group_commands[] = {
    {
        .name = "iam group list",
        .summary = "Shows groups and who is in them. Needs installation:administer.",
        .run = list,
    },
    {
        .name = "iam group create",
        .operands = "NAME",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .summary = "Makes a group of people. Needs installation:administer.",
        .run = create,
    },
    {
        .name = "iam group add-member",
        .operands = "GROUP IDENTITY",
        .operands_least = 2,
        .operands_most = 2,
        .summary = "Takes a person into a group, named by ID or exact name. Needs installation:administer.",
        .run = add_member,
    },
    {
        .name = "iam group remove-member",
        .operands = "GROUP IDENTITY",
        .operands_least = 2,
        .operands_most = 2,
        .summary = "Takes a person out of a group. Needs installation:administer.",
        .run = remove_member,
    },
    {
        .name = "iam group delete",
        .operands = "GROUP",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Removes a group, named by ID or exact name, that no access binding names. Needs "
                   "installation:administer.",
        .run = delete,
    },
    {0},
};
