/* SPDX-License-Identifier: MIT
 *
 * What needs no server; requests are in tests/faults/test_kubernetes_api.py.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/api/resource.h"

#include "lib/base/memory.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const cJSON *parsed(const void *context, const char *text)
{
    const cJSON *json = json_read(context, text, strlen(text));

    assert_non_null(json);
    return json;
}

static void objects_have_words(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const struct kubernetes_reference inside = {&kubernetes_network_policy, "oce-1", "default-deny"};
    const struct kubernetes_reference outside = {&kubernetes_namespace, NULL, "oce-1"};

    (void)state;
    assert_string_equal(kubernetes_reference_words(context, &inside), "NetworkPolicy oce-1/default-deny");
    assert_string_equal(kubernetes_reference_words(context, &outside), "Namespace oce-1");
    talloc_free(context);
}

static void objects_say_who_they_are(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const cJSON *object =
        parsed(context, "{\"metadata\":{\"name\":\"a\",\"uid\":\"u-1\",\"labels\":{\"x/y\":\"z\"},"
                        "\"annotations\":{\"k\":\"v\"},\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
                        "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},"
                        "{\"type\":\"Other\",\"status\":\"False\",\"reason\":\"Why\"}]}}");
    const cJSON *odd = parsed(context, "{\"metadata\":[],\"status\":{\"conditions\":{\"type\":\"Ready\"}}}");

    (void)state;
    assert_string_equal(kubernetes_name(object), "a");
    assert_string_equal(kubernetes_uid(object), "u-1");
    assert_string_equal(kubernetes_label(object, "x/y"), "z");
    assert_null(kubernetes_label(object, "x"));
    assert_string_equal(kubernetes_annotation(object, "k"), "v");
    assert_true(kubernetes_is_terminating(object));
    assert_true(kubernetes_condition_is_true(object, "Ready"));
    assert_false(kubernetes_condition_is_true(object, "Other"));
    assert_string_equal(json_text(kubernetes_condition(object, "Other"), "reason"), "Why");
    assert_null(kubernetes_condition(object, "Nothing"));
    assert_string_equal(kubernetes_name(odd), "");
    assert_string_equal(kubernetes_uid(NULL), "");
    assert_null(kubernetes_label(odd, "x"));
    assert_false(kubernetes_is_terminating(odd));
    assert_null(kubernetes_condition(odd, "Ready"));
    talloc_free(context);
}

/* A request's path is made of a kind's words as they are, and a grant is told by them. */
static void kinds_are_written_as_servers_write_them(void **state)
{
    static const struct kubernetes_kind *const kinds[] = {
        &kubernetes_namespace,
        &kubernetes_resource_quota,
        &kubernetes_limit_range,
        &kubernetes_network_policy,
        &kubernetes_service_account,
        &kubernetes_config_map,
        &kubernetes_secret,
        &kubernetes_service,
        &kubernetes_claim,
        &kubernetes_deployment,
        &kubernetes_pod,
        &kubernetes_endpoint_slice,
        &kubernetes_http_route,
        &kubernetes_access_review,
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct kubernetes_kind *kind = kinds[i];

        assert_true(isupper((unsigned char)kind->kind[0]));
        assert_int_equal(strspn(kind->resource, "abcdefghijklmnopqrstuvwxyz"), strlen(kind->resource));
        assert_int_equal(strspn(kind->group, "abcdefghijklmnopqrstuvwxyz8."), strlen(kind->group));
        assert_string_equal(kind->versions[0], "v1");
        assert_int_equal(kind->namespaced,
                         kind != &kubernetes_namespace && kind != &kubernetes_access_review);
    }
}

struct met {
    enum fault_class class;
    const char *code;
    enum fault_class in_pass;
    enum fault_class at_start;
};

/* K102 */
static void a_fault_is_told_by_where_it_is_met(void **state)
{
    static const struct met all[] = {
        {FAULT_PENDING, "KUBERNETES_API_UNAVAILABLE", FAULT_PENDING, FAULT_UNAVAILABLE},
        {FAULT_PENDING, "KUBERNETES_ACCESS_DENIED", FAULT_PENDING, FAULT_UNAVAILABLE},
        {FAULT_PENDING, "KUBERNETES_UNAUTHENTICATED", FAULT_PENDING, FAULT_CONFIGURATION},
        {FAULT_RETRYABLE, "KUBERNETES_ANSWER_INVALID", FAULT_RETRYABLE, FAULT_CONFIGURATION},
        {FAULT_RETRYABLE, "KUBERNETES_OBJECT_MISSING", FAULT_RETRYABLE, FAULT_UNAVAILABLE},
        {FAULT_PERMANENT, "KUBERNETES_REJECTED", FAULT_PERMANENT, FAULT_CONFIGURATION},
        {FAULT_CONFIGURATION, "KUBERNETES_TLS_FAILED", FAULT_PENDING, FAULT_CONFIGURATION},
        {FAULT_CONFIGURATION, "KUBERNETES_AUTHENTICATION_INVALID", FAULT_PENDING, FAULT_CONFIGURATION},
        {FAULT_CANCELLED, "WORKER_DRAINING", FAULT_CANCELLED, FAULT_CANCELLED},
        {FAULT_CLAIM_LOST, "CLAIM_LOST", FAULT_CLAIM_LOST, FAULT_CLAIM_LOST},
    };
    struct fault fault;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        (void)fault_set(&fault, all[i].class, all[i].code, "words");
        assert_false(kubernetes_fault_in_pass(&fault));
        assert_int_equal(fault.class, all[i].in_pass);
        (void)fault_set(&fault, all[i].class, all[i].code, "words");
        assert_false(kubernetes_fault_at_start(&fault));
        assert_int_equal(fault.class, all[i].at_start);
        assert_string_equal(fault.code, all[i].code);
        assert_string_equal(fault.message, "words");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_have_words),
        cmocka_unit_test(objects_say_who_they_are),
        cmocka_unit_test(kinds_are_written_as_servers_write_them),
        cmocka_unit_test(a_fault_is_told_by_where_it_is_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
