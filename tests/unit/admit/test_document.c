/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/document.h"

#include "lib/base/memory.h"
#include "lib/driver/configuration.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define REFERENCE "{\"source\":\"env\",\"provider\":\"default\",\"id\":\"NAME\"}"
#define BOUND                                                                                                \
    "{\"kind\":\"secret\",\"namespaceId\":\"ns_11111111-1111-4111-8111-111111111111\",\"id\":\"sec_x\"}"
#define TEN "xxxxxxxxxx"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void good_documents(void **state)
{
    static const char *const good[] = {
        "{}",
        " \t\r\n{ } \n",
        "{\"a\":[1,-0,1.10,1e5,12345678901234567890,-1.5E-3,true,false,null,\"\",{}]}",
        "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}",
        "{\"\\u00e9\":1,\"e\":2,\"E\":3,\"\":4}",
        "{\"a\":\"\\ud83e\\udd8a \xf0\x9f\xa6\x8a \\\" \\\\ \\/ \\b\\f\\n\\r\\t\"}",
        "{\"logging\":{}}",
        "{\"logging\":{\"level\":\"debug\",\"file\":null}}",
        "{\"a\":{\"logging\":\"mine\"},\"b\":[\"logging\"]}",
        /* What is no credential. */
        "{\"maxTokens\":100,\"tokens\":\"x\",\"keys\":[\"x\"],\"secrets\":{\"a\":\"b\"},\"keyboard\":\"de\"}",
        "{\"apiKey\":\"\",\"token\":null,\"secret\":true,\"password\":0,\"key\":{},\"clientSecret\":[]}",
        "{\"apiKey\":\"${OPENAI_API_KEY}\",\"token\":\"${_x1}\"}",
        "{\"apiKey\":" REFERENCE ",\"token\":{\"source\":\"exec\",\"id\":\"vault/x\"}}",
        "{\"apiKey\":{\"id\":\"NAME\",\"source\":\"file\"},\"secret\":" BOUND "}",
        "{\"keys\":{\"key\":[" REFERENCE ",\"${NAME}\"]}}",
        "{\"key\":{\"deep\":{\"deeper\":" REFERENCE "}}}",
        "{\"a\":\"https://host/path?x=a@b\",\"b\":\"mail me@host\",\"https://host/\":1}",
    };
    struct fault fault;
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(good); index++) {
        if (!document_check(good[index], strlen(good[index]), &fault))
            fail_msg("%s: %s", good[index], fault.message);
    }
}

struct wrong {
    const char *text;
    const char *code;
    const char *where; /* of the message */
};

static void are_refused(const struct wrong *wrong, size_t count)
{
    struct fault fault;
    size_t index;

    for (index = 0; index < count; index++) {
        if (document_check(wrong[index].text, strlen(wrong[index].text), &fault))
            fail_msg("%s was taken", wrong[index].text);
        if (fault.class != FAULT_INVALID || !fault_is(&fault, wrong[index].code) ||
            !strstr(fault.message, wrong[index].where))
            fail_msg("%s: %s [%s]", wrong[index].text, fault.message, fault.code);
    }
}

static void syntax(void **state)
{
    static const struct wrong wrong[] = {
        {"", "DOCUMENT_SYNTAX", "at \"\" (line 1, column 1): it ends too early"},
        {" \n ", "DOCUMENT_SYNTAX", "at \"\" (line 2, column 2): it ends too early"},
        {"\xef\xbb\xbf{}", "DOCUMENT_SYNTAX", "(line 1, column 1): it begins with a byte order mark"},
        {"{\"a\":1", "DOCUMENT_SYNTAX", "at \"/a\" (line 1, column 7): it ends too early"},
        {"{\"a\":1,}", "DOCUMENT_SYNTAX", "(line 1, column 8): this is not JSON"},
        {"{\"a\":[1,\n  2,\n  oops]}", "DOCUMENT_SYNTAX", "at \"/a/2\" (line 3, column 3): this is not JSON"},
        {"{\"\xc3\xa9\":[{},{\"b\":tru}]}", "DOCUMENT_SYNTAX", "at \"/\xc3\xa9/1/b\" (line 1, column 15)"},
        {"{\"a\" 1}", "DOCUMENT_SYNTAX", "(line 1, column 6)"},
        {"{a:1}", "DOCUMENT_SYNTAX", "(line 1, column 2)"},
        {"{'a':1}", "DOCUMENT_SYNTAX", "(line 1, column 2)"},
        {"{\"a\":01}", "DOCUMENT_SYNTAX", "at \"/a\" (line 1, column 7)"},
        {"{\"a\":1.}", "DOCUMENT_SYNTAX", "at \"/a\" (line 1, column 8)"},
        {"{\"a\":+1}", "DOCUMENT_SYNTAX", "at \"/a\" (line 1, column 6)"},
        {"{\"a\":NaN}", "DOCUMENT_SYNTAX", "at \"/a\" (line 1, column 6)"},
        {"{\"a\":\"\\x\"}", "DOCUMENT_SYNTAX", "at \"/a\" (line 1, column 8)"},
        {"{\"a\":\"x\ty\"}", "DOCUMENT_SYNTAX", "at \"/a\" (line 1, column 8)"},
        {"{} {}", "DOCUMENT_SYNTAX", "at \"\" (line 1, column 4)"},
        {"{} // no", "DOCUMENT_SYNTAX", "at \"\" (line 1, column 4)"},
        {"[]", "DOCUMENT_NOT_AN_OBJECT", "at \"\" (line 1, column 1)"},
        {"\"text\"", "DOCUMENT_NOT_AN_OBJECT", "at \"\""},
        {"17", "DOCUMENT_NOT_AN_OBJECT", "at \"\""},
        {"null", "DOCUMENT_NOT_AN_OBJECT", "at \"\""},
        {"{\"a\":\"\xff\"}", "DOCUMENT_ENCODING", "at \"/a\" (line 1, column 7)"},
        {"{\"a\":\"\xc0\x80\"}", "DOCUMENT_ENCODING", "at \"/a\" (line 1, column 7)"},
        {"{\"a\":\"\xed\xa0\x80\"}", "DOCUMENT_ENCODING", "at \"/a\" (line 1, column 7)"},
        {"{\"a\":\"\xf4\x90\x80\x80\"}", "DOCUMENT_ENCODING", "at \"/a\" (line 1, column 7)"},
        {"{\"a\":\"x\\ud800\"}", "DOCUMENT_ENCODING", "at \"/a\" (line 1, column 8)"},
        {"{\"a\":\"\\ude00\\ud83d\"}", "DOCUMENT_ENCODING", "at \"/a\""},
        {"{\"a\":\"\\ud83d\\u0041\"}", "DOCUMENT_ENCODING", "at \"/a\""},
        {"{\"a\":{\"b\":\"x\\u0000y\"}}", "DOCUMENT_ZERO_CHARACTER", "at \"/a/b\" (line 1, column 13)"},
        {"{\"a\\u0000\":1}", "DOCUMENT_ZERO_CHARACTER", "at \"\" (line 1, column 4)"},
        {"{\"logging\":\"info\"}", "DOCUMENT_LOGGING_INVALID", "at \"/logging\" (line 1, column 13)"},
        {"{\"logging\":null}", "DOCUMENT_LOGGING_INVALID", "at \"/logging\""},
        {"{\"a\":1,\"l\\u006fgging\":[]}", "DOCUMENT_LOGGING_INVALID", "at \"/logging\""},
    };

    (void)state;
    are_refused(wrong, COUNT_OF(wrong));
}

static void members_that_are_there_twice(void **state)
{
    static const struct wrong wrong[] = {
        {"{\"a\":1,\"b\":2,\"a\":3}", "DOCUMENT_DUPLICATE_MEMBER", "at \"/a\" (line 1, column 15)"},
        {"{\"a\":1,\"\\u0061\":1}", "DOCUMENT_DUPLICATE_MEMBER", "at \"/a\" (line 1, column 9)"},
        {"{\"x\":[0,{\"c\":1,\n\"b\":1,\"c\":1,\"b\":1}]}", "DOCUMENT_DUPLICATE_MEMBER",
         "at \"/x/1/c\" (line 2, column 8)"},
        {"{\"\":1,\"\":1}", "DOCUMENT_DUPLICATE_MEMBER", "at \"/\" "},
        {"{\"a/b~c\":1,\"a/b~c\":1}", "DOCUMENT_DUPLICATE_MEMBER", "at \"/a~1b~0c\" "},
        {"{\"\\ud83e\\udd8a\":1,\"\xf0\x9f\xa6\x8a\":1}", "DOCUMENT_DUPLICATE_MEMBER",
         "at \"/\xf0\x9f\xa6\x8a\" "},
        {"{\"" HUNDRED HUNDRED HUNDRED "\":{\"a\":1,\"a\":1}}", "DOCUMENT_DUPLICATE_MEMBER",
         "xxx…\" (line 1, column "},
    };

    (void)state;
    are_refused(wrong, COUNT_OF(wrong));
}

static void credentials(void **state)
{
    static const struct wrong wrong[] = {
        {"{\"apiKey\":\"hunter2\"}", "DOCUMENT_CREDENTIAL", "at \"/apiKey\" (line 1, column 12)"},
        {"{\"password\":\"hunter2\"}", "DOCUMENT_CREDENTIAL", "at \"/password\""},
        {"{\"gateway\":{\"auth\":{\"token\":\"hunter2\"}}}", "DOCUMENT_CREDENTIAL",
         "at \"/gateway/auth/token\""},
        {"{\"x-client-secret\":\"hunter2\"}", "DOCUMENT_CREDENTIAL", "at \"/x-client-secret\""},
        {"{\"API_KEY\":\"hunter2\"}", "DOCUMENT_CREDENTIAL", "at \"/API_KEY\""},
        {"{\"api\\u004bey\":\"hunter2\"}", "DOCUMENT_CREDENTIAL", "at \"/apiKey\""},
        {"{\"key\":[\"${NAME}\",\"hunter2\"]}", "DOCUMENT_CREDENTIAL", "at \"/key/1\""},
        {"{\"key\":{\"value\":\"hunter2\"}}", "DOCUMENT_CREDENTIAL", "at \"/key/value\""},
        {"{\"key\":{\"a\":[{\"b\":\"hunter2\"}]}}", "DOCUMENT_CREDENTIAL", "at \"/key/a/0/b\""},
        {"{\"key\":\"x ${NAME}\"}", "DOCUMENT_CREDENTIAL", "at \"/key\""},
        {"{\"key\":\"${NAME} \"}", "DOCUMENT_CREDENTIAL", "at \"/key\""},
        {"{\"key\":\"${}\"}", "DOCUMENT_CREDENTIAL", "at \"/key\""},
        {"{\"key\":\"${1A}\"}", "DOCUMENT_CREDENTIAL", "at \"/key\""},
        {"{\"key\":\"${A}${B}\"}", "DOCUMENT_CREDENTIAL", "at \"/key\""},
        {"{\"key\":\" \"}", "DOCUMENT_CREDENTIAL", "at \"/key\""},
        /* What looks like a reference only. */
        {"{\"key\":{\"source\":\"env\"}}", "DOCUMENT_CREDENTIAL", "at \"/key/source\" (line 1, column 19)"},
        {"{\"key\":{\"id\":\"hunter2\"}}", "DOCUMENT_CREDENTIAL", "at \"/key/id\""},
        {"{\"key\":{\"source\":\"Hunter 2\",\"id\":\"x\"}}", "DOCUMENT_CREDENTIAL", "at \"/key/source\""},
        {"{\"key\":{\"source\":1,\"id\":\"hunter2\"}}", "DOCUMENT_CREDENTIAL", "at \"/key/id\""},
        {"{\"key\":{\"kind\":\"text\",\"id\":\"hunter2\"}}", "DOCUMENT_CREDENTIAL", "at \"/key/kind\""},
        {"{\"key\":{\"source\":\"env\",\"id\":\"X\",\"fallback\":\"hunter2\"}}", "DOCUMENT_CREDENTIAL",
         "at \"/key/fallback\""},
        {"{\"key\":{\"source\":{\"source\":\"env\"},\"id\":\"hunter2\"}}", "DOCUMENT_CREDENTIAL",
         "at \"/key/source/source\""},
        /* URLs, wherever they are. */
        {"{\"a\":\"https://user:hunter2@host/\"}", "DOCUMENT_CREDENTIAL", "at \"/a\" (line 1, column 7)"},
        {"{\"a\":[\"see postgresql://hunter2@host\"]}", "DOCUMENT_CREDENTIAL", "at \"/a/0\""},
        {"{\"a\":\"https:\\/\\/u:hunter2\\u0040host\"}", "DOCUMENT_CREDENTIAL", "at \"/a\""},
        {"{\"a\":{\"http://hunter2@host\":{\"b\":1}}}", "DOCUMENT_CREDENTIAL",
         "at \"/a\" (line 1, column 8)"},
        {"{\"key\":{\"source\":\"env\",\"id\":\"http://hunter2@host\"}}", "DOCUMENT_CREDENTIAL",
         "at \"/key/id\""},
    };
    struct fault fault;
    size_t index;

    (void)state;
    are_refused(wrong, COUNT_OF(wrong));
    for (index = 0; index < COUNT_OF(wrong); index++) {
        assert_false(document_check(wrong[index].text, strlen(wrong[index].text), &fault));
        assert_null(strstr(fault.message, "hunter2"));
    }
}

static void numbers(void **state)
{
    static const struct {
        const char *number;
        size_t digits; /* 0: refused */
    } cases[] = {
        {"0", 1},
        {"-0", 2},
        {"1.10", 4},
        {"-1.5e-3", 7},
        {"1e5", 6},
        {"1E+5", 6},
        {"12345678901234567890", 20},
        {"123.45e1", 6},
        {"0.001e3", 1},
        {"1.7976931348623157e308", 309},
        {"5e-324", 326},
        {"1e131071", 131072},
        {"0.001e131074", 131072},
        {"1e131072", 0},
        {"10e131071", 0},
        {"0.0001e131076", 0},
        {"1e-16383", 16385},
        {"1e-16384", 0},
        {"1.0e-16383", 0},
        {"0e-16384", 0},
        {"0e999999", 1},
        {"0.0e999999999", 1},
        {"0e1073741823", 0},
        {"1e999999", 0},
        {"1e-999999", 0},
        {"1e99999999999999999999999999", 0},
        {"1e-99999999999999999999999999", 0},
        {"0e99999999999999999999999999", 0},
    };
    size_t index, digits;

    (void)state;
    for (index = 0; index < COUNT_OF(cases); index++) {
        digits = 0;
        if (document_number_fits(cases[index].number, strlen(cases[index].number), &digits) !=
                (cases[index].digits > 0) ||
            digits != cases[index].digits)
            fail_msg("%s: %zu", cases[index].number, digits);
    }
}

static void numbers_in_documents(void **state)
{
    static const struct wrong wrong[] = {
        {"{\"a\":[1,{\"b\":1e999999}]}", "DOCUMENT_NUMBER_RANGE", "at \"/a/1/b\" (line 1, column 14)"},
        {"{\"a\":[1e131071,1e131071,1e131071,1e131071,1e131071,1e131071,1e131071,1e131071,1e131071]}",
         "DOCUMENT_NUMBER_RANGE", "at \"/a/8\""},
    };
    struct fault fault;

    (void)state;
    are_refused(wrong, COUNT_OF(wrong));
    assert_true(document_check("{\"a\":[1e131071,1e300]}", 22, &fault));
}

static char *repeated(const void *context, const char *text, size_t count, const char *end)
{
    char *made = mem_text(context, "{\"a\":");

    while (count-- > 0)
        made = mem_append(made, "%s", text);
    return mem_append(made, "%s}", end);
}

static void depth_and_size_are_bounded(void **state)
{
    static const char brackets[] = "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";
    void *memory = talloc_new(NULL);
    const size_t limit = CONFIGURATION_DOCUMENT_LIMIT;
    char *text = repeated(memory, "[", 63, brackets + sizeof brackets - 1 - 63);
    struct fault fault;

    (void)state;
    if (!document_check(text, strlen(text), &fault))
        fail_msg("%s", fault.message);
    text = repeated(memory, "[", 64, brackets + sizeof brackets - 1 - 64);
    assert_false(document_check(text, strlen(text), &fault));
    assert_string_equal(fault.code, "DOCUMENT_TOO_DEEP");
    assert_non_null(strstr(fault.message, "(line 1, column 69)"));
    text = mem_array(memory, char, limit + 2);
    memset(text, ' ', limit + 1);
    memcpy(text, "{}", 2);
    assert_true(document_check(text, limit, &fault));
    assert_false(document_check(text, limit + 1, &fault));
    assert_string_equal(fault.code, "DOCUMENT_TOO_LARGE");
    assert_non_null(strstr(fault.message, "1048576"));
    talloc_free(memory);
}

/* A hostile document costs no square of its members. */
static void very_many_members(void **state)
{
    void *memory = talloc_new(NULL);
    char *text = mem_array(memory, char, CONFIGURATION_DOCUMENT_LIMIT);
    struct fault fault;
    size_t length = 1, number = 0;

    (void)state;
    text[0] = '{';
    for (; length < CONFIGURATION_DOCUMENT_LIMIT - 40; number++)
        length += (size_t)snprintf(text + length, 32, "\"%zx\":0,", number);
    length += (size_t)snprintf(text + length, 32, "\"z\":0}");
    if (!document_check(text, length, &fault))
        fail_msg("%s", fault.message);
    length += (size_t)snprintf(text + length - 1, 32, ",\"77\":0}") - 1;
    assert_false(document_check(text, length, &fault));
    assert_string_equal(fault.code, "DOCUMENT_DUPLICATE_MEMBER");
    assert_non_null(strstr(fault.message, "at \"/77\""));
    talloc_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_documents),
        cmocka_unit_test(syntax),
        cmocka_unit_test(members_that_are_there_twice),
        cmocka_unit_test(credentials),
        cmocka_unit_test(numbers),
        cmocka_unit_test(numbers_in_documents),
        cmocka_unit_test(depth_and_size_are_bounded),
        cmocka_unit_test(very_many_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
