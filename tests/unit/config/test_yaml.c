/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/yaml.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void *context;
static struct findings *findings;

static int begin(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    findings = findings_new(context);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return talloc_free(context);
}

static const struct yaml_node *read_text(const char *text)
{
    return yaml_read(context, "f.yaml", text, strlen(text), findings);
}

static void expect_at(size_t index, const char *where, const char *message)
{
    assert_true(index < findings_count(findings));
    assert_string_equal(findings_at(findings, index)->where, where);
    assert_non_null(strstr(findings_at(findings, index)->message, message));
    assert_string_equal(findings_at(findings, index)->code, "STARTUP_YAML_SYNTAX");
}

/* One text, one finding. */
static void expect_only(const char *text, const char *where, const char *message)
{
    findings = findings_new(context);
    (void)!read_text(text);
    assert_int_equal(findings_count(findings), 1);
    expect_at(0, where, message);
}

static void nodes_know_their_place(void **state)
{
    const struct yaml_node *root = read_text("a:\n  b: [1, {c: \"x\"}]\nd: ~\n"),
                           *list = yaml_at(root, "a.b");

    (void)state;
    assert_non_null(list);
    assert_int_equal(findings_count(findings), 0);
    assert_int_equal(list->kind, YAML_KIND_LIST);
    assert_int_equal(list->line, 2);
    assert_int_equal(list->column, 6);
    assert_string_equal(yaml_text(yaml_field(list->items[1], "c")), "x");
    assert_int_equal(yaml_field(list->items[1], "c")->column, 14);
    assert_int_equal(yaml_field(root, "d")->kind, YAML_KIND_NULL);
    assert_null(yaml_text(yaml_field(root, "d")));
    assert_null(yaml_at(root, "a.b.c"));
    assert_null(yaml_at(root, "a.missing"));
    assert_string_equal(yaml_where(context, "f.yaml", list, "a.b"), "f.yaml:2:6 a.b");
}

/* Types are those of YAML 1.2: no octal by a leading zero, no yes and no. */
static void plain_scalars_have_core_types(void **state)
{
    static const char *const numbers[] = {"0",   "12",    "-1",   "+1",   "1.5",  ".5",
                                          "1e3", "1.e-3", "0x1F", "0o17", ".inf", "010"};
    static const char *const texts[] = {"yes", "no", "on", "1.2.3", "1e",    "0x",
                                        "0xg", "-",  ".",  "100m",  "1_000", "e3"};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(numbers); index++)
        assert_int_equal(yaml_plain_kind(numbers[index]), YAML_KIND_NUMBER);
    for (index = 0; index < COUNT_OF(texts); index++)
        assert_int_equal(yaml_plain_kind(texts[index]), YAML_KIND_TEXT);
    assert_int_equal(yaml_plain_kind("true"), YAML_KIND_BOOLEAN);
    assert_int_equal(yaml_plain_kind("NULL"), YAML_KIND_NULL);
    assert_int_equal(yaml_field(read_text("a: '1'"), "a")->kind, YAML_KIND_TEXT);
}

static void nothing_to_read_is_told(void **state)
{
    (void)state;
    expect_only("", "f.yaml:1:1", "the file is empty");
    expect_only("# only a comment\n", "f.yaml:1:1", "the file is empty");
}

static void syntax_errors_have_their_place(void **state)
{
    (void)state;
    expect_only("a:\n\tb: 1\n", "f.yaml:2:1", "a tab stands where only spaces may indent");
    expect_only("a: {b: 1, c: [2, 3", "f.yaml:1:19",
                "not valid YAML: did not find expected ',' or ']' while parsing a "
                "flow sequence that starts at line 1, column 14");
    expect_only("a: \"unfinished\nb: 1\n", "f.yaml:3:1",
                "found unexpected end of stream while scanning a quoted scalar "
                "that starts at line 1, column 4");
    expect_only("a: 1\n b: 2\n", "f.yaml:2:3", "mapping values are not allowed in this context");
    expect_only("a: caf\xe9\n", "f.yaml:1:7", "must be UTF-8 without control characters");
    expect_only("a: 1\nb: x\x01y\n", "f.yaml:2:5", "must be UTF-8 without control characters");
}

static void duplicate_keys_are_refused(void **state)
{
    (void)state;
    expect_only("a: {b: 1, c: 2, b: 3}\n", "f.yaml:1:17 a.b",
                "this key stands twice, first at line 1, column 5");
    expect_only("a: 1\n\"a\": 2\n", "f.yaml:2:1 a", "this key stands twice");
}

/* An alias is refused where it stands, so that none can be expanded. */
static void references_and_tags_are_refused(void **state)
{
    (void)state;
    findings = findings_new(context);
    assert_non_null(
        read_text("a: &x [1]\nb: *x\nc: !!str 1\n<<: {d: 1}\ne: !secret {}\n? [1]\n: 2\n\"\": 1\n"));
    assert_int_equal(findings_count(findings), 7);
    expect_at(0, "f.yaml:1:4 a", "anchors and tags are not allowed");
    expect_at(1, "f.yaml:2:4 b", "aliases are not allowed");
    expect_at(2, "f.yaml:3:4 c", "tags are not allowed");
    expect_at(3, "f.yaml:4:1", "merge keys are not allowed");
    expect_at(4, "f.yaml:5:4 e", "anchors and tags are not allowed");
    expect_at(5, "f.yaml:6:3", "a key must be text");
    expect_at(6, "f.yaml:8:1", "a key must not be empty");
    expect_only("a: &x 1\n", "f.yaml:1:4 a", "anchors are not allowed");
    expect_only("a: \"x\\0y\"\n", "f.yaml:1:4 a", "a zero byte is not allowed");
    expect_only("\"a\\nb\": 1\n", "f.yaml:1:1", "a key must not hold control characters");
}

static void one_document_only(void **state)
{
    (void)state;
    expect_only("a: 1\n---\nb: 2\n", "f.yaml:2:1", "only one document is allowed");
    findings = findings_new(context);
    assert_non_null(read_text("\xef\xbb\xbf"
                              "a: 1\r\nb: 2\r\n"));
    assert_int_equal(findings_count(findings), 0);
    assert_null(yaml_read(context, "f.yaml", "a: 1\n\0b: 2\n", 11, findings));
    expect_at(0, "f.yaml:2:1", "must be UTF-8 without control characters");
    findings = findings_new(context);
    assert_non_null(read_text("%YAML 1.2\n---\na: 1\n...\n"));
    assert_int_equal(findings_count(findings), 0);
}

static void everything_is_bounded(void **state)
{
    char *text = mem_text(context, "a: ");
    int index;

    (void)state;
    for (index = 0; index < 100000; index++)
        text = mem_append(text, "[");
    findings = findings_new(context);
    assert_null(read_text(text));
    assert_int_equal(findings_count(findings), 1);
    assert_int_equal(strncmp(findings_at(findings, 0)->where, "f.yaml:1:67 a[0][0]", 19), 0);
    assert_non_null(strstr(findings_at(findings, 0)->message, "nested too deeply (more than 64 levels)"));
    text = mem_text(context, "");
    for (index = 0; index < 12000; index++)
        text = mem_append(text, "k%d: 1\n", index);
    expect_only(text, "f.yaml:5000:8 k4999", "too many values (more than 10000)");
    text = mem_zeroed(context, YAML_SIZE_MOST + 2, 1, "text");
    memset(text, '#', YAML_SIZE_MOST + 1);
    expect_only(text, "f.yaml:1:1", "larger than 1 MiB");
}

/* What is no name is not shown, as it may be anything. */
static void odd_keys_are_not_shown(void **state)
{
    (void)state;
    assert_string_equal(yaml_path(context, "a", "https://u:p@h/"), "a.(key)");
    assert_string_equal(yaml_path(context, "", "k8s-app"), "k8s-app");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nodes_know_their_place),     TEST(plain_scalars_have_core_types),
        TEST(nothing_to_read_is_told),    TEST(syntax_errors_have_their_place),
        TEST(duplicate_keys_are_refused), TEST(references_and_tags_are_refused),
        TEST(one_document_only),          TEST(everything_is_bounded),
        TEST(odd_keys_are_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
