/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/output.h"

#include "lib/base/memory.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const cJSON *document(const void *context, const char *text)
{
    const cJSON *parsed = json_read(context, text, strlen(text));

    assert_non_null(parsed);
    return parsed;
}

static void yaml_is(const char *json, const char *expected)
{
    void *memory = talloc_new(NULL);

    assert_string_equal(output_yaml(mem_text(memory, ""), document(memory, json)), expected);
    talloc_free(memory);
}

static void test_yaml_scalars(void **state)
{
    (void)state;
    yaml_is("null", "null\n");
    yaml_is("true", "true\n");
    yaml_is("17", "17\n");
    yaml_is("{}", "{}\n");
    yaml_is("[]", "[]\n");
    yaml_is("\"word\"", "word\n");
    yaml_is("\"with-marks_and.dots/slash9\"", "with-marks_and.dots/slash9\n");
}

static void test_yaml_quotes_what_could_be_something_else(void **state)
{
    static const char *const texts[] = {
        "",  "true", "False", "NULL", "yes",  "No",   "on",    "OFF", "y",     "N",
        "~", "1",    "-1",    "1e3",  "0x1f", "0o17", "1_000", ".5",  ".inf",  "=",
        "-", "<<",   "a b",   "a: b", "a #b", "a,b",  "a:",    "[a]", "a\\tb", "12:30",
        "*", "&a",   "!t",    "%d",   "@a",   "`a",   "|",     ">",   "?",     "2026-01-31"};
    char json[64], expected[64];
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(texts); index++) {
        (void)snprintf(json, sizeof json, "\"%s\"", texts[index]);
        (void)snprintf(expected, sizeof expected, "\"%s\"\n", texts[index]);
        yaml_is(json, expected);
    }
    yaml_is("\"quote \\\" and \\\\\"", "\"quote \\\" and \\\\\"\n");
    yaml_is("\"\\u0085\\u2028\\ufeff\\u007f\\u0001\"", "\"\\x85\\u2028\\uFEFF\\x7F\\x01\"\n");
    yaml_is("\"two\\nlines\"", "\"two\\nlines\"\n");
}

static void test_yaml_blocks(void **state)
{
    (void)state;
    yaml_is("{\"a\":1,\"b\":{\"c\":[],\"d\":{}},\"on\":[1,\"x\",null]}",
            "a: 1\nb:\n  c: []\n  d: {}\n\"on\":\n  - 1\n  - x\n  - null\n");
    yaml_is("[{\"a\":1,\"b\":2},{\"c\":{\"d\":3}}]", "- a: 1\n  b: 2\n- c:\n    d: 3\n");
    yaml_is("[[1,2],[[3]],{}]", "-\n  - 1\n  - 2\n-\n  -\n    - 3\n- {}\n");
}

static void cut_is(const char *text, size_t width, const char *expected)
{
    void *memory = talloc_new(NULL);
    const char *cut = output_cut(memory, text, width);

    assert_string_equal(cut, expected);
    assert_true(output_width(cut) <= width);
    talloc_free(memory);
}

static void test_cut(void **state)
{
    (void)state;
    cut_is("", 1, "");
    cut_is("four", 4, "four");
    cut_is("fives", 4, "fiv\xe2\x80\xa6");
    cut_is("fives", 1, "\xe2\x80\xa6");
    /* Two columns each: half of one is never shown. */
    cut_is("\xe5\x90\x8d\xe5\x89\x8d\xe5\x90\x8d", 4, "\xe5\x90\x8d\xe2\x80\xa6");
    cut_is("\xe5\x90\x8d\xe5\x89\x8d\xe5\x90\x8d", 6, "\xe5\x90\x8d\xe5\x89\x8d\xe5\x90\x8d");
}

static void test_table_on_a_narrow_terminal(void **state)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_LONG},
        {"ID", "id", COLUMN_TEXT},
    };
    void *memory = talloc_new(NULL);
    const cJSON *rows =
        document(memory, "[{\"name\":\"0123456789012345678901234567890123456789\",\"id\":\"ns\"}]");
    const char *whole = "NAME                                      ID\n"
                        "0123456789012345678901234567890123456789  ns\n";

    (void)state;
    assert_string_equal(output_table(mem_text(memory, ""), &(struct output){0}, rows, columns, 2), whole);
    assert_string_equal(output_table(mem_text(memory, ""), &(struct output){.width = 44}, rows, columns, 2),
                        whole);
    assert_string_equal(output_table(mem_text(memory, ""), &(struct output){.width = 40}, rows, columns, 2),
                        "NAME                                  ID\n"
                        "01234567890123456789012345678901234\xe2\x80\xa6  ns\n");
    /* It would be of no use any more. */
    assert_string_equal(output_table(mem_text(memory, ""), &(struct output){.width = 10}, rows, columns, 2),
                        "NAME                              ID\n"
                        "0123456789012345678901234567890\xe2\x80\xa6  ns\n");
    talloc_free(memory);
}

static void test_table(void **state)
{
    static const struct column columns[] = {
        {"NAME", "name", COLUMN_TEXT},
        {"STATE", "work.state", COLUMN_STATE},
        {"AGE", "ageMs", COLUMN_DURATION},
    };
    void *memory = talloc_new(NULL);
    const cJSON *rows = document(memory, "[{\"name\":\"a\",\"work\":{\"state\":\"queued\"},\"ageMs\":90000},"
                                         "{\"name\":\"\xe5\x90\x8d\xe5\x89\x8d\",\"work\":null,\"ageMs\":1},"
                                         "{\"name\":\"two\\nlines\\u001b[31m\"}]");

    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_string_equal(
        output_table(mem_text(memory, ""), &(struct output){0}, rows, columns, COUNT_OF(columns)),
        "NAME            STATE   AGE\n"
        "a               queued  1m30s\n"
        "\xe5\x90\x8d\xe5\x89\x8d            -       1ms\n"
        "two lines [31m  -       -\n");
    assert_non_null(strstr(output_table(mem_text(memory, ""), &(struct output){.colour = true}, rows, columns,
                                        COUNT_OF(columns)),
                           "\033[33mqueued\033[0m  1m30s\n"));
    assert_string_equal(output_table(mem_text(memory, ""), &(struct output){.colour = true},
                                     document(memory, "[]"), columns, 1),
                        "NAME\n");
    talloc_free(memory);
}

static void test_fields(void **state)
{
    void *memory = talloc_new(NULL);
    const cJSON *fields = document(memory, "{\"id\":\"x\",\"servicePrincipalId\":null,\"ageMs\":86400000,"
                                           "\"status\":\"ready\",\"members\":[\"a\",\"b\"],"
                                           "\"work\":{\"state\":\"queued\",\"code\":{}}}");

    (void)state;
    assert_string_equal(output_fields(mem_text(memory, ""), false, fields), "ID:                    x\n"
                                                                            "Service principal ID:  -\n"
                                                                            "Age:                   1d0h\n"
                                                                            "Status:                ready\n"
                                                                            "Members:               a, b\n"
                                                                            "Work:\n"
                                                                            "  State:               queued\n"
                                                                            "  Code:                -\n");
    talloc_free(memory);
}

static void test_durations(void **state)
{
    static const struct {
        int64_t milliseconds;
        const char *text;
    } cases[] = {
        {0, "0ms"},         {999, "999ms"},       {1000, "1s"},      {59999, "59s"},
        {60000, "1m0s"},    {3599999, "59m59s"},  {3600000, "1h0m"}, {86399999, "23h59m"},
        {86400000, "1d0h"}, {864000000, "10d0h"},
    };
    char text[OUTPUT_DURATION_SIZE];
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(cases); index++) {
        output_duration(text, cases[index].milliseconds);
        assert_string_equal(text, cases[index].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml_scalars), cmocka_unit_test(test_yaml_quotes_what_could_be_something_else),
        cmocka_unit_test(test_yaml_blocks),  cmocka_unit_test(test_table),
        cmocka_unit_test(test_fields),       cmocka_unit_test(test_durations),
        cmocka_unit_test(test_cut),          cmocka_unit_test(test_table_on_a_narrow_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
