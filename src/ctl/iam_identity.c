/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/identity.h"

#include "lib/admit/policy.h"
#include "src/ctl/ctl.h"

static bool list(struct ctl *ctl, struct fault *fault)
{
    static const struct column columns[] = {
        {"ID", "id", COLUMN_TEXT},         {"KIND", "kind", COLUMN_TEXT},
        {"ISSUER", "issuer", COLUMN_TEXT}, {"SUBJECT", "subject", COLUMN_TEXT},
        {"EMAIL", "email", COLUMN_TEXT},   {"AGENT", "agentId", COLUMN_TEXT},
    };
    const cJSON *rows;

    return policy_may_read(ctl->caller, "openclaw.iam.identities.read", fault) &&
           identity_list(ctl->connection, ctl->memory, NULL, &rows, fault) &&
           output_list(&ctl->output, rows, columns, COUNT_OF(columns), fault);
}

static bool create(struct ctl *ctl, struct fault *fault)
{
    const cJSON *created;

    return identity_create(ctl->caller, ctl->memory, options_text(ctl->options, "issuer"),
                           options_text(ctl->options, "subject"), &created, fault) &&
           output_document(&ctl->output, created, fault);
}

static bool delete (struct ctl *ctl, struct fault *fault)
{
    return identity_remove(ctl->caller, ctl->operands[0], fault);
}

static const struct option create_options[] = {
    {.flag = "issuer", .type = OPTION_TEXT, .value = "ISSUER", .help = "Who vouches for the person."},
    {.flag = "subject", .type = OPTION_TEXT, .value = "SUBJECT", .help = "Who the person is there."},
};
static const struct option_table create_table = {"Person", create_options, COUNT_OF(create_options)};

const struct command iam_identity_commands[] = {
    {
        .name = "iam identity list",
        .summary = "Shows people and service principals. Needs installation:administer.",
        .run = list,
    },
    {
        .name = "iam identity create",
        .options = &create_table,
        .summary = "Makes a person known by issuer and subject, or without these a service principal of the "
                   "Installation. "
                   "Needs "
                   "installation:administer.",
        .run = create,
    },
    {
        .name = "iam identity delete",
        .operands = "ID",
        .operands_least = 1,
        .operands_most = 1,
        .summary = "Removes an identity that no access binding names; its service keys and memberships go "
                   "with it, and "
                   "work that it "
                   "admitted ends with ACTOR_REVOKED. Needs installation:administer.",
        .run = delete,
    },
    {0},
};
