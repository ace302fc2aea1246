/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/option.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/option_table.h"

#define CODE_USAGE "USAGE"
#define LIST_MOST 256

struct reading {
    const struct option_request *request;
    struct findings *findings;
    struct options *options;
    int argc;
    char *const *argv;
    int next; /* the argument to look at */
    bool help, version;
};

static struct option_entry *entry_of(struct options *options, const struct option *option)
{
    size_t index;

    for (index = 0; index < options->count; index++)
        if (options->entries[index].option == option)
            return &options->entries[index];
    abort();
}

static void make_entries(struct options *options, const struct option_request *request)
{
    const struct option_table *const *table;
    size_t index;

    for (table = request->tables; *table; table++) {
        for (index = 0; index < (*table)->count; index++) {
            const struct option *option = &(*table)->options[index];

            if (!option_applies(option, request->program_bit))
                continue;
            options->entries = mem_grow(options, options->entries, struct option_entry, options->count + 1);
            options->entries[options->count++] = (struct option_entry){.option = option};
        }
    }
}

/* The part of an argument that may be shown in a message: what looks like a flag's name, nothing of a value.
 */
static int shown(const char *argument)
{
    size_t length = strspn(argument, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

    return (int)(length > 48 ? 48 : length);
}

/* Judges a value and keeps it when it is good. */
static void take_value(struct reading *reading, struct option_entry *entry, const char *source,
                       const char *value, enum finding_kind kind)
{
    const struct option *option = entry->option;
    const char *expected = option_expects(reading->options, option, value);

    entry->given = true;
    entry->source = source;
    if (expected) {
        findings_add(reading->findings, kind, source, option->code ? option->code : "SETTING_INVALID",
                     option->refusal ? "%s (%s)" : "%s%s", option->refusal ? option->refusal : "", expected);
        return;
    }
    if (option->type == OPTION_SECRET) {
        entry->secret = secret_new(reading->options, value, strlen(value));
        return;
    }
    entry->value = mem_text(reading->options, value);
    if (option->many) {
        entry->list = mem_grow(reading->options, entry->list, const char *, entry->list_count + 1);
        entry->list[entry->list_count++] = entry->value;
    }
}

/* A flag's value: what follows "=" (or the letter), else the next argument unless that is a flag itself. */
static const char *flag_value(struct reading *reading, const char *attached)
{
    if (attached)
        return attached;
    if (reading->next < reading->argc && strncmp(reading->argv[reading->next], "--", 2) != 0)
        return reading->argv[reading->next++];
    return NULL;
}

static void take_flag(struct reading *reading, const struct option *option, const char *source,
                      const char *attached)
{
    struct option_entry *entry = entry_of(reading->options, option);
    const char *value = option->type == OPTION_SWITCH ? "true" : flag_value(reading, attached);
    const char *complaint = NULL;

    if (option->type == OPTION_SWITCH && attached)
        complaint = "takes no value";
    else if (!value)
        complaint = "needs a value";
    else if (entry->given && !option->many)
        complaint = "is given more than once";
    else if (entry->list_count == LIST_MOST)
        complaint = "is given too often";
    if (!complaint) {
        take_value(reading, entry, source, value, FINDING_USAGE);
        return;
    }
    entry->given = true;
    entry->source = source;
    findings_add(reading->findings, FINDING_USAGE, source, CODE_USAGE, "%s", complaint);
}

/* "--flag", "--flag=value", "-o", "-ovalue". */
static void take_argument(struct reading *reading, const char *argument)
{
    const bool is_long = argument[1] == '-';
    const char *name = argument + 1 + is_long, *attached = NULL;
    const struct option *option;

    if (is_long) {
        const char *equals = strchr(name, '=');
        size_t length = equals ? (size_t)(equals - name) : strlen(name);

        option = option_by_flag(reading->request->tables, reading->request->program_bit, name, length);
        attached = equals ? equals + 1 : NULL;
    } else {
        option = option_by_letter(reading->request->tables, reading->request->program_bit, *name);
        attached = name[1] ? name + 1 : NULL;
    }
    if (option) {
        take_flag(reading, option,
                  is_long ? mem_format(reading->options, "--%s", option->flag)
                          : mem_format(reading->options, "-%c", option->letter),
                  attached);
        return;
    }
    findings_add(reading->findings, FINDING_USAGE, NULL, CODE_USAGE, "unknown flag %.*s; see --help",
                 shown(argument), argument);
}

static void take_arguments(struct reading *reading)
{
    struct options *options = reading->options;
    bool ended = false;

    while (reading->next < reading->argc) {
        const char *argument = reading->argv[reading->next++];

        if (!ended && text_equal(argument, "--")) {
            ended = true;
        } else if (!ended && (text_equal(argument, "--help") || text_equal(argument, "-h"))) {
            reading->help = true;
        } else if (!ended && (text_equal(argument, "--version") || text_equal(argument, "-V"))) {
            reading->version = true;
        } else if (!ended && argument[0] == '-' && argument[1]) {
            take_argument(reading, argument);
        } else {
            options->operands =
                mem_grow(options, options->operands, const char *, options->operand_count + 1);
            options->operands[options->operand_count++] = mem_text(options, argument);
        }
    }
}

/* Operands are not shown: somebody may have put a URL there. */
static void check_operands(struct reading *reading)
{
    const struct option_request *request = reading->request;
    size_t count = reading->options->operand_count;

    if (count > request->operands_most && request->operands_most == 0)
        findings_add(reading->findings, FINDING_USAGE, NULL, CODE_USAGE,
                     "%s takes no arguments besides flags, but %zu %s given; see --help", request->program,
                     count, count == 1 ? "was" : "were");
    else if (count > request->operands_most)
        findings_add(reading->findings, FINDING_USAGE, NULL, CODE_USAGE,
                     "%s takes at most %zu argument%s (%s), but %zu were given; see --help", request->program,
                     request->operands_most, request->operands_most == 1 ? "" : "s", request->operands,
                     count);
    else if (count < request->operands_least)
        findings_add(reading->findings, FINDING_USAGE, NULL, CODE_USAGE, "%s needs %s; see --help",
                     request->program, request->operands);
}

static void take_variables(struct reading *reading)
{
    size_t index;

    for (index = 0; index < reading->options->count; index++) {
        struct option_entry *entry = &reading->options->entries[index];
        const char *value = entry->option->variable && !entry->given ? getenv(entry->option->variable) : NULL;

        if (value)
            take_value(reading, entry, entry->option->variable, value, FINDING_PROBLEM);
    }
}

enum options_outcome options_read(const void *context, const struct option_request *request, int argc,
                                  char *const *argv, struct findings *findings, struct options **options)
{
    struct reading reading = {
        .request = request, .findings = findings, .argc = argc, .argv = argv, .next = 1};

    reading.options = mem_new(context, struct options);
    make_entries(reading.options, request);
    take_arguments(&reading);
    check_operands(&reading);
    take_variables(&reading);
    *options = reading.options;
    if (reading.help)
        return OPTIONS_HELP;
    return reading.version ? OPTIONS_VERSION : OPTIONS_READ;
}

size_t options_words(const struct option_table *const *tables, int argc, char *const *argv,
                     const char **words, size_t most)
{
    size_t count = 0;
    int index;

    for (index = 1; index < argc && count < most; index++) {
        const char *argument = argv[index];
        const struct option *option;

        if (text_equal(argument, "--"))
            break;
        if (argument[0] != '-' || !argument[1]) {
            words[count++] = argument;
            continue;
        }
        if (argument[1] == '-')
            option = option_by_flag(tables, 0, argument + 2, strlen(argument + 2));
        else
            option = argument[2] ? NULL : option_by_letter(tables, 0, argument[1]);
        if (option && option->type != OPTION_SWITCH)
            index++;
    }
    return count;
}
