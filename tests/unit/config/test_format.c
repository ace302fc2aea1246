/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/format.h"

#include "lib/config/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct form {
    const char *(*check)(const char *text);
    const char *good[8];
    const char *bad[12];
};

#define SIXTY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DIGEST "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct form forms[] = {
    {format_dns_label,
     {"a", "1abc", "envoy-gateway-system", SIXTY "abc"},
     {"", "-a", "a-", "a.b", "A", "a_b", SIXTY "abcd"}},
    {format_dns_name,
     {"a", "a.b-c.d1", SIXTY "." SIXTY "." SIXTY "." SIXTY},
     {"", ".a", "a.", "a..b", "A.b", "a_b", "-a.b",
      SIXTY SIXTY "." SIXTY "." SIXTY "." SIXTY ".abcdefghijk"}},
    {format_short_dns_name, {"oce-agent.gateways"}, {SIXTY ".abc", ""}},
    {format_label_key,
     {"app", "k8s-app", "app.kubernetes.io/name", "A_b.c"},
     {"", "-a", "a/", "/a", "A.b/c", "a/b/c", SIXTY "abcd"}},
    {format_label_value, {"", "a", "A-b_c.1"}, {"-a", "a-", "a b", "a/b", SIXTY "abcd"}},
    {format_resource_name, {"pods", "requests.cpu", "count/jobs", "requests.nvidia.com/gpu"}, {"", "a b"}},
    {format_quantity,
     {"100m", "4", "1792Mi", "0.5", "1e3", "6Gi", "2k"},
     {"", "0", "-1", "+1", "1 Gi", "Gi", "1MB", "1e", "1e99", "0m", "."}},
    {format_cidr,
     {"10.20.0.0/16", "10.0.0.1/32", "fd00::/8", "2001:db8::1/128", "128.0.0.0/1"},
     {"10.20.0.0", "0.0.0.0/0", "::/0", "10.0.0.0/33", "10.0.0.0/08", "::ffff:0:0/96", "x/8", "10.0.0/8",
      "/8", "10.0.0.0/", "fd00::/129"}},
    {format_image,
     {"gateway", "registry.example:5000/a/b:v1", "a" DIGEST, "registry.example/gateway:v1" DIGEST},
     {"https://r/a", "a b", "/a", "a/", "a:", "a@sha256:abc", "a@sha512:x", "a" DIGEST "0", DIGEST, "u@r/a"}},
    {format_absolute_path, {"/", "/etc/x"}, {"etc/x", "./x", "~/x"}},
    {format_seccomp_profile,
     {"profiles/codex-0.160.0.json", "a"},
     {"/a", "../a", "a/../b", "a//b", "./a", "unconfined", "a/unconfined", "a\\b", "a/", ""}},
    {format_secret_prefix, {"openclaw-agent-transport"}, {"-a", SIXTY, "A", "gateway-password"}},
    {format_driver_id, {"compute-docker-development"}, {"Compute", "a b", "@a/b"}},
};

static void forms_are_told_apart(void **state)
{
    size_t index, text;

    (void)state;
    for (index = 0; index < COUNT_OF(forms); index++) {
        for (text = 0; text < COUNT_OF(forms[index].good) && forms[index].good[text]; text++)
            if (forms[index].check(forms[index].good[text]))
                fail_msg("%s: %s", forms[index].good[text], forms[index].check(forms[index].good[text]));
        for (text = 0; text < COUNT_OF(forms[index].bad) && forms[index].bad[text]; text++)
            if (!forms[index].check(forms[index].bad[text]))
                fail_msg("form %zu takes \"%s\"", index, forms[index].bad[text]);
    }
}

static void quantities_are_compared_by_value(void **state)
{
    long double one = 0, other = 0;

    (void)state;
    assert_true(format_quantity_value("1Gi", &one) && format_quantity_value("1024Mi", &other));
    assert_true(one == other);
    assert_true(format_quantity_value("0.5", &one) && format_quantity_value("500m", &other));
    assert_true(one == other);
    assert_true(format_quantity_value("1G", &one) && format_quantity_value("1Gi", &other));
    assert_true(one < other);
}

static void keys_are_split_into_words(void **state)
{
    static const char *const credentials[] = {"password",    "apiKey", "API_KEY",     "client-secret",
                                              "accessToken", "APIKey", "db.password", "x/token",
                                              "secret2",     "Key"};
    static const char *const others[] = {"keyboard",  "monkey", "tokenizer", "passwordless",
                                         "secretary", "",       "name",      "k8s-app"};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(credentials); index++)
        if (!schema_key_means_credential(credentials[index]))
            fail_msg("%s", credentials[index]);
    for (index = 0; index < COUNT_OF(others); index++)
        if (schema_key_means_credential(others[index]))
            fail_msg("%s", others[index]);
}

static void user_information_is_found(void **state)
{
    (void)state;
    assert_true(schema_has_user_info("https://user:pw@host/"));
    assert_true(schema_has_user_info("postgresql://u@h"));
    assert_true(schema_has_user_info("a http://x/ b ftp://y@z"));
    assert_false(schema_has_user_info("https://host/path@x"));
    assert_false(schema_has_user_info("https://host?q=a@b"));
    assert_false(schema_has_user_info("http://host mail me@host"));
    assert_false(schema_has_user_info("me@host"));
    assert_false(schema_has_user_info("registry.example/a@sha256:x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_told_apart),
        cmocka_unit_test(quantities_are_compared_by_value),
        cmocka_unit_test(keys_are_split_into_words),
        cmocka_unit_test(user_information_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
