/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/object/difference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define EXACTLY(...)                                                                                         \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

static const cJSON *read_json(const void *context, const char *text)
{
    const cJSON *value = json_read(context, text, strlen(text));

    if (!value)
        fail_msg("no JSON: %s", text);
    return value;
}

/* RFC 7386, section 2, word for word. */
static cJSON *merged(const void *context, const cJSON *target, const cJSON *patch)
{
    cJSON *result = json_new_object(context);
    const cJSON *member;

    cJSON_ArrayForEach(member, target)
    {
        if (cJSON_IsObject(target) && !json_member(patch, member->string))
            json_add_copy(result, member->string, member);
    }
    cJSON_ArrayForEach(member, patch)
    {
        if (cJSON_IsObject(member))
            json_add_copy(result, member->string,
                          merged(context, json_member(target, member->string), member));
        else if (!cJSON_IsNull(member))
            json_add_copy(result, member->string, member);
    }
    return result;
}

/* `patch` NULL: there is no difference. Whatever it is, once it is merged there is none. */
static void check(const char *live, const char *intent, const char *const *exact, const char *patch)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const struct kubernetes_comparison comparison = {.exact = exact};
    const cJSON *now = read_json(context, live);
    const cJSON *want = read_json(context, intent);
    const cJSON *found = kubernetes_difference(context, now, want, &comparison);

    if (patch == NULL) {
        if (found)
            fail_msg("%s as %s: %s", live, intent, json_write(context, found));
    } else {
        assert_non_null(found);
        assert_string_equal(json_write(context, found), patch);
        now = merged(context, now, found);
        if (kubernetes_difference(context, now, want, &comparison) != NULL)
            fail_msg("%s and %s leave %s", live, patch, json_write(context, now));
    }
    talloc_free(context);
}

/* K119: a server adds fields of its own, and what is as intended is not written. */
static void what_the_intent_does_not_speak_of_is_no_difference(void **state)
{
    (void)state;
    check("{\"a\":1}", "{}", NULL, NULL);
    check("{\"metadata\":{\"uid\":\"u\",\"labels\":{\"x\":\"1\",\"y\":\"2\"}},\"status\":{}}",
          "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}", NULL, NULL);
    check("{\"l\":[{\"name\":\"a\",\"port\":1,\"protocol\":\"TCP\"}]}",
          "{\"l\":[{\"name\":\"a\",\"port\":1}]}", NULL, NULL);
    check("{\"a\":true,\"b\":8080,\"c\":\"x\",\"d\":null}", "{\"a\":true,\"b\":8080,\"c\":\"x\",\"d\":null}",
          NULL, NULL);
}

static void what_differs_is_in_the_patch_and_nothing_else(void **state)
{
    (void)state;
    check("{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":3}", NULL, "{\"b\":3}");
    check("{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"c\":9,\"d\":2}}}", NULL,
          "{\"a\":{\"b\":{\"c\":9}}}");
    check("{\"a\":true}", "{\"a\":false}", NULL, "{\"a\":false}");
    check("{\"a\":\"1\"}", "{\"a\":1}", NULL, "{\"a\":1}");
    check("{\"a\":{\"b\":1}}", "{\"a\":\"b\"}", NULL, "{\"a\":\"b\"}");
    check("{\"a\":\"b\"}", "{\"a\":{\"b\":1}}", NULL, "{\"a\":{\"b\":1}}");
    check("{\"A\":1}", "{\"a\":1}", NULL, "{\"a\":1}");
}

static void labels_are_added_and_others_stay(void **state)
{
    (void)state;
    check("{\"metadata\":{}}", "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}", NULL,
          "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}");
    check("{\"metadata\":{\"labels\":{\"y\":\"2\",\"x\":\"0\"}}}",
          "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}", NULL, "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}");
    check("{}", "{\"metadata\":{\"labels\":{\"a/b.c\":\"1\"}}}", NULL,
          "{\"metadata\":{\"labels\":{\"a/b.c\":\"1\"}}}");
}

static void arrays_have_the_same_items_in_the_same_order(void **state)
{
    (void)state;
    check("{\"l\":[1,2]}", "{\"l\":[1,2]}", NULL, NULL);
    check("{\"l\":[1,2]}", "{\"l\":[1]}", NULL, "{\"l\":[1]}");
    check("{\"l\":[1]}", "{\"l\":[1,2]}", NULL, "{\"l\":[1,2]}");
    check("{\"l\":[1,2]}", "{\"l\":[2,1]}", NULL, "{\"l\":[2,1]}");
    check("{\"l\":[[1],[2,{\"a\":3,\"b\":4}]]}", "{\"l\":[[1],[2,{\"a\":3}]]}", NULL, NULL);
    check("{\"l\":[[1],[2,{\"a\":3,\"b\":4}]]}", "{\"l\":[[1],[2,{\"a\":5}]]}", NULL,
          "{\"l\":[[1],[2,{\"a\":5}]]}");
    check("{\"l\":{}}", "{\"l\":[1]}", NULL, "{\"l\":[1]}");
    check("{\"l\":[{\"a\":1},{\"b\":2}]}", "{\"l\":[{\"a\":1},{\"b\":3}]}", NULL,
          "{\"l\":[{\"a\":1},{\"b\":3}]}");
    /* A server leaves out an array without items. */
    check("{}", "{\"l\":[]}", NULL, NULL);
    check("{\"l\":[1]}", "{\"l\":[]}", NULL, "{\"l\":[]}");
}

static void null_is_what_must_not_be_there(void **state)
{
    (void)state;
    check("{}", "{\"hostNetwork\":null}", NULL, NULL);
    check("{\"hostNetwork\":null}", "{\"hostNetwork\":null}", NULL, NULL);
    check("{\"hostNetwork\":true}", "{\"hostNetwork\":null}", NULL, "{\"hostNetwork\":null}");
    check("{\"a\":{\"b\":{\"c\":1}}}", "{\"a\":{\"b\":null}}", NULL, "{\"a\":{\"b\":null}}");
    /* An object that only says what it must not have need not be there. */
    check("{}", "{\"a\":{\"b\":null,\"c\":{\"d\":null}}}", NULL, NULL);
    check("{\"l\":[{\"a\":1}]}", "{\"l\":[{\"a\":1,\"hostPort\":null}]}", NULL, NULL);
    check("{\"l\":[{\"a\":1,\"hostPort\":2}]}", "{\"l\":[{\"a\":1,\"hostPort\":null}]}", NULL,
          "{\"l\":[{\"a\":1,\"hostPort\":null}]}");
}

static void an_object_without_members_means_something(void **state)
{
    (void)state;
    check("{\"l\":[{\"name\":\"x\",\"emptyDir\":{}}]}", "{\"l\":[{\"name\":\"x\",\"emptyDir\":{}}]}", NULL,
          NULL);
    check("{\"l\":[{\"name\":\"x\",\"hostPath\":{\"path\":\"/\"}}]}",
          "{\"l\":[{\"name\":\"x\",\"emptyDir\":{}}]}", NULL, "{\"l\":[{\"name\":\"x\",\"emptyDir\":{}}]}");
    check("{}", "{\"podSelector\":{}}", NULL, "{\"podSelector\":{}}");
}

static void amounts_are_equal_by_value(void **state)
{
    (void)state;
    check("{\"requests\":{\"cpu\":\"1\"}}", "{\"requests\":{\"cpu\":\"1000m\"}}", NULL, NULL);
    check("{\"limits\":{\"memory\":\"1Gi\"}}", "{\"limits\":{\"memory\":\"1024Mi\"}}", NULL, NULL);
    check("{\"spec\":{\"hard\":{\"pods\":\"1k\"}}}", "{\"spec\":{\"hard\":{\"pods\":\"1000\"}}}",
          EXACTLY("spec"), NULL);
    check("{\"limits\":[{\"default\":{\"cpu\":\"500m\"},\"defaultRequest\":{\"cpu\":\"0.1\"}}]}",
          "{\"limits\":[{\"default\":{\"cpu\":\"0.5\"},\"defaultRequest\":{\"cpu\":\"100m\"}}]}", NULL, NULL);
    check("{\"emptyDir\":{\"sizeLimit\":\"1Mi\"}}", "{\"emptyDir\":{\"sizeLimit\":\"1024Ki\"}}", NULL, NULL);
    check("{\"limits\":{\"cpu\":\"1\"}}", "{\"limits\":{\"cpu\":\"1001m\"}}", NULL,
          "{\"limits\":{\"cpu\":\"1001m\"}}");
    check("{\"limits\":{\"cpu\":\"1\"}}", "{\"limits\":{\"cpu\":\"one\"}}", NULL,
          "{\"limits\":{\"cpu\":\"one\"}}");
    check("{\"limits\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}",
          "{\"limits\":{\"cpu\":\"1000m\",\"memory\":\"3Gi\"}}", NULL, "{\"limits\":{\"memory\":\"3Gi\"}}");
}

/* What only looks like an amount must be as it stands: a variable's value, data, a label. */
static void other_texts_are_compared_as_they_stand(void **state)
{
    (void)state;
    check("{\"env\":[{\"name\":\"N\",\"value\":\"1000\"}]}", "{\"env\":[{\"name\":\"N\",\"value\":\"1e3\"}]}",
          NULL, "{\"env\":[{\"name\":\"N\",\"value\":\"1e3\"}]}");
    check("{\"data\":{\"requests\":\"1000\"}}", "{\"data\":{\"requests\":\"1k\"}}", EXACTLY("data"),
          "{\"data\":{\"requests\":\"1k\"}}");
    check("{\"metadata\":{\"labels\":{\"size\":\"1\"}}}", "{\"metadata\":{\"labels\":{\"size\":\"1000m\"}}}",
          NULL, "{\"metadata\":{\"labels\":{\"size\":\"1000m\"}}}");
    check("{\"data\":{\"sizeLimit\":\"1000\"}}", "{\"data\":{\"sizeLimit\":\"1k\"}}", NULL,
          "{\"data\":{\"sizeLimit\":\"1k\"}}");
}

static void at_an_exact_path_nothing_more_may_be_there(void **state)
{
    (void)state;
    check("{\"spec\":{\"hard\":{\"pods\":\"1\",\"cpu\":\"2\"}}}", "{\"spec\":{\"hard\":{\"pods\":\"1\"}}}",
          NULL, NULL);
    check("{\"spec\":{\"hard\":{\"pods\":\"1\",\"cpu\":\"2\"}}}", "{\"spec\":{\"hard\":{\"pods\":\"1\"}}}",
          EXACTLY("spec.hard"), "{\"spec\":{\"hard\":{\"cpu\":null}}}");
    check("{\"spec\":{\"hard\":{\"pods\":\"1\"},\"scopes\":[\"x\"]}}",
          "{\"spec\":{\"hard\":{\"pods\":\"1\"}}}", EXACTLY("spec.hard"), NULL);
    /* A path covers what is below it, but not what only begins like it. */
    check("{\"spec\":{\"hard\":{\"pods\":\"1\"},\"scopes\":[\"x\"]}}",
          "{\"spec\":{\"hard\":{\"pods\":\"1\"}}}", EXACTLY("data", "spec"), "{\"spec\":{\"scopes\":null}}");
    check("{\"spec\":{\"a\":{\"b\":{\"c\":1,\"d\":2}}}}", "{\"spec\":{\"a\":{\"b\":{\"c\":1}}}}",
          EXACTLY("spec.a"), "{\"spec\":{\"a\":{\"b\":{\"d\":null}}}}");
    check("{\"specs\":{\"a\":1}}", "{\"specs\":{}}", EXACTLY("spec"), NULL);
    check("{\"a\":{\"spec\":{\"x\":1}}}", "{\"a\":{\"spec\":{}}}", EXACTLY("spec"), NULL);
    check("{\"spec\":{\"gone\":null,\"a\":1}}", "{\"spec\":{\"a\":1}}", EXACTLY("spec"), NULL);
    /* Items have their array's path. */
    check("{\"spec\":{\"limits\":[{\"type\":\"C\",\"max\":{\"cpu\":\"1\"}}]}}",
          "{\"spec\":{\"limits\":[{\"type\":\"C\"}]}}", EXACTLY("spec.limits"),
          "{\"spec\":{\"limits\":[{\"type\":\"C\"}]}}");
    check("{\"l\":[{\"r\":{\"a\":1,\"b\":2},\"x\":1}]}", "{\"l\":[{\"r\":{\"a\":1}}]}", EXACTLY("l.r"),
          "{\"l\":[{\"r\":{\"a\":1}}]}");
    /* A server leaves out a map without members. */
    check("{}", "{\"data\":{}}", EXACTLY("data"), NULL);
    check("{\"data\":{\"x\":\"1\"}}", "{\"data\":{}}", EXACTLY("data"), "{\"data\":{\"x\":null}}");
}

/* ---- Many cases: whatever is there and is wanted, the patch leads from one to the other at once. */

#define TRIES 20000

static uint32_t drawn;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525 + 1013904223; /* the same ones each time */
    return (drawn >> 16) % below;
}

static void draw_object(cJSON *object, int depth);

static void draw_member(cJSON *object, const char *name, int depth)
{
    static const char *const texts[] = {"", "x", "1", "1000m", "1Ki", "1024"};
    cJSON *array;
    uint32_t count;

    switch (draw(depth > 0 ? 7 : 4)) {
    case 0:
        json_add_text(object, name, NULL);
        break;
    case 1:
        json_add_boolean(object, name, draw(2) == 0);
        break;
    case 2:
        json_add_number(object, name, draw(3));
        break;
    case 3:
        json_add_text(object, name, texts[draw(COUNT_OF(texts))]);
        break;
    case 4:
        array = json_add_array(object, name);
        for (count = draw(3); count > 0; count--) {
            if (draw(2) == 0)
                draw_object(json_append_object(array), depth - 1);
            else
                json_append_text(array, texts[draw(COUNT_OF(texts))]);
        }
        break;
    default:
        draw_object(json_add_object(object, name), depth - 1);
    }
}

static void draw_object(cJSON *object, int depth)
{
    static const char *const names[] = {"a", "b", "limits", "hard"};
    size_t index;

    for (index = 0; index < COUNT_OF(names); index++)
        if (draw(2) == 0)
            draw_member(object, names[index], depth);
}

static void a_merged_patch_leaves_no_difference(void **state)
{
    const char *const *const exact[] = {NULL, EXACTLY("a"), EXACTLY("b.limits", "a.a"),
                                        EXACTLY("hard", "limits.b")};
    int differed = 0;
    int index;

    (void)state;
    for (index = 0; index < TRIES; index++) {
        TALLOC_CTX *context = talloc_new(NULL);
        const struct kubernetes_comparison comparison = {.exact = exact[draw(COUNT_OF(exact))]};
        cJSON *live = json_new_object(context);
        cJSON *intent = json_new_object(context);
        const cJSON *patch;

        draw_object(live, 3);
        draw_object(intent, 3);
        if (draw(2) == 0)
            json_add_copy(live, "b", json_member(intent, "b"));
        patch = kubernetes_difference(context, live, intent, &comparison);
        differed += patch != NULL;
        if (patch && kubernetes_difference(context, merged(context, live, patch), intent, &comparison))
            fail_msg("%s as %s by %s", json_write(context, live), json_write(context, intent),
                     json_write(context, patch));
        talloc_free(context);
    }
    /* Both must have been tried. */
    assert_in_range(differed, TRIES / 10, TRIES - TRIES / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_intent_does_not_speak_of_is_no_difference),
        cmocka_unit_test(what_differs_is_in_the_patch_and_nothing_else),
        cmocka_unit_test(labels_are_added_and_others_stay),
        cmocka_unit_test(arrays_have_the_same_items_in_the_same_order),
        cmocka_unit_test(null_is_what_must_not_be_there),
        cmocka_unit_test(an_object_without_members_means_something),
        cmocka_unit_test(amounts_are_equal_by_value),
        cmocka_unit_test(other_texts_are_compared_as_they_stand),
        cmocka_unit_test(at_an_exact_path_nothing_more_may_be_there),
        cmocka_unit_test(a_merged_patch_leaves_no_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
