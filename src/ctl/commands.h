/* SPDX-License-Identifier: MIT
 *
 * The table of commands: which one a command line means, and what there is.
 */
#ifndef OCC_CTL_COMMANDS_H
#define OCC_CTL_COMMANDS_H

#include "src/ctl/ctl.h"

/* Settings that every command takes, and --namespace, for finding the words among the flags too. */
extern const struct option_table *const command_common_tables[];

/* The command that the words begin with, and how many of them are its name; NULL when there is none. */
const struct command *command_find(const char *const *words, size_t count, size_t *used);

/* The commands whose names begin with the words, each with what it does, or for no words all of them by name
 * only: for --help. Returns how many there are; NULL as `text` only counts. */
size_t command_list(const char *const *words, size_t count, char **text);

/* The words that may follow: "create, list, get, delete"; "" when no command begins with `words`. */
char *command_next_words(const void *context, const char *const *words, size_t count)
    __attribute__((returns_nonnull)) MUST_USE;

/* The request of a command, with its tables; hangs on `context`. */
struct option_request *command_request(const void *context, const struct command *command)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
