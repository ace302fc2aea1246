/* SPDX-License-Identifier: MIT
 *
 * occctl: finds the command, reads its settings, connects, authenticates, and runs it.
 */
#include "lib/base/build.h"

#include "src/ctl/commands.h"

#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/standard.h"
#include "lib/base/text.h"
#include "lib/store/migration.h"
#include "lib/store/session_role.h"
#include "src/ctl/drivers.h"

#include <locale.h>
#include <stdarg.h>
#include <unistd.h>

#define PROGRAM "occctl"
#define WORDS_MOST 3 /* "iam identity list" */
#define DATABASE_TIMEOUT_MS 60000
#define EXIT_USAGE 2

void ctl_say(const char *format, ...)
{
    char line[FAULT_MESSAGE_SIZE + FAULT_CODE_SIZE + 16];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_make_line(line);
    (void)fprintf(stderr, PROGRAM ": %s\n", line);
}

static int tell(const struct fault *fault)
{
    ctl_say("%s [%s]", fault->message, fault->code);
    return fault_exit_status(fault);
}

/* ---- Help */

/* What was asked for and is not on stdout has not been given. */
static int print(const char *text)
{
    struct fault fault;

    return output_text(text, &fault) ? 0 : tell(&fault);
}

static const char *append_words(char **text, const char *const *words, size_t count)
{
    size_t index;

    for (index = 0; index < count; index++)
        *text = mem_append(*text, " %s", words[index]);
    return *text;
}

static const char *program_of(char **text, const char *const *words, size_t count)
{
    (void)append_words(text, words, count);
    return *text = mem_append(*text, " COMMAND");
}

/* The commands stand between the summary and the flags that all of them take. */
static int help_overview(const char *const *words, size_t count)
{
    void *memory = talloc_new(NULL);
    char *program = mem_text(memory, PROGRAM);
    const struct option_request request = {
        .program = program_of(&program, words, count),
        .program_bit = PROGRAM_CTL,
        .tables = command_common_tables,
        .summary =
            "Asks the OpenClaw Control Plane for things, and shows its state. Each command has --help.",
        .manual = "occctl(1)",
    };
    const char *help = options_help(memory, &request);
    const char *tables = strstr(help, "\n\n");
    size_t head = tables ? (size_t)(tables - help) + 1 : strlen(help);
    char *text = mem_text_part(memory, help, head);
    int status;

    text = mem_append(text, "\nCommands:\n");
    (void)command_list(words, count, &text);
    text = mem_append(text, "%s", help + head);
    status = print(text);
    talloc_free(memory);
    return status;
}

static bool asks_for(int argc, char *const *argv, const char *flag, const char *letter)
{
    int index;

    for (index = 1; index < argc && !text_equal(argv[index], "--"); index++) {
        if (text_equal(argv[index], flag) || text_equal(argv[index], letter))
            return true;
    }
    return false;
}

/* No command was named, or none of that name exists. Of what was typed only what is known is shown: the rest
 * may be anything. */
static int without_command(const char *const *words, size_t count, int argc, char *const *argv)
{
    static const struct option_request request = {.program = PROGRAM};
    void *memory = talloc_new(NULL);
    char *known = mem_text(memory, PROGRAM);
    const char *next, *what = "the command is not complete";
    size_t used = count;
    int status = EXIT_USAGE;

    while (!command_list(words, used, NULL))
        used--;
    if (used < count)
        what = "there is no such command";
    else if (count == 0)
        what = "a command is needed";
    next = command_next_words(memory, words, used);
    if (asks_for(argc, argv, "--version", "-V"))
        status = print(options_version(memory, &request));
    else if (asks_for(argc, argv, "--help", "-h"))
        status = help_overview(words, used);
    else
        ctl_say("%s: after \"%s\" comes one of %s; see --help [USAGE]", what,
                append_words(&known, words, used), next);
    talloc_free(memory);
    return status;
}

/* ---- Settings */

static void read_settings(struct ctl *ctl)
{
    const char *form = options_text(ctl->options, "output");
    const char *no_colour = getenv("NO_COLOR");

    ctl->operands = options_operands(ctl->options, &ctl->operand_count);
    ctl->output.form = text_equal(form, "json")   ? OUTPUT_JSON
                       : text_equal(form, "yaml") ? OUTPUT_YAML
                                                  : OUTPUT_TABLE;
    ctl->output.colour = isatty(STDOUT_FILENO) && text_is_empty(no_colour);
    ctl->output.width = isatty(STDOUT_FILENO) ? output_terminal_width(STDOUT_FILENO) : 0;
    (void)!settings_mode_read(ctl->options, ctl->findings, &ctl->mode);
    (void)!settings_url_read(ctl->options, "OCC_DATABASE_URL", "database-url-file", ctl->findings, &ctl->url);
    if (!options_given(ctl->options, "service-key-file"))
        findings_add(ctl->findings, FINDING_PROBLEM, "OCC_SERVICE_KEY_FILE", "SETTING_REQUIRED",
                     "must name the service key file of who asks (or give --service-key-file)");
}

/* ---- Connection */

/* What the database is, before anything is asked of it. */
static bool check_database(struct ctl *ctl, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    struct migration_status schema;
    const char *role;
    bool fine = session_role_check(ctl->connection, scratch, NULL, &role, fault) &&
                migration_check(ctl->connection, scratch, NULL, &schema, fault);
    bool tolerated = fine && ctl->command->any_schema && schema.state != MIGRATION_EMPTY;

    if (fine && schema.state != MIGRATION_CURRENT && !tolerated)
        fine = migration_require_current(ctl->connection, NULL, fault);
    talloc_free(scratch);
    return fine;
}

bool ctl_connect(struct ctl *ctl, struct fault *fault)
{
    struct pg_options options = {
        .url = ctl->url.url,
        .application_name = PROGRAM,
        .timeout_ms = ctl->timeout_ms,
    };
    struct key_file *file;

    TALLOC_FREE(ctl->caller);
    TALLOC_FREE(ctl->connection);
    if (!key_file_read(ctl->memory, options_source(ctl->options, "service-key-file"),
                       options_text(ctl->options, "service-key-file"), &file, fault))
        return false;
    if (!pg_connect(ctl->memory, &options, &ctl->connection, fault) || !check_database(ctl, fault) ||
        !caller_authenticate(ctl->connection, ctl->memory, file, NULL, &ctl->caller, fault)) {
        talloc_free(file);
        return false;
    }
    talloc_free(file);
    return drivers_authority(ctl, &ctl->caller->authority, fault);
}

static int run(struct ctl *ctl)
{
    struct fault fault;

    if (!settings_url_load(ctl->memory, &ctl->url, &fault))
        return tell(&fault);
    settings_forget_secrets();
    if (!ctl_connect(ctl, &fault) || !ctl->command->run(ctl, &fault))
        return tell(&fault);
    return ctl->status;
}

/* The command line without the command's own words, which are the first `used` of `words`. */
static char **without_words(const void *context, int *argc, char *const *argv, const char *const *words,
                            size_t used)
{
    char **rest = mem_array(context, char *, (size_t)*argc + 1);
    int count = 0, index;
    size_t next = 0;

    for (index = 0; index < *argc; index++) {
        if (next < used && argv[index] == words[next])
            next++;
        else
            rest[count++] = argv[index];
    }
    *argc = count;
    return rest;
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.memory = talloc_named_const(NULL, 0, PROGRAM), .timeout_ms = DATABASE_TIMEOUT_MS};
    static char help_flag[] = "--help";
    const char *words[WORDS_MOST];
    size_t count, used = 0;
    struct option_request *request;
    int status = 0;

    standard_open();
    secret_forbid_core();
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    if (argc > 1 && text_equal(argv[1], "help"))
        argv[1] = help_flag;
    count = options_words(command_common_tables, argc, argv, words, WORDS_MOST);
    ctl.command = command_find(words, count, &used);
    if (!ctl.command) {
        talloc_free(ctl.memory);
        return without_command(words, count, argc, argv);
    }
    request = command_request(ctl.memory, ctl.command);
    ctl.findings = findings_new(ctl.memory);
    argv = without_words(ctl.memory, &argc, argv, words, used);
    switch (options_read(ctl.memory, request, argc, argv, ctl.findings, &ctl.options)) {
    case OPTIONS_HELP:
        status = print(options_help(ctl.memory, request));
        break;
    case OPTIONS_VERSION:
        status = print(options_version(ctl.memory, request));
        break;
    case OPTIONS_READ:
        read_settings(&ctl);
        findings_print(ctl.findings, stderr, PROGRAM);
        status = findings_exit_status(ctl.findings);
        if (status == 0)
            status = run(&ctl);
        break;
    }
    talloc_free(ctl.memory);
    return status;
}
