/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/io/json.h"
#include "lib/io/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct log {
    char *text;
    size_t left; /* events until the visitor stops; 0: never */
};

static bool write_down(void *subject, enum json_event event, const char *bytes, size_t length)
{
    static const char *const names[] = {
        [JSON_BEGIN_OBJECT] = "", [JSON_END_OBJECT] = "",    [JSON_BEGIN_ARRAY] = "",
        [JSON_END_ARRAY] = "",    [JSON_ITEM] = "item",      [JSON_NAME] = "name ",
        [JSON_TEXT] = "text ",    [JSON_NUMBER] = "number ", [JSON_WORD] = "word ",
    };
    struct log *log = subject;

    log->text = mem_append(log->text, "%s%.*s|", names[event], (int)length, bytes);
    return log->left == 0 || --log->left > 0;
}

static void events_come_in_their_order(void **state)
{
    static const char text[] = " {\"a\\n\": [1.10, {}, [], \"x\\\"\", null], \"\":-0} ";
    struct log log = {.text = mem_text(NULL, "")};
    const struct json_visitor visitor = {&log, write_down};
    size_t offset = 0;

    (void)state;
    assert_int_equal(json_visit(text, strlen(text), &visitor, &offset), JSON_SOUND);
    assert_string_equal(log.text,
                        "{|name a\\n|[|item|number 1.10|item|{|}|item|[|]|item|text x\\\"|item|word "
                        "null|]|name |number -0|}|");
    talloc_free(log.text);
}

static void a_visitor_may_stop(void **state)
{
    static const char text[] = "{\"a\":[1,2]}";
    struct log log = {.text = mem_text(NULL, ""), .left = 5};
    const struct json_visitor visitor = {&log, write_down};
    size_t offset = 0;

    (void)state;
    assert_int_equal(json_visit(text, strlen(text), &visitor, &offset), JSON_STOPPED);
    assert_int_equal(offset, 6);
    assert_string_equal(log.text, "{|name a|[|item|number 1|");
    talloc_free(log.text);
}

static void troubles_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        enum json_trouble trouble;
        size_t offset;
    } cases[] = {
        {"[1,]", JSON_SYNTAX, 3},
        {"", JSON_SYNTAX, 0},
        {"[\"a", JSON_SYNTAX, 3},
        {"[\"\\u12\"]", JSON_SYNTAX, 6},
        {"[\"\\", JSON_SYNTAX, 3},
        {"1 2", JSON_SYNTAX, 2},
        {"[\"a\x80\"]", JSON_ENCODING, 3},
        {"[\"a\xe2\x82\"]", JSON_ENCODING, 3},
        {"[\"a\xe2\x82", JSON_ENCODING, 3},
        {"[\"a\\ud800x\"]", JSON_SURROGATE, 3},
        {"[\"a\\udc00\"]", JSON_SURROGATE, 3},
        {"[\"\\ud800\\ud800\"]", JSON_SURROGATE, 2},
        {"[\"\\u0000\"]", JSON_ZERO, 2},
    };
    size_t index, offset;

    (void)state;
    for (index = 0; index < COUNT_OF(cases); index++) {
        offset = 99;
        if (json_visit(cases[index].text, strlen(cases[index].text), NULL, &offset) != cases[index].trouble ||
            offset != cases[index].offset)
            fail_msg("%s: %zu", cases[index].text, offset);
    }
    assert_int_equal(json_visit("[\0]", 3, NULL, &offset), JSON_SYNTAX);
    assert_int_equal(json_visit("[\"\\\0\"]", 6, NULL, &offset), JSON_SYNTAX);
}

/* cJSON agrees. */
static void escapes_are_undone(void **state)
{
    static const char *const cases[] = {
        "",
        "plain \xc3\xa9",
        "\\\"\\\\\\/\\b\\f\\n\\r\\t",
        "\\u0001\\u007f\\u0080\\u07ff\\u0800\\uFFFF\\ud7ff\\ue000",
        "\\ud800\\udc00\\uDBFF\\uDFFF x \\ud83e\\uDD8A",
        "a\\u00e9b",
    };
    void *memory = talloc_new(NULL);
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(cases); index++) {
        const char *whole = mem_format(memory, "{\"a\":\"%s\"}", cases[index]);
        const cJSON *read = json_read(memory, whole, strlen(whole));

        assert_non_null(read);
        assert_string_equal(json_unescape(memory, cases[index], strlen(cases[index])), json_text(read, "a"));
    }
    talloc_free(memory);
}

static void places_are_counted_in_characters(void **state)
{
    static const char text[] = "a\xc3\xa9\xf0\x9f\xa6\x8a!\r\n\nb";
    size_t line, column;

    (void)state;
    json_locate(text, 0, &line, &column);
    assert_int_equal(line * 100 + column, 101);
    json_locate(text, 7, &line, &column);
    assert_int_equal(line * 100 + column, 104);
    json_locate(text, 10, &line, &column);
    assert_int_equal(line * 100 + column, 201);
    json_locate(text, 11, &line, &column);
    assert_int_equal(line * 100 + column, 301);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_their_order),       cmocka_unit_test(a_visitor_may_stop),
        cmocka_unit_test(troubles_are_told_apart),          cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(places_are_counted_in_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
