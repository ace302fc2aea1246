/* SPDX-License-Identifier: MIT
 *
 * What the reader of options, its getters and the writer of help share: what was read, walking tables,
 * judging values.
 */
#ifndef OCC_CONFIG_OPTION_TABLE_H
#define OCC_CONFIG_OPTION_TABLE_H

#include "lib/config/option.h"

struct option_entry {
    const struct option *option;
    bool given;
    const char *source; /* "--mode", "-o" or "NODE_ENV" */
    const char *value;
    const char **list; /* of an option that may be given several times */
    size_t list_count;
    struct secret *secret;
};

struct options {
    struct option_entry *entries;
    size_t count;
    const char **operands;
    size_t operand_count;
};

/* The flag, or the variable of an option without a flag. */
const char *option_name(const struct option *option);

/* True when the option belongs to one of the programs in `program_bit` (0: to any). */
bool option_applies(const struct option *option, unsigned program_bit);

/* The option with this flag (`length` bytes of it) or this letter; NULL when there is none. */
const struct option *option_by_flag(const struct option_table *const *tables, unsigned program_bit,
                                    const char *flag, size_t length);
const struct option *option_by_letter(const struct option_table *const *tables, unsigned program_bit,
                                      char letter);

/* What is expected instead of `value` ("must be …"), hanging on `context`; NULL when the value is good. Shows
 * the value only where the option's type cannot hold a credential. */
const char *option_expects(const void *context, const struct option *option, const char *value);

/* The choices as "a, b or c". */
char *option_choices(const void *context, const struct option *option)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
