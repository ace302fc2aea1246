/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/setting.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct occ_setting inner[] = {
    {.name = "value", .type = OCC_SETTING_TEXT},
    {.name = NULL},
};
static const struct occ_setting table[] = {
    {.name = "url", .type = OCC_SETTING_TEXT, .required = 1},
    {.name = "speed", .type = OCC_SETTING_TEXT, .choices = "fast|safe"},
    {.name = "tries", .type = OCC_SETTING_NUMBER, .least = 1, .most = 9},
    {.name = "size", .type = OCC_SETTING_NUMBER},
    {.name = "quiet", .type = OCC_SETTING_BOOLEAN},
    {.name = "hosts", .type = OCC_SETTING_TEXTS, .least = 1, .most = 2},
    {.name = "inner", .type = OCC_SETTING_MAP, .settings = inner},
    {.name = "apiToken", .type = OCC_SETTING_TEXT},
    {.name = "tokenKind", .type = OCC_SETTING_TEXT, .choices = "short|long"},
    {.name = "secret", .type = OCC_SETTING_MAP, .settings = inner},
    {.name = NULL},
};

static const struct yaml_node *read_node(const void *context, const char *text)
{
    struct findings *findings = findings_new(context);
    const struct yaml_node *node = yaml_read(context, "t", text, strlen(text), findings);

    assert_int_equal(findings_count(findings), 0);
    assert_non_null(node);
    return node;
}

static struct findings *check(const void *context, const struct occ_setting *settings, const char *text)
{
    struct findings *findings = findings_new(context);
    const struct schema_run run = {.context = context, .file = "t", .findings = findings};
    const struct schema *schema;

    assert_null(setting_schema(context, settings, &schema));
    schema_check(&run, schema, read_node(context, text), "c");
    return findings;
}

static void expect(const struct occ_setting *settings, const char *text, const char *where, const char *code,
                   const char *part)
{
    void *context = talloc_new(NULL);
    struct findings *findings = check(context, settings, text);

    assert_int_equal(findings_count(findings), 1);
    assert_string_equal(findings_at(findings, 0)->where, where);
    assert_string_equal(findings_at(findings, 0)->code, code);
    assert_non_null(strstr(findings_at(findings, 0)->message, part));
    assert_null(strstr(findings_at(findings, 0)->message, "hunter2"));
    talloc_free(context);
}

static void what_fits_is_json(void **state)
{
    static const char text[] =
        "url: 'a \"b\"'\nspeed: safe\ntries: 9\nsize: 9007199254740991\nquiet: true\n"
        "hosts: [a, 'true']\ninner: {value: '7'}\napiToken: /run/token\ntokenKind: long\n"
        "secret: {value: sec_0b8cf4a0-56c1-4b0e-8d2b-0d7b1f1c9a11}\n";
    void *context = talloc_new(NULL);

    (void)state;
    assert_int_equal(findings_count(check(context, table, text)), 0);
    assert_string_equal(
        setting_json(context, read_node(context, text)),
        "{\"url\":\"a \\\"b\\\"\",\"speed\":\"safe\",\"tries\":9,\"size\":9007199254740991,\"quiet\":true,"
        "\"hosts\":[\"a\",\"true\"],\"inner\":{\"value\":\"7\"},\"apiToken\":\"/run/token\","
        "\"tokenKind\":\"long\",\"secret\":{\"value\":\"sec_0b8cf4a0-56c1-4b0e-8d2b-0d7b1f1c9a11\"}}");
    assert_string_equal(setting_json(context, NULL), "{}");
    assert_string_equal(setting_json(context, read_node(context, "quiet: false\n")), "{\"quiet\":false}");
    talloc_free(context);
}

static void what_does_not_fit_is_found(void **state)
{
    (void)state;
    expect(table, "speed: safe\n", "t:1:1 c.url", "STARTUP_FIELD_MISSING", "is required");
    expect(table, "url: a\nother: 1\n", "t:2:1 c.other", "STARTUP_FIELD_UNKNOWN",
           "known here: url, speed, tries");
    expect(table, "url: 7\n", "t:1:6 c.url", "STARTUP_FIELD_INVALID", "must be text");
    expect(table, "url: a\nspeed: slow\n", "t:2:8 c.speed", "STARTUP_FIELD_INVALID", "must be fast or safe");
    expect(table, "url: a\ntries: 0\n", "t:2:8 c.tries", "STARTUP_FIELD_INVALID", "integer from 1 to 9");
    expect(table, "url: a\ntries: 10\n", "t:2:8 c.tries", "STARTUP_FIELD_INVALID", "integer from 1 to 9");
    expect(table, "url: a\nsize: 9007199254740992\n", "t:2:7 c.size", "STARTUP_FIELD_INVALID",
           "from 0 to 9007199254740991");
    expect(table, "url: a\nquiet: 1\n", "t:2:8 c.quiet", "STARTUP_FIELD_INVALID", "true or false");
    expect(table, "url: a\nhosts: []\n", "t:2:8 c.hosts", "STARTUP_FIELD_INVALID", "1 to 2 items");
    expect(table, "url: a\nhosts: [a, 1]\n", "t:2:12 c.hosts[1]", "STARTUP_FIELD_INVALID", "must be text");
    expect(table, "url: a\ninner: {x: 1}\n", "t:2:9 c.inner.x", "STARTUP_FIELD_UNKNOWN", "known here: value");
    expect(NULL, "x: 1\n", "t:1:1 c.x", "STARTUP_FIELD_UNKNOWN", "no field is known here");
}

static void credentials_are_refused(void **state)
{
    static const char refusal[] = "an absolute path or a Secret's id";

    (void)state;
    expect(table, "url: a\napiToken: hunter2\n", "t:2:11 c.apiToken", "STARTUP_CREDENTIAL", refusal);
    expect(table, "url: a\napiToken: sec_hunter2\n", "t:2:11 c.apiToken", "STARTUP_CREDENTIAL", refusal);
    expect(table, "url: a\nsecret: {value: hunter2}\n", "t:2:17 c.secret.value", "STARTUP_CREDENTIAL",
           refusal);
}

static const struct occ_setting endless[] = {
    {.name = "again", .type = OCC_SETTING_MAP, .settings = endless},
    {.name = NULL},
};

static void expect_unusable(const struct occ_setting *settings, const char *expected)
{
    void *context = talloc_new(NULL);
    const struct schema *schema;
    const char *problem = setting_schema(context, settings, &schema);

    assert_non_null(problem);
    assert_non_null(strstr(problem, expected));
    talloc_free(context);
}

static void tables_are_not_believed(void **state)
{
    const struct occ_setting type[] = {{.name = "a", .type = (enum occ_setting_type)9}, {.name = NULL}};
    const struct occ_setting name[] = {{.name = "a.b", .type = OCC_SETTING_TEXT}, {.name = NULL}};
    const struct occ_setting twice[] = {
        {.name = "a", .type = OCC_SETTING_TEXT}, {.name = "a", .type = OCC_SETTING_TEXT}, {.name = NULL}};
    const struct occ_setting limits[] = {{.name = "a", .type = OCC_SETTING_NUMBER, .least = 2, .most = 1},
                                         {.name = NULL}};
    const struct occ_setting beyond[] = {{.name = "a", .type = OCC_SETTING_NUMBER, .most = UINT64_MAX},
                                         {.name = NULL}};
    const struct occ_setting length[] = {{.name = "a", .type = OCC_SETTING_TEXTS, .least = 2, .most = 1},
                                         {.name = NULL}};

    (void)state;
    expect_unusable(type, "a: a type that there is not");
    expect_unusable(name, "a name that is none");
    expect_unusable(twice, "a stands twice");
    expect_unusable(limits, "a: a number's limits");
    expect_unusable(beyond, "a: a number's limits");
    expect_unusable(length, "a: a list's limits");
    expect_unusable(endless, "more than 8 levels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_json),
        cmocka_unit_test(what_does_not_fit_is_found),
        cmocka_unit_test(credentials_are_refused),
        cmocka_unit_test(tables_are_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
