/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/commands.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

static const struct option output_options[] = {
    {.flag = "output",
     .letter = 'o',
     .type = OPTION_CHOICE,
     .choices = "table|json|yaml",
     .value = "FORM",
     .fallback = "table",
     .help = "How the result is printed."},
};
static const struct option_table output_table_options = {"Output", output_options, COUNT_OF(output_options)};

const struct option_table *const command_common_tables[] = {
    &output_table_options, &settings_ctl,      &settings_ctl_namespace,
    &settings_general,     &settings_database, NULL,
};

/* Each list ends with an entry without a name. */
static const struct command *const groups[] = {
    installation_commands, status_commands,          namespace_commands,   configuration_commands,
    secret_commands,       service_account_commands, agent_commands,       work_commands,
    audit_commands,        iam_identity_commands,    iam_group_commands,   iam_role_commands,
    iam_binding_commands,  iam_restriction_commands, service_key_commands,
};

/* How many of the words `name` starts with; 0 when one differs before the shorter ends. */
static size_t words_in_common(const char *name, const char *const *words, size_t count, bool *whole)
{
    size_t used = 0;

    while (*name && used < count) {
        size_t length = strcspn(name, " ");

        if (strlen(words[used]) != length || strncmp(words[used], name, length) != 0)
            break;
        used++;
        name += length + (name[length] == ' ');
    }
    *whole = *name == '\0';
    return used;
}

const struct command *command_find(const char *const *words, size_t count, size_t *used)
{
    const struct command *found = NULL;
    size_t group;

    for (group = 0; group < COUNT_OF(groups); group++) {
        const struct command *command;

        for (command = groups[group]; command->name; command++) {
            bool whole;
            size_t matched = words_in_common(command->name, words, count, &whole);

            if (whole && (!found || matched > *used)) {
                found = command;
                *used = matched;
            }
        }
    }
    return found;
}

/* What it does is its summary's first sentence. */
static char *append_command(char *text, const struct command *command, bool explained)
{
    const char *end = strstr(command->summary, ". ");
    size_t length = end ? (size_t)(end - command->summary) + 1 : strlen(command->summary);

    text = mem_append(text, "  %s%s%s\n", command->name, command->operands ? " " : "",
                      command->operands ? command->operands : "");
    return explained ? mem_append(text, "        %.*s\n", (int)length, command->summary) : text;
}

size_t command_list(const char *const *words, size_t count, char **text)
{
    size_t group, listed = 0;

    for (group = 0; group < COUNT_OF(groups); group++) {
        const struct command *command;

        for (command = groups[group]; command->name; command++) {
            bool whole;

            if (words_in_common(command->name, words, count, &whole) < count)
                continue;
            listed++;
            if (text)
                *text = append_command(*text, command, count > 0);
        }
    }
    return listed;
}

char *command_next_words(const void *context, const char *const *words, size_t count)
{
    char *text = mem_text(context, "");
    const char *last = "";
    size_t group, last_length = 0;

    for (group = 0; group < COUNT_OF(groups); group++) {
        const struct command *command;

        for (command = groups[group]; command->name; command++) {
            const char *next = command->name;
            size_t length, skip;
            bool whole;

            if (words_in_common(command->name, words, count, &whole) < count || whole)
                continue;
            for (skip = 0; skip < count; skip++)
                next += strcspn(next, " ") + 1;
            length = strcspn(next, " ");
            /* Commands that begin alike stand together. */
            if (length == last_length && strncmp(next, last, length) == 0)
                continue;
            text = mem_append(text, "%s%.*s", *text ? ", " : "", (int)length, next);
            last = next;
            last_length = length;
        }
    }
    return text;
}

struct option_request *command_request(const void *context, const struct command *command)
{
    struct option_request *request = mem_new(context, struct option_request);
    const struct option_table **tables =
        mem_array(request, const struct option_table *, COUNT_OF(command_common_tables) + 1);
    size_t count = 0, index;

    if (command->options)
        tables[count++] = command->options;
    if (command->in_namespace)
        tables[count++] = &settings_ctl_namespace;
    for (index = 0; command_common_tables[index]; index++) {
        if (command_common_tables[index] != &settings_ctl_namespace)
            tables[count++] = command_common_tables[index];
    }
    request->program = mem_format(request, "occctl %s", command->name);
    request->program_bit = PROGRAM_CTL;
    request->tables = tables;
    request->operands = command->operands;
    request->operands_least = command->operands_least;
    request->operands_most = command->operands_most;
    request->summary = command->summary;
    request->manual = "occctl(1)";
    return request;
}
