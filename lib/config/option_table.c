/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/option_table.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#define TEXT_MOST 1024
#define SHOWN_MOST 24 /* of a wrong value: enough to find a slip of the hand */

const char *option_name(const struct option *option)
{
    return option->flag ? option->flag : option->variable;
}

bool option_applies(const struct option *option, unsigned program_bit)
{
    return !option->programs || !program_bit || (option->programs & program_bit);
}

const struct option *option_by_flag(const struct option_table *const *tables, unsigned program_bit,
                                    const char *flag, size_t length)
{
    for (; *tables; tables++) {
        size_t index;

        for (index = 0; index < (*tables)->count; index++) {
            const struct option *option = &(*tables)->options[index];

            if (option->flag && option_applies(option, program_bit) && strlen(option->flag) == length &&
                memcmp(option->flag, flag, length) == 0)
                return option;
        }
    }
    return NULL;
}

const struct option *option_by_letter(const struct option_table *const *tables, unsigned program_bit,
                                      char letter)
{
    for (; *tables; tables++) {
        size_t index;

        for (index = 0; index < (*tables)->count; index++) {
            const struct option *option = &(*tables)->options[index];

            if (option->letter == letter && option_applies(option, program_bit))
                return option;
        }
    }
    return NULL;
}

char *option_choices(const void *context, const struct option *option)
{
    char *text = mem_text(context, "");
    const char *at = option->choices;

    while (*at) {
        size_t length = strcspn(at, "|");
        bool last = !at[length];

        text = mem_append(text, "%s%.*s", !*text ? "" : last ? " or " : ", ", (int)length, at);
        at += length + !last;
    }
    return text;
}

static bool is_choice(const struct option *option, const char *value)
{
    const char *at = option->choices;
    size_t wanted = strlen(value);

    while (*at) {
        size_t length = strcspn(at, "|");

        if (length == wanted && memcmp(at, value, length) == 0)
            return true;
        at += length + (at[length] == '|');
    }
    return false;
}

/* `, not "x"` for a short value without anything odd in it, else nothing. */
static const char *not_this(const void *context, const char *value)
{
    if (strlen(value) > SHOWN_MOST || !text_is_printable(value) || strpbrk(value, "@\"\\"))
        return "";
    return mem_format(context, ", not \"%s\"", value);
}

static const char *expects_number(const void *context, const struct option *option, const char *value)
{
    uint64_t number;

    if (text_to_number(value, option->largest, &number) && number >= option->least)
        return NULL;
    return mem_format(context, "must be a plain decimal integer from %llu to %llu%s",
                      (unsigned long long)option->least, (unsigned long long)option->largest,
                      not_this(context, value));
}

static const char *expects_text(const char *value)
{
    if (strlen(value) > TEXT_MOST)
        return "must not be longer than 1024 bytes";
    if (!text_is_printable(value))
        return "must be UTF-8 without control characters";
    return NULL;
}

static const char *expects_path(const char *value)
{
    if (value[0] != '/')
        return "must be an absolute path";
    return expects_text(value);
}

const char *option_expects(const void *context, const struct option *option, const char *value)
{
    const char *expected = NULL;

    if (!*value)
        return "must not be empty";
    switch (option->type) {
    case OPTION_SWITCH:
    case OPTION_SECRET:
        break;
    case OPTION_TEXT:
        expected = expects_text(value);
        break;
    case OPTION_PATH:
        expected = expects_path(value);
        break;
    case OPTION_NUMBER:
        expected = expects_number(context, option, value);
        break;
    case OPTION_BOOLEAN:
        if (!text_equal(value, "true") && !text_equal(value, "false"))
            expected = mem_format(context, "must be true or false%s", not_this(context, value));
        break;
    case OPTION_CHOICE:
        if (!is_choice(option, value))
            expected = mem_format(context, "must be %s%s", option_choices(context, option),
                                  not_this(context, value));
        break;
    }
    if (!expected && option->check)
        expected = option->check(value);
    return expected;
}
