/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/object/value.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static cJSON *object_of(const void *context, const char *bytes, size_t length)
{
    cJSON *object = json_new_object(context);

    kubernetes_value_add(json_add_object(object, "data"), "value", secret_new(context, bytes, length));
    return object;
}

static void any_bytes_come_back(void **state)
{
    void *context = talloc_new(NULL);
    char bytes[300];
    size_t length;

    (void)state;
    for (length = 0; length < sizeof bytes; length++) {
        const struct secret *value;

        bytes[length] = (char)(length * 7);
        value = kubernetes_value_read(context, object_of(context, bytes, length), "value");
        assert_non_null(value);
        assert_int_equal(secret_length(value), length);
        assert_memory_equal(secret_expose(value), bytes, length);
    }
    talloc_free(context);
}

static void the_form_is_the_servers(void **state)
{
    void *context = talloc_new(NULL);

    (void)state;
    assert_string_equal(json_text(json_object(object_of(context, "\xfb\xff?", 3), "data"), "value"), "+/8/");
    assert_string_equal(json_text(json_object(object_of(context, "a", 1), "data"), "value"), "YQ==");
    talloc_free(context);
}

static void what_is_no_value_is_none(void **state)
{
    static const char *const objects[] = {
        "{}",
        "{\"data\":{}}",
        "{\"data\":[]}",
        "{\"data\":{\"value\":7}}",
        "{\"data\":{\"value\":\"YQ\"}}",
        "{\"data\":{\"value\":\"-_-_\"}}",
        "{\"data\":{\"value\":\"YQ==YQ==\"}}",
        "{\"data\":{\"Value\":\"YQ==\"}}",
    };
    void *context = talloc_new(NULL);
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(objects); index++) {
        const cJSON *object = json_read(context, objects[index], strlen(objects[index]));

        assert_non_null(object);
        assert_null(kubernetes_value_read(context, object, "value"));
    }
    talloc_free(context);
}

static void wiped_values_are_gone(void **state)
{
    void *context = talloc_new(NULL);
    cJSON *object = object_of(context, "secret", 6);
    const char *text = json_text(json_object(object, "data"), "value");

    (void)state;
    assert_string_equal(text, "c2VjcmV0");
    kubernetes_values_wipe(object);
    assert_string_equal(text, "AAAAAAAA");
    kubernetes_values_wipe(NULL);
    talloc_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(the_form_is_the_servers),
        cmocka_unit_test(what_is_no_value_is_none),
        cmocka_unit_test(wiped_values_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
