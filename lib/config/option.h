/* SPDX-License-Identifier: MIT
 *
 * Flags and environment variables, read by tables that each program declares.
 *
 * A flag wins over its variable, a variable over the default. Flags stand anywhere among the operands, as
 * `--flag value` or `--flag=value`; `--` ends them. Everything wrong becomes a finding: the command line
 * (unknown, repeated or incomplete flags, values that do not fit, operands too many or too few) is
 * FINDING_USAGE, a variable's value FINDING_PROBLEM. A variable that is set must hold a value: an empty one
 * is refused.
 *
 *     static const struct option own[] = {
 *         {.flag = "check", .type = OPTION_SWITCH, .help = "verify and report, then exit"},
 *     };
 *     static const struct option_table options = {"Actions", own, COUNT_OF(own)};
 *     static const struct option_table *const tables[] = {&options, &settings_general, NULL};
 */
#ifndef OCC_CONFIG_OPTION_H
#define OCC_CONFIG_OPTION_H

#include "lib/base/secret.h"
#include "lib/config/finding.h"

enum option_type {
    OPTION_SWITCH,  /* a flag without a value: there or not */
    OPTION_TEXT,    /* 1 to 1024 printable characters */
    OPTION_PATH,    /* an absolute path */
    OPTION_NUMBER,  /* a plain positive decimal integer from `least` to `largest` */
    OPTION_BOOLEAN, /* true or false */
    OPTION_CHOICE,  /* one of `choices` */
    OPTION_SECRET,  /* a variable only; never shown, never a flag */
};

/* Programs that an option belongs to; 0 in an option means every program whose tables hold it. */
enum option_program {
    PROGRAM_WORKER = 1,
    PROGRAM_MIGRATE = 2,
    PROGRAM_BOOTSTRAP = 4,
    PROGRAM_CTL = 8,
};

/* An option. Its name, for the getters below, is its flag, or its variable when it has no flag. */
struct option {
    const char *flag;     /* "poll-interval-ms"; NULL: none */
    char letter;          /* 'o' for "-o" as well; 0: none */
    const char *variable; /* "OCC_WORKER_POLL_INTERVAL_MS"; NULL: none */
    enum option_type type;
    bool many;               /* the flag may be given several times: options_list() */
    unsigned programs;       /* of enum option_program; 0: all */
    const char *value;       /* what the value is, in help: "MS", "PATH" */
    const char *fallback;    /* the default as text; NULL: none */
    uint64_t least, largest; /* OPTION_NUMBER */
    const char *choices;     /* OPTION_CHOICE: "development|production" */
    /* Looks closer at a value that fits its type: NULL when it is good, else what is expected ("must be …").
     */
    const char *(*check)(const char *value);
    const char *code;    /* of the finding for a wrong value; NULL: SETTING_INVALID */
    const char *refusal; /* put before the message about a wrong value, such as "Worker mode is rejected" */
    const char *help;    /* sentences for --help */
};

#define OPTION_MILLISECONDS_MOST 604800000 /* a week */

struct option_table {
    const char *title;
    const struct option *options;
    size_t count;
};

/* A program's command line. */
struct option_request {
    const char *program;                      /* "occ-worker" or "occctl namespace create" */
    unsigned program_bit;                     /* of enum option_program: which options of the tables apply */
    const struct option_table *const *tables; /* ends with NULL; names are unique over all of them */
    const char *operands;                     /* for the usage line: "NAME"; NULL: none */
    size_t operands_least, operands_most;
    const char *summary; /* sentences for --help */
    const char *manual;  /* "occ-worker(8)" */
};

enum options_outcome {
    OPTIONS_READ,    /* look at the findings, then at the values */
    OPTIONS_HELP,    /* --help or -h: print options_help() and exit 0, whatever else is wrong */
    OPTIONS_VERSION, /* --version or -V: print options_version() and exit 0 */
};

struct options;

/* Reads the command line (argv[0] is skipped) and the environment. Values that are wrong have a finding and
 * count as absent, or as their default. Everything hangs on `context`, copies of argv's texts included. */
enum options_outcome options_read(const void *context, const struct option_request *request, int argc,
                                  char *const *argv, struct findings *findings,
                                  struct options **options) MUST_USE;

/* The operands of a command line of which only the flags in `tables` are known so far: to find a subcommand
 * before its own table is chosen. Flags not in the tables are taken to have no value. */
size_t options_words(const struct option_table *const *tables, int argc, char *const *argv,
                     const char **words, size_t most);

/* What --help prints (usage, summary, options by table with variables, ranges and defaults) and the line of
 * --version. */
char *options_help(const void *context, const struct option_request *request)
    __attribute__((returns_nonnull)) MUST_USE;
char *options_version(const void *context, const struct option_request *request)
    __attribute__((returns_nonnull)) MUST_USE;

/* Values by the option's name; a name that no table holds ends the process, as it is the program's mistake.
 * Without value and default: NULL, 0, false. */
const char *options_text(const struct options *options, const char *name);
uint64_t options_number(const struct options *options, const char *name);
bool options_true(const struct options *options, const char *name); /* boolean or switch */
const struct secret *options_secret(const struct options *options, const char *name);
const char *const *options_list(const struct options *options, const char *name, size_t *count);

/* Whether the user gave it, by flag or variable, be it right or wrong; and by which name ("--mode",
 * "NODE_ENV"). The latter without being given: the variable, else the flag. */
bool options_given(const struct options *options, const char *name);
const char *options_source(const struct options *options, const char *name);

const char *const *options_operands(const struct options *options, size_t *count);

#endif
