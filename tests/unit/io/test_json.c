/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/io/json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <malloc.h>

static void *context;

static int set_up(void **state)
{
    (void)state;
    context = talloc_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return talloc_free(context);
}

static const cJSON *read_text(const char *text)
{
    return json_read(context, text, strlen(text));
}

static void members_are_found_by_type(void **state)
{
    const cJSON *root =
        read_text(" {\"text\":\"a\\u00e9\\n\",\"number\":-12,\"big\":9007199254740992,\"half\":1.5,"
                  "\"huge\":1e300,\"yes\":true,\"null\":null,\"list\":[1],\"map\":{\"Name\":1}}\r\n\t ");
    int64_t number = 7;
    bool value = false;

    (void)state;
    assert_non_null(root);
    assert_string_equal(json_text(root, "text"), "a\xc3\xa9\n");
    assert_null(json_text(root, "Text"));
    assert_null(json_text(root, "number"));
    assert_null(json_text(root, "absent"));
    assert_null(json_text(NULL, "text"));
    assert_null(json_text(json_array(root, "list"), "text"));
    assert_true(json_number(root, "number", &number));
    assert_int_equal(number, -12);
    assert_true(json_number(root, "big", &number));
    assert_int_equal(number, 9007199254740992);
    assert_false(json_number(root, "half", &number));
    assert_false(json_number(root, "huge", &number));
    assert_false(json_number(root, "text", &number));
    assert_int_equal(number, 9007199254740992);
    assert_true(json_boolean(root, "yes", &value));
    assert_true(value);
    assert_false(json_boolean(root, "number", &value));
    assert_non_null(json_array(root, "list"));
    assert_null(json_object(root, "list"));
    assert_non_null(json_object(root, "map"));
    assert_null(json_member(json_object(root, "map"), "name"));
    assert_true(cJSON_IsNull(json_member(root, "null")));
}

static void what_is_not_json_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "{}x",
        "{} {}",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "'a'",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "-",
        "tru",
        "nul",
        "\"a",
        "\"\\x\"",
        "\"\\u12",
        "\"\n\"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\xff\"",
        "\"\xc0\xaf\"",
        "\"\xed\xa0\x80\"",
        "NaN",
        "Infinity",
        "[1 2]",
        "{\"a\" 1}",
        "\xef\xbb\xbf{}",
        "{\"a\":1 \"b\":2}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (read_text(texts[i]))
            fail_msg("%s was taken", texts[i]);
    }
    assert_null(json_read(context, NULL, 0));
    assert_null(json_read(context, "{}\0", 3));
    assert_null(json_read(context, "{\"a\":1}", 6)); /* the length counts, not the zero */
}

static void values_stand_alone(void **state)
{
    (void)state;
    assert_true(cJSON_IsTrue(read_text("true")));
    assert_true(cJSON_IsNull(read_text(" null ")));
    assert_non_null(read_text("-0.5e+10"));
    assert_non_null(read_text("\"\\ud83d\\ude00\\/\""));
    assert_non_null(read_text("[]"));
}

static void duplicates_are_refused(void **state)
{
    char many[60000];
    size_t length = 1;

    (void)state;
    assert_null(read_text("{\"a\":1,\"b\":2,\"a\":1}"));
    assert_null(read_text("[{\"x\":{\"a\":1,\"\\u0061\":2}}]"));
    assert_non_null(read_text("{\"a\":1,\"A\":2,\"b\":{\"a\":1}}"));
    many[0] = '{';
    for (int i = 0; i < 4000; i++)
        length += (size_t)snprintf(many + length, sizeof many - length, "\"m%d\":0,", i);
    (void)snprintf(many + length, sizeof many - length, "\"m1999\":0}");
    assert_null(read_text(many));
    (void)snprintf(many + length, sizeof many - length, "\"other\":0}");
    assert_non_null(read_text(many));
}

static void depth_is_bounded(void **state)
{
    char deep[200001];

    (void)state;
    memset(deep, '[', 64);
    memset(deep + 64, ']', 64);
    deep[128] = '\0';
    assert_non_null(read_text(deep));
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    deep[130] = '\0';
    assert_null(read_text(deep));
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    assert_null(read_text(deep));
}

static void documents_are_built_and_written(void **state)
{
    cJSON *root = json_new_object(context);
    cJSON *list;

    (void)state;
    json_add_text(root, "text", "q\"\\\n\x01\xc3\xa9");
    json_add_text(root, "none", NULL);
    json_add_number(root, "number", -9007199254740991);
    json_add_boolean(root, "flag", true);
    json_add_boolean(root, "flag", false); /* the last value counts */
    (void)json_add_object(root, "empty");
    list = json_add_array(root, "list");
    json_append_text(list, "one");
    json_add_number(json_append_object(list), "two", 2);
    json_add_copy(root, "copy", json_array(root, "list"));
    assert_string_equal(
        json_write(context, root),
        "{\"text\":\"q\\\"\\\\\\n\\u0001\xc3\xa9\",\"none\":null,\"number\":-9007199254740991,"
        "\"flag\":false,\"empty\":{},\"list\":[\"one\",{\"two\":2}],\"copy\":[\"one\",{\"two\":2}]}");
    root = json_new_array(context);
    assert_string_equal(json_write_indented(context, root), "[]");
    json_append_text(root, "a");
    json_add_text(json_append_object(root), "b", "c");
    assert_string_equal(json_write_indented(context, root), "[\n  \"a\",\n  {\n    \"b\": \"c\"\n  }\n]");
}

static void what_is_written_is_read_again(void **state)
{
    const char *text = "{\"a\":[1,-2.5,1e+300,true,false,null,\"\\t\\u001f\",{}],\"b\":{\"c\":[]}}";
    const cJSON *root = read_text(text);

    (void)state;
    assert_non_null(root);
    assert_string_equal(json_write(context, read_text(json_write_indented(context, root))),
                        json_write(context, root));
}

#define SECRET "a-value-that-nobody-may-find"

static bool found; /* SECRET, in memory that was given back */

static void look_and_free(void *memory)
{
    if (memory && memmem(memory, malloc_usable_size(memory), SECRET, strlen(SECRET)))
        found = true;
    free(memory);
}

/* cJSON's memory is its own, so it can be watched as it goes. */
static void a_secrets_texts_are_overwritten_before_they_go(void **state)
{
    static const char text[] = "{\"data\":{\"value\":\"" SECRET "\"},\"list\":[\"" SECRET "\"]}";
    cJSON_Hooks hooks = {malloc, look_and_free};
    cJSON *copy;

    (void)state;
    cJSON_InitHooks(&hooks);
    found = false;
    assert_non_null(json_read_secret(context, text, strlen(text)));
    copy = json_new_secret_object(context);
    json_add_copy(copy, "a", json_read_secret(context, text, strlen(text)));
    json_append_text(json_new_secret_array(context), SECRET);
    assert_null(json_read_secret(context, "{\"a\":\"" SECRET "\",\"a\":1}", sizeof SECRET + 13));
    talloc_free(context);
    assert_false(found);
    context = talloc_new(NULL);
    assert_non_null(read_text(text));
    talloc_free(context);
    assert_true(found); /* so it is seen where it is left */
    context = talloc_new(NULL);
    cJSON_InitHooks(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
        TEST(members_are_found_by_type),
        TEST(what_is_not_json_is_refused),
        TEST(values_stand_alone),
        TEST(duplicates_are_refused),
        TEST(depth_is_bounded),
        TEST(documents_are_built_and_written),
        TEST(what_is_written_is_read_again),
        TEST(a_secrets_texts_are_overwritten_before_they_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
