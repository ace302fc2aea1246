/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/option.h"

#include "lib/base/memory.h"
#include "lib/config/option_table.h"

#define WIDTH 79
#define INDENT 8

/* Appends `words` broken at spaces, each line with `indent` spaces before it. */
static char *append_wrapped(char *text, const char *words, int indent)
{
    int column = 0;

    while (*words) {
        int length = (int)strcspn(words, " ");

        if (column && column + 1 + length > WIDTH) {
            text = mem_append(text, "\n");
            column = 0;
        }
        text = column ? mem_append(text, " %.*s", length, words)
                      : mem_append(text, "%*s%.*s", indent, "", length, words);
        column += length + (column ? 1 : indent);
        words += length;
        while (*words == ' ')
            words++;
    }
    return mem_append(text, "\n");
}

/* "OCC_WORKER_POLL_INTERVAL_MS; 1 to 604800000; default 250" */
static char *properties(const void *context, const struct option *option)
{
    char *text = mem_text(context, "");

    if (option->flag && option->variable)
        text = mem_append(text, "%s", option->variable);
    if (option->type == OPTION_NUMBER)
        text = mem_append(text, "%s%llu to %llu", *text ? "; " : "", (unsigned long long)option->least,
                          (unsigned long long)option->largest);
    if (option->type == OPTION_CHOICE)
        text = mem_append(text, "%s%s", *text ? "; " : "", option_choices(context, option));
    if (option->type == OPTION_BOOLEAN)
        text = mem_append(text, "%strue or false", *text ? "; " : "");
    if (option->many)
        text = mem_append(text, "%smay be repeated", *text ? "; " : "");
    if (option->fallback)
        text = mem_append(text, "%sdefault %s", *text ? "; " : "", option->fallback);
    return text;
}

static char *append_option(char *text, const struct option *option)
{
    char *list = properties(text, option);

    if (!option->flag)
        text = mem_append(text, "  %s (environment only)\n", option->variable);
    else if (option->letter)
        text = mem_append(text, "  -%c, --%s%s%s\n", option->letter, option->flag, option->value ? " " : "",
                          option->value ? option->value : "");
    else
        text = mem_append(text, "  --%s%s%s\n", option->flag, option->value ? " " : "",
                          option->value ? option->value : "");
    text = append_wrapped(text, option->help, INDENT);
    if (*list)
        text = append_wrapped(text, list, INDENT);
    talloc_free(list);
    return text;
}

static char *append_table(char *text, const struct option_table *table, unsigned program_bit)
{
    bool any = false;
    size_t index;

    for (index = 0; index < table->count; index++) {
        if (!option_applies(&table->options[index], program_bit))
            continue;
        if (!any)
            text = mem_append(text, "\n%s:\n", table->title);
        any = true;
        text = append_option(text, &table->options[index]);
    }
    return text;
}

char *options_help(const void *context, const struct option_request *request)
{
    const struct option_table *const *table;
    char *text = mem_format(context, "Usage: %s [FLAG]...%s%s\n", request->program,
                            request->operands ? " " : "", request->operands ? request->operands : "");

    text = append_wrapped(text, request->summary, 0);
    for (table = request->tables; *table; table++)
        text = append_table(text, *table, request->program_bit);
    text = mem_append(text,
                      "\nHelp:\n  -h, --help\n%*sPrint this and exit.\n  -V, --version\n"
                      "%*sPrint the version and exit.\n\n",
                      INDENT, "", INDENT, "");
    return append_wrapped(text, mem_format(text, "A flag wins over its variable. See %s.", request->manual),
                          0);
}

char *options_version(const void *context, const struct option_request *request)
{
    /* The package's name stands beside a program's that differs, as the version is the package's. */
    int length = (int)strcspn(request->program, " ");

    if ((size_t)length == strlen(PACKAGE_NAME) &&
        strncmp(request->program, PACKAGE_NAME, (size_t)length) == 0)
        return mem_format(context, "%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
    return mem_format(context, "%.*s (%s) %s\n", length, request->program, PACKAGE_NAME, PACKAGE_VERSION);
}
