/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/option.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char *starts_with_a(const char *value)
{
    return value[0] == 'a' ? NULL : "must start with a";
}

static const struct option some[] = {
    {.flag = "check", .letter = 'c', .type = OPTION_SWITCH, .help = "Only look."},
    {.flag = "size",
     .letter = 's',
     .variable = "TEST_SIZE",
     .type = OPTION_NUMBER,
     .least = 1,
     .largest = 64,
     .value = "NUMBER",
     .fallback = "4",
     .help = "How much."},
    {.flag = "path", .variable = "TEST_PATH", .type = OPTION_PATH, .value = "PATH", .help = "Where."},
    {.flag = "on", .variable = "TEST_ON", .type = OPTION_BOOLEAN, .value = "BOOLEAN", .help = "Whether."},
    {.flag = "colour",
     .variable = "TEST_COLOUR",
     .type = OPTION_CHOICE,
     .choices = "red|green|blue",
     .value = "COLOUR",
     .code = "COLOUR_REJECTED",
     .refusal = "This colour is rejected",
     .help = "Which."},
    {.flag = "name",
     .type = OPTION_TEXT,
     .many = true,
     .value = "NAME",
     .check = starts_with_a,
     .help = "Who."},
    {.variable = "TEST_SECRET", .type = OPTION_SECRET, .help = "What nobody may see."},
    {.flag = "elsewhere", .type = OPTION_SWITCH, .programs = PROGRAM_MIGRATE, .help = "Of another program."},
};
static const struct option_table table = {"Some", some, COUNT_OF(some)};
static const struct option_table *const tables[] = {&table, NULL};

struct run {
    void *context;
    struct findings *findings;
    struct options *options;
    enum options_outcome outcome;
};

#define RUN(...) run_with(0, 3, (const char *[]){"test", __VA_ARGS__ __VA_OPT__(, ) NULL})

static struct run run_with(size_t least, size_t most, const char **argv)
{
    const struct option_request request = {.program = "occ-worker",
                                           .program_bit = PROGRAM_WORKER,
                                           .tables = tables,
                                           .operands = "[NAME]...",
                                           .operands_least = least,
                                           .operands_most = most,
                                           .summary = "Tests.",
                                           .manual = "test(1)"};
    struct run run = {.context = talloc_new(NULL)};
    int argc = 0;

    while (argv[argc])
        argc++;
    run.findings = findings_new(run.context);
    run.outcome =
        options_read(run.context, &request, argc, (char *const *)(uintptr_t)argv, run.findings, &run.options);
    return run;
}

static int forget(void **state)
{
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(some); index++)
        if (some[index].variable)
            (void)unsetenv(some[index].variable);
    return 0;
}

/* One finding, with exactly this place and text. */
static void expect_finding(struct run *run, enum finding_kind kind, const char *where, const char *message)
{
    assert_int_equal(findings_count(run->findings), 1);
    assert_string_equal(findings_at(run->findings, 0)->where, where);
    assert_string_equal(findings_at(run->findings, 0)->message, message);
    assert_int_equal(findings_at(run->findings, 0)->kind, kind);
    talloc_free(run->context);
}

static void flags_win_over_variables_and_defaults(void **state)
{
    struct run run = RUN();

    (void)state;
    assert_int_equal(options_number(run.options, "size"), 4);
    assert_false(options_given(run.options, "size"));
    assert_string_equal(options_source(run.options, "size"), "TEST_SIZE");
    assert_null(options_text(run.options, "path"));
    assert_false(options_true(run.options, "check"));
    talloc_free(run.context);
    assert_int_equal(setenv("TEST_SIZE", "10", 1), 0);
    run = RUN();
    assert_int_equal(options_number(run.options, "size"), 10);
    assert_string_equal(options_source(run.options, "size"), "TEST_SIZE");
    talloc_free(run.context);
    run = RUN("--size=20", "--check", "--on", "true");
    assert_int_equal(options_number(run.options, "size"), 20);
    assert_string_equal(options_source(run.options, "size"), "--size");
    assert_true(options_true(run.options, "check"));
    assert_true(options_true(run.options, "on"));
    assert_int_equal(findings_count(run.findings), 0);
    talloc_free(run.context);
    /* A wrong variable does not matter where a flag wins. */
    assert_int_equal(setenv("TEST_SIZE", "010", 1), 0);
    run = RUN("-s", "30");
    assert_int_equal(options_number(run.options, "size"), 30);
    assert_int_equal(findings_count(run.findings), 0);
    talloc_free(run.context);
}

static void operands_stand_anywhere(void **state)
{
    struct run run = RUN("one", "-c", "--size", "5", "-", "--", "--path");
    const char *const *operands;
    size_t count;

    (void)state;
    operands = options_operands(run.options, &count);
    assert_int_equal(count, 3);
    assert_string_equal(operands[0], "one");
    assert_string_equal(operands[1], "-");
    assert_string_equal(operands[2], "--path");
    assert_int_equal(findings_count(run.findings), 0);
    talloc_free(run.context);
}

static void lists_keep_their_order(void **state)
{
    struct run run = RUN("--name", "ab", "--name=ac");
    const char *const *list;
    size_t count;

    (void)state;
    list = options_list(run.options, "name", &count);
    assert_int_equal(count, 2);
    assert_string_equal(list[0], "ab");
    assert_string_equal(list[1], "ac");
    talloc_free(run.context);
}

static void a_wrong_command_line_is_usage(void **state)
{
    struct run run = RUN("--sizes", "4");

    (void)state;
    expect_finding(&run, FINDING_USAGE, "", "unknown flag --sizes; see --help");
    run = RUN("--elsewhere");
    expect_finding(&run, FINDING_USAGE, "", "unknown flag --elsewhere; see --help");
    run = RUN("-x");
    expect_finding(&run, FINDING_USAGE, "", "unknown flag -x; see --help");
    run = RUN("--size");
    expect_finding(&run, FINDING_USAGE, "--size", "needs a value");
    run = RUN("--size", "--check");
    expect_finding(&run, FINDING_USAGE, "--size", "needs a value");
    run = RUN("--size=");
    expect_finding(&run, FINDING_USAGE, "--size", "must not be empty");
    run = RUN("--size=4", "-s5");
    expect_finding(&run, FINDING_USAGE, "-s", "is given more than once");
    run = RUN("--check", "-c");
    expect_finding(&run, FINDING_USAGE, "-c", "is given more than once");
    run = RUN("--check=yes");
    expect_finding(&run, FINDING_USAGE, "--check", "takes no value");
    run = RUN("--name", "b");
    expect_finding(&run, FINDING_USAGE, "--name", "must start with a");
    run = RUN("1", "2", "3", "4");
    expect_finding(&run, FINDING_USAGE, "",
                   "occ-worker takes at most 3 arguments ([NAME]...), but 4 were given; see --help");
    run = run_with(1, 1, (const char *[]){"test", NULL});
    expect_finding(&run, FINDING_USAGE, "", "occ-worker needs [NAME]...; see --help");
    run = run_with(0, 0, (const char *[]){"test", "x", NULL});
    expect_finding(&run, FINDING_USAGE, "",
                   "occ-worker takes no arguments besides flags, but 1 was given; see --help");
}

/* K122: the refusal names the setting as the user gave it. */
static void numbers_are_plain_and_in_range(void **state)
{
    static const char *const refused[] = {"0",  "-1", "1.5", "010", "65", "99999999999999999999999",
                                          "4 ", "+4", "four"};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(refused); index++) {
        char message[160];
        struct run run = RUN("--size", refused[index]);

        (void)snprintf(message, sizeof message, "must be a plain decimal integer from 1 to 64, not \"%s\"",
                       refused[index]);
        expect_finding(&run, FINDING_USAGE, "--size", message);
        assert_int_equal(setenv("TEST_SIZE", refused[index], 1), 0);
        run = RUN();
        assert_int_equal(findings_exit_status(run.findings), 78);
        assert_int_equal(options_number(run.options, "size"), 4);
        expect_finding(&run, FINDING_PROBLEM, "TEST_SIZE", message);
        (void)unsetenv("TEST_SIZE");
    }
}

static void values_fit_their_types(void **state)
{
    struct run run = RUN("--path", "etc/x");

    (void)state;
    assert_null(options_text(run.options, "path"));
    assert_true(options_given(run.options, "path"));
    expect_finding(&run, FINDING_USAGE, "--path", "must be an absolute path");
    run = RUN("--path", "/a\nb");
    expect_finding(&run, FINDING_USAGE, "--path", "must be UTF-8 without control characters");
    run = RUN("--on", "yes");
    expect_finding(&run, FINDING_USAGE, "--on", "must be true or false, not \"yes\"");
    (void)setenv("TEST_COLOUR", "Red", 1);
    run = RUN();
    assert_string_equal(findings_at(run.findings, 0)->code, "COLOUR_REJECTED");
    expect_finding(&run, FINDING_PROBLEM, "TEST_COLOUR",
                   "This colour is rejected (must be red, green or blue, not \"Red\")");
    (void)setenv("TEST_COLOUR", "red|green", 1);
    run = RUN();
    assert_int_equal(findings_exit_status(run.findings), 78);
    talloc_free(run.context);
    (void)setenv("TEST_COLOUR", "", 1);
    run = RUN();
    expect_finding(&run, FINDING_PROBLEM, "TEST_COLOUR", "This colour is rejected (must not be empty)");
}

static void all_findings_are_told_at_once(void **state)
{
    struct run run;

    (void)state;
    (void)setenv("TEST_PATH", "relative", 1);
    (void)setenv("TEST_ON", "1", 1);
    run = RUN("--bad", "--size", "0", "1", "2", "3", "4");
    assert_int_equal(findings_count(run.findings), 5);
    assert_int_equal(findings_exit_status(run.findings), 2);
    talloc_free(run.context);
}

/* K68: nothing secret in argv, and what somebody puts there all the same is not repeated. */
static void secrets_are_never_shown_or_flags(void **state)
{
    struct run run = RUN("--TEST_SECRET=hunter2", "--secret:hunter2", "postgres://u:hunter2@h/d");
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    (void)state;
    findings_print(run.findings, stream, "test");
    (void)fclose(stream);
    assert_int_equal(findings_count(run.findings), 2);
    assert_null(strstr(text, "hunter2"));
    free(text);
    talloc_free(run.context);
    (void)setenv("TEST_SECRET", "hunter2", 1);
    run = RUN();
    assert_string_equal(secret_expose(options_secret(run.options, "TEST_SECRET")), "hunter2");
    assert_null(options_text(run.options, "TEST_SECRET"));
    talloc_free(run.context);
}

static void help_wins_and_is_made_of_the_table(void **state)
{
    const struct option_request request = {.program = "occctl namespace list",
                                           .program_bit = PROGRAM_WORKER,
                                           .tables = tables,
                                           .operands = "[NAME]...",
                                           .summary = "Tests.",
                                           .manual = "test(1)"};
    struct run run = RUN("--nonsense", "--help", "--size=0");
    char *text = options_help(run.context, &request);

    (void)state;
    assert_int_equal(run.outcome, OPTIONS_HELP);
    assert_non_null(strstr(text, "Usage: occctl namespace list [FLAG]... [NAME]...\nTests.\n\nSome:\n"));
    assert_non_null(strstr(text, "  -s, --size NUMBER\n        How much.\n"
                                 "        TEST_SIZE; 1 to 64; default 4\n"));
    assert_non_null(strstr(text, "  TEST_SECRET (environment only)\n"));
    assert_null(strstr(text, "elsewhere"));
    assert_non_null(
        strstr(options_version(run.context, &request), "occctl (" PACKAGE_NAME ") " PACKAGE_VERSION "\n"));
    talloc_free(run.context);
    run = RUN("-V");
    assert_int_equal(run.outcome, OPTIONS_VERSION);
    talloc_free(run.context);
    run = RUN("--", "--help");
    assert_int_equal(run.outcome, OPTIONS_READ);
    talloc_free(run.context);
}

static void words_are_found_before_their_flags_are_known(void **state)
{
    char *const argv[] = {"occctl",  "--size", "4",        "namespace", "-c",
                          "--other", "create", "--size=4", "acme",      NULL};
    const char *words[2];

    (void)state;
    assert_int_equal(options_words(tables, 9, argv, words, COUNT_OF(words)), 2);
    assert_string_equal(words[0], "namespace");
    assert_string_equal(words[1], "create");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(flags_win_over_variables_and_defaults, forget),
        cmocka_unit_test_setup(operands_stand_anywhere, forget),
        cmocka_unit_test_setup(lists_keep_their_order, forget),
        cmocka_unit_test_setup(a_wrong_command_line_is_usage, forget),
        cmocka_unit_test_setup(numbers_are_plain_and_in_range, forget),
        cmocka_unit_test_setup(values_fit_their_types, forget),
        cmocka_unit_test_setup(all_findings_are_told_at_once, forget),
        cmocka_unit_test_setup(secrets_are_never_shown_or_flags, forget),
        cmocka_unit_test_setup(help_wins_and_is_made_of_the_table, forget),
        cmocka_unit_test_setup(words_are_found_before_their_flags_are_known, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
