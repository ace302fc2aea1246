/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/restriction.h"

#include "lib/admit/policy.h"
#include "src/ctl/ctl.h"

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"ID", "id", COLUMN_TEXT},
        {"DENIES", "permission", COLUMN_TEXT},
        {"NAMESPACE", "namespaceId", COLUMN_TEXT},
        {"RESOURCE", "resourceId", COLUMN_TEXT},
    };
    const cJSON *rows;

    return policy_may_read(ctl->caller, "openclaw.iam.restrictions.read", fault) &&
           restriction_list(ctl->connection, ctl->memory, NULL, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    const cJSON *created;

    return restriction_create(ctl->caller, ctl->memory, ctl->operands[0],
                              options_text(ctl->options, "namespace"), options_text(ctl->options, "resource"),
                              &created, fault) &&
           output_document(&ctl->output, created, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    return restriction_remove(ctl->caller, ctl->operands[0], fault);
}

static const struct option create_options[] = {
    {.flag = "resource",
     .type = OPTION_TEXT,
     .value = "KIND:ID",
     .help = "Only on this exact resource. Without it and --namespace: on every one."},
};
static const struct option_table create_table = {"Restriction", create_options, COUNT_OF(create_options)};

const struct command iam_restriction_commands[] = {
    {
        .name = "iam restriction list",
        .summary = "Shows what is denied to everybody. Needs installation:administer.",
        .run = list,
    },
    {
        .name = "iam restriction create",
        .operands = "KIND:ACTION",
        .operands_least = 1,
        .operands_most = 1,
        .options = &create_table,
        .in_namespace = true,
        .summary = "Denies a permission to everybody, whatever was granted: everywhere, in one Namespace "
                   "(--namespace), or "
                   "on one "
                   "resource. Needs installation:administer, and namespace:read on that Namespace.",
        .run = create,
    },
    {
        .name = "iam restriction delete",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Lifts a restriction. Needs installation:administer.",
        .run = delete,
    },
    {0},
};
