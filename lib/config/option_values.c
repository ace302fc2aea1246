/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/option.h"

#include "lib/base/text.h"
#include "lib/config/option_table.h"

static const struct option_entry *find(const struct options *options, const char *name)
{
    size_t index;

    for (index = 0; index < options->count; index++)
        if (text_equal(option_name(options->entries[index].option), name))
            return &options->entries[index];
    (void)fprintf(stderr, "no option is named %s\n", name);
    abort();
}

const char *options_text(const struct options *options, const char *name)
{
    const struct option_entry *entry = find(options, name);

    return entry->value ? entry->value : entry->option->fallback;
}

uint64_t options_number(const struct options *options, const char *name)
{
    uint64_t number;

    return text_to_number(options_text(options, name), UINT64_MAX, &number) ? number : 0;
}

bool options_true(const struct options *options, const char *name)
{
    return text_equal(options_text(options, name), "true");
}

const struct secret *options_secret(const struct options *options, const char *name)
{
    return find(options, name)->secret;
}

const char *const *options_list(const struct options *options, const char *name, size_t *count)
{
    const struct option_entry *entry = find(options, name);

    *count = entry->list_count;
    return entry->list;
}

bool options_given(const struct options *options, const char *name)
{
    return find(options, name)->given;
}

const char *options_source(const struct options *options, const char *name)
{
    const struct option_entry *entry = find(options, name);

    if (entry->source)
        return entry->source;
    return entry->option->variable ? entry->option->variable : entry->option->flag;
}

const char *const *options_operands(const struct options *options, size_t *count)
{
    *count = options->operand_count;
    return options->operands;
}
