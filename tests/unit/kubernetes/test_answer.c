/* SPDX-License-Identifier: MIT
 *
 * The bodies are what API servers of Kubernetes 1.20 answered, and what later ones are known to.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/api/answer.h"

#include "lib/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct sample {
    int status;
    const char *body;
    enum kubernetes_meaning meaning;
};

#define STATUS(reason, message, details)                                                                     \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"         \
    "\"" message "\",\"reason\":\"" reason "\",\"details\":{" details "},\"code\":499}"
#define OF(resource, name) "\"name\":\"" name "\",\"kind\":\"" resource "\""
#define CAUSE(reason, message, field)                                                                        \
    "\"causes\":[{\"reason\":\"" reason "\",\"message\":\"" message "\",\"field\":\"" field "\"}]"

static struct kubernetes_answer read_as(const void *context, int status, const char *body,
                                        const char *content_type)
{
    const struct http_response response = {
        .status = status,
        .body = body,
        .body_length = strlen(body),
        .content_type = content_type,
        .api_version = "",
        .server = "",
    };
    struct kubernetes_answer answer;

    kubernetes_answer_read(context, &response, false, &answer);
    assert_int_equal(answer.status, status);
    return answer;
}

static void check(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        TALLOC_CTX *context = talloc_new(NULL);
        const enum kubernetes_meaning found =
            read_as(context, samples[i].status, samples[i].body, "application/json").meaning;

        if (found != samples[i].meaning)
            fail_msg("%d %s means %d, expected %d", samples[i].status, samples[i].body, (int)found,
                     (int)samples[i].meaning);
        talloc_free(context);
    }
}

static void a_missing_object_is_told_from_a_missing_api(void **state)
{
    static const struct sample samples[] = {
        {404, STATUS("NotFound", "configmaps \\\"zz\\\" not found", OF("configmaps", "zz")),
         KUBERNETES_MISSING},
        {404, STATUS("NotFound", "namespaces \\\"t9\\\" not found", OF("namespaces", "t9")),
         KUBERNETES_MISSING},
        {404, STATUS("NotFound", "the server could not find the requested resource", ""), KUBERNETES_NO_API},
        {404, "{\"paths\":[\"/apis\",\"/healthz\"]}", KUBERNETES_NONSENSE},
        {404, "404 page not found\n", KUBERNETES_NONSENSE}, /* but as plain text: below */
        {404, "", KUBERNETES_NONSENSE},
    };
    TALLOC_CTX *context = talloc_new(NULL);

    (void)state;
    check(samples, COUNT_OF(samples));
    assert_int_equal(read_as(context, 404, "404 page not found\n", "text/plain; charset=utf-8").meaning,
                     KUBERNETES_NO_API);
    assert_int_equal(read_as(context, 404, "404 Page Not Found\n", "text/plain").meaning,
                     KUBERNETES_NONSENSE);
    assert_int_equal(read_as(context, 404, "404", "text/plain").meaning, KUBERNETES_NONSENSE);
    assert_int_equal(read_as(context, 404, "404 page is elsewhere\n", "text/plain").meaning,
                     KUBERNETES_NONSENSE);
    talloc_free(context);
}

/* K76, K84 */
static void refusals_have_their_causes(void **state)
{
    static const struct sample samples[] = {
        {403,
         STATUS("Forbidden",
                "configmaps \\\"new\\\" is forbidden: unable to create new content in namespace t3 because "
                "it is "
                "being terminated",
                OF("configmaps", "new") "," CAUSE("NamespaceTerminating", "namespace t3 is being terminated",
                                                  "metadata.namespace")),
         KUBERNETES_TERMINATING},
        {403,
         STATUS("Forbidden",
                "configmaps \\\"new\\\" is forbidden: unable to create new content in namespace t3 because "
                "it is "
                "being terminated",
                OF("configmaps", "new")),
         KUBERNETES_TERMINATING},
        {403,
         STATUS("Forbidden", "in other words",
                OF("configmaps",
                   "new") ",\"causes\":[{\"reason\":\"Other\"},{\"reason\":\"NamespaceTerminating\"}]"),
         KUBERNETES_TERMINATING},
        {403,
         STATUS(
             "Forbidden",
             "configmaps \\\"c2\\\" is forbidden: exceeded quota: q1, requested: count/configmaps=1, used: "
             "count/configmaps=2, limited: count/configmaps=2",
             OF("configmaps", "c2")),
         KUBERNETES_QUOTA},
        {403,
         STATUS("Forbidden", "pods \\\"p\\\" is forbidden: status unknown for quota: q1, resources: pods",
                OF("pods", "p")),
         KUBERNETES_QUOTA},
        {403,
         STATUS("Forbidden", "pods \\\"p\\\" is forbidden: failed quota: q1: must specify requests.cpu",
                OF("pods", "p")),
         KUBERNETES_QUOTA},
        {403,
         STATUS(
             "Forbidden",
             "configmaps is forbidden: User \\\"u\\\" cannot list resource \\\"configmaps\\\" in API group "
             "\\\"\\\" in the namespace \\\"t1\\\"",
             "\"kind\":\"configmaps\""),
         KUBERNETES_DENIED},
        {403, "<html>forbidden</html>", KUBERNETES_NONSENSE},
        {403, "{\"error\":\"forbidden\"}", KUBERNETES_NONSENSE},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

/* K77, K78, K79 */
static void conflicts_are_told_apart(void **state)
{
    static const struct sample samples[] = {
        {409, STATUS("AlreadyExists", "configmaps \\\"nul\\\" already exists", OF("configmaps", "nul")),
         KUBERNETES_EXISTS},
        {409,
         STATUS("AlreadyExists", "object is being deleted: namespaces \\\"t3\\\" already exists",
                OF("namespaces", "t3")),
         KUBERNETES_EXISTS},
        {409,
         STATUS(
             "Conflict",
             "Operation cannot be fulfilled on configmaps \\\"nul\\\": the object has been modified; please "
             "apply your changes to the latest version and try again",
             OF("configmaps", "nul")),
         KUBERNETES_CONFLICT},
        {409,
         STATUS("Conflict",
                "Operation cannot be fulfilled on configmaps \\\"nul\\\": Precondition failed: UID in "
                "precondition: x, UID in object meta: 0-1",
                OF("configmaps", "nul")),
         KUBERNETES_CONFLICT},
        {409,
         STATUS(
             "Conflict",
             "Operation cannot be fulfilled on namespaces \\\"t3\\\": The system is ensuring all content is "
             "removed from this namespace.  Upon completion, this namespace will automatically be purged",
             OF("namespaces", "t3")),
         KUBERNETES_TERMINATING},
        {409, STATUS("Conflict", "in other words", CAUSE("NamespaceTerminating", "", "")),
         KUBERNETES_TERMINATING},
        {410, STATUS("Expired", "The provided continue parameter is too old", ""), KUBERNETES_EXPIRED},
        {410, STATUS("Gone", "too old resource version: 1 (2)", ""), KUBERNETES_EXPIRED},
        {409, "", KUBERNETES_NONSENSE},
        {410, "gone", KUBERNETES_NONSENSE},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

/* K80 */
static void what_passes_by_itself_needs_no_words(void **state)
{
    static const struct sample samples[] = {
        {401, STATUS("Unauthorized", "Unauthorized", ""), KUBERNETES_UNAUTHENTICATED},
        {401, "{\"type\":\"error\",\"message\":\"must authenticate\"}", KUBERNETES_UNAUTHENTICATED},
        {429, STATUS("TooManyRequests", "too many requests, please try again later", ""), KUBERNETES_BUSY},
        {429, "Too many requests, please try again later.\n", KUBERNETES_BUSY},
        {500, STATUS("InternalError", "etcdserver: request timed out", ""), KUBERNETES_FAILED},
        {502, "<html>Bad Gateway</html>", KUBERNETES_FAILED},
        {503, "", KUBERNETES_FAILED},
        {504, STATUS("Timeout", "request did not complete within the allotted timeout", ""),
         KUBERNETES_FAILED},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

static void the_rest_is_a_success_a_rejection_or_none_of_it(void **state)
{
    static const struct sample samples[] = {
        {200, "{\"kind\":\"ConfigMap\"}", KUBERNETES_DONE},
        {201, "{}", KUBERNETES_DONE},
        {202, "{\"kind\":\"Status\",\"status\":\"Success\"}\n", KUBERNETES_DONE},
        {200, "[]", KUBERNETES_NONSENSE},
        {200, "", KUBERNETES_NONSENSE},
        {204, "", KUBERNETES_NONSENSE},
        {200, "{\"kind\":", KUBERNETES_NONSENSE},
        {200, "<html></html>", KUBERNETES_NONSENSE},
        {200, "{} {}", KUBERNETES_NONSENSE},
        {301, "{}", KUBERNETES_NONSENSE},
        {304, "", KUBERNETES_NONSENSE},
        {101, "{}", KUBERNETES_NONSENSE},
        {400, STATUS("BadRequest", "unexpected EOF", ""), KUBERNETES_REJECTED},
        {405, STATUS("MethodNotAllowed", "the server does not allow this method", ""), KUBERNETES_REJECTED},
        {413, STATUS("RequestEntityTooLarge", "limit is 3145728", ""), KUBERNETES_REJECTED},
        {415, STATUS("UnsupportedMediaType", "the body was in an unknown format", ""), KUBERNETES_REJECTED},
        {422, STATUS("Invalid", "ConfigMap \\\"C_1\\\" is invalid", ""), KUBERNETES_REJECTED},
        {418, STATUS("", "a webhook's own", ""), KUBERNETES_REJECTED},
        {400, "<html></html>", KUBERNETES_NONSENSE},
        {422, "{}", KUBERNETES_NONSENSE},
    };

    (void)state;
    check(samples, COUNT_OF(samples));
}

/* K83 */
static void a_rejection_names_its_field(void **state)
{
    static const struct {
        const char *body;
        const char *field;
        bool immutable;
    } samples[] = {
        {STATUS("Invalid", "x",
                CAUSE("FieldValueInvalid", "Invalid value: \\\"C_1\\\": a DNS-1123 subdomain must consist of",
                      "metadata.name")),
         "metadata.name", false},
        {STATUS("Invalid", "x",
                CAUSE("FieldValueInvalid",
                      "Invalid value: v1.LabelSelector{MatchLabels:map[string]string{\\\"a\\\":\\\"c\\\"}}: "
                      "field is "
                      "immutable",
                      "spec.selector")),
         "spec.selector", true},
        {STATUS(
             "Invalid", "x",
             CAUSE("FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set", "data")),
         "data", true},
        {STATUS("Invalid", "x",
                CAUSE("FieldValueForbidden",
                      "Forbidden: is immutable after creation except resources.requests for bound claims",
                      "spec")),
         "spec", true},
        {STATUS("Invalid", "x",
                CAUSE("FieldValueInvalid", "Invalid value: []: may not change once set", "spec.c")),
         "spec.c", true},
        {STATUS("Invalid", "Service \\\"s\\\" is invalid: the field is immutable", ""), "", true},
        {STATUS("Invalid", "is immutable", CAUSE("FieldValueInvalid", "too long", "a\\nb")), "a b", false},
        {STATUS("Invalid", "x", CAUSE("FieldValueInvalid", "too long", "<nil>")), "", false},
        {STATUS("Invalid", "x", "\"causes\":7"), "", false},
        {STATUS("Invalid", "x", "\"causes\":[7]"), "", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        TALLOC_CTX *context = talloc_new(NULL);
        const struct kubernetes_answer answer = read_as(context, 422, samples[i].body, "application/json");

        assert_int_equal(answer.meaning, KUBERNETES_REJECTED);
        assert_string_equal(answer.field, samples[i].field);
        assert_int_equal(answer.immutable, samples[i].immutable);
        talloc_free(context);
    }
}

static void what_a_server_says_is_bounded(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);
    char *field = mem_text(context, "spec.");
    struct kubernetes_answer answer;
    struct fault fault;

    (void)state;
    for (int i = 0; i < 1000; i++)
        field = mem_append(field, "field.");
    answer = read_as(
        context, 422,
        mem_format(
            context,
            "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"details\":{\"causes\":[{\"field\":\"%s\"}]}}",
            field),
        "application/json");
    assert_int_equal(strlen(answer.field), 128);
    assert_false(kubernetes_answer_fault(&answer, "doing it", "create things", "host:1", &fault));
    assert_true(strlen(fault.message) < 300);
    talloc_free(context);
}

static void a_quota_is_named(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);
    struct kubernetes_answer answer = read_as(
        context, 403,
        STATUS("Forbidden", "pods \\\"p\\\" is forbidden: exceeded quota: oce-quota, requested: pods=1", ""),
        "application/json");

    (void)state;
    assert_string_equal(answer.quota, "oce-quota");
    answer = read_as(context, 403, STATUS("Forbidden", "failed quota: oce-quota: must specify cpu", ""), "");
    assert_string_equal(answer.quota, "oce-quota");
    answer = read_as(context, 409, STATUS("Conflict", "exceeded quota: oce-quota, x", ""), "");
    assert_null(answer.quota);
    talloc_free(context);
}

static void retry_after_is_capped(void **state)
{
    static const struct {
        uint32_t header_ms;
        const char *body;
        uint32_t expected_ms;
    } samples[] = {
        {0, "{}", 0},
        {7000, "{}", 7000},
        {30001, "{}", 30000},
        {UINT32_MAX, "{}", 30000},
        {0, "{\"details\":{\"retryAfterSeconds\":2}}", 2000},
        {0, "{\"details\":{\"retryAfterSeconds\":31}}", 30000},
        {0, "{\"details\":{\"retryAfterSeconds\":9007199254740992}}", 30000},
        {0, "{\"details\":{\"retryAfterSeconds\":-1}}", 0},
        {1000, "{\"details\":{\"retryAfterSeconds\":9}}", 1000},
    };
    TALLOC_CTX *context = talloc_new(NULL);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        const struct http_response response = {
            .status = 503,
            .body = samples[i].body,
            .body_length = strlen(samples[i].body),
            .content_type = "",
            .retry_after_ms = samples[i].header_ms,
        };
        struct kubernetes_answer answer;

        kubernetes_answer_read(context, &response, false, &answer);
        assert_int_equal(answer.retry_after_ms, samples[i].expected_ms);
    }
    talloc_free(context);
}

struct told {
    enum kubernetes_meaning meaning;
    enum fault_class class;
    const char *code;
};

static void each_meaning_has_its_fault(void **state)
{
    static const struct told all[] = {
        {KUBERNETES_MISSING, FAULT_RETRYABLE, "KUBERNETES_OBJECT_MISSING"},
        {KUBERNETES_NO_API, FAULT_PENDING, "KUBERNETES_API_NOT_SERVED"},
        {KUBERNETES_EXISTS, FAULT_PENDING, "KUBERNETES_CONFLICT"},
        {KUBERNETES_CONFLICT, FAULT_PENDING, "KUBERNETES_CONFLICT"},
        {KUBERNETES_EXPIRED, FAULT_PENDING, "KUBERNETES_CONFLICT"},
        {KUBERNETES_TERMINATING, FAULT_PENDING, "KUBERNETES_NAMESPACE_TERMINATING"},
        {KUBERNETES_QUOTA, FAULT_PENDING, "KUBERNETES_QUOTA_EXCEEDED"},
        {KUBERNETES_DENIED, FAULT_PENDING, "KUBERNETES_ACCESS_DENIED"},
        {KUBERNETES_REJECTED, FAULT_PERMANENT, "KUBERNETES_REJECTED"},
        {KUBERNETES_BUSY, FAULT_PENDING, "KUBERNETES_API_UNAVAILABLE"},
        {KUBERNETES_FAILED, FAULT_PENDING, "KUBERNETES_API_UNAVAILABLE"},
        {KUBERNETES_NONSENSE, FAULT_RETRYABLE, "KUBERNETES_ANSWER_INVALID"},
        {KUBERNETES_UNAUTHENTICATED, FAULT_RETRYABLE, "KUBERNETES_ANSWER_INVALID"},
        {KUBERNETES_DONE, FAULT_RETRYABLE, "KUBERNETES_ANSWER_INVALID"},
    };
    struct fault fault;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const struct kubernetes_answer answer = {
            .meaning = all[i].meaning, .status = 499, .field = "", .retry_after_ms = 3000};
        const bool busy = all[i].meaning == KUBERNETES_BUSY || all[i].meaning == KUBERNETES_FAILED;

        assert_false(kubernetes_answer_fault(&answer, "creating Secret a/b", "create secrets in namespace a",
                                             "127.0.0.1:6443", &fault));
        assert_int_equal(fault.class, all[i].class);
        assert_string_equal(fault.code, all[i].code);
        assert_non_null(strstr(fault.message, "creating Secret a/b: "));
        assert_non_null(strstr(fault.message, "127.0.0.1:6443"));
        assert_int_equal(fault.retry_after_ms, busy ? 3000 : 0);
        assert_string_equal(fault.dependency,
                            busy || fault_is(&fault, "KUBERNETES_ANSWER_INVALID") ? "kubernetes" : "");
        if (all[i].meaning == KUBERNETES_DENIED)
            assert_non_null(strstr(fault.message, "create secrets in namespace a"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_object_is_told_from_a_missing_api),
        cmocka_unit_test(refusals_have_their_causes),
        cmocka_unit_test(conflicts_are_told_apart),
        cmocka_unit_test(what_passes_by_itself_needs_no_words),
        cmocka_unit_test(the_rest_is_a_success_a_rejection_or_none_of_it),
        cmocka_unit_test(a_rejection_names_its_field),
        cmocka_unit_test(what_a_server_says_is_bounded),
        cmocka_unit_test(a_quota_is_named),
        cmocka_unit_test(retry_after_is_capped),
        cmocka_unit_test(each_meaning_has_its_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
