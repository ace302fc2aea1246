/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/tenant/spaces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define LABEL "\"openclaw.dev/namespace\":\"ns_1\""
#define ANNOTATION "\"openclaw.dev/namespace-id\":\"ns_1\""
#define EXTERNAL "\"openclaw.dev/namespace-lifecycle\":\"external\""
#define LEVEL(mode) "\"pod-security.kubernetes.io/" mode "\":\"restricted\""
#define LEVELS LEVEL("enforce") "," LEVEL("audit") "," LEVEL("warn")

static const struct subject_namespace subject = {.id = "ns_1", .name = "acme", .existing_namespace = "team"};

static const cJSON *new_space(const void *context, const char *labels, const char *annotations)
{
    const char *text =
        mem_format(context, "{\"metadata\":{\"name\":\"team\",\"labels\":{%s},\"annotations\":{%s}}}", labels,
                   annotations);
    const cJSON *space = json_read(context, text, strlen(text));

    assert_non_null(space);
    return space;
}

enum binding { BOUND, FREE, REFUSED };

static void check_binding(const char *labels, const char *annotations, enum binding expected)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const cJSON *space = new_space(context, labels, annotations);
    struct fault fault = {.class = FAULT_NONE};
    bool bound = false;
    const bool done = kubernetes_adopted_is_bound(&subject, space, &bound, &fault);

    assert_int_equal(done, expected != REFUSED);
    assert_int_equal(bound, expected == BOUND);
    if (!done) {
        assert_int_equal(fault.class, FAULT_PERMANENT);
        assert_string_equal(fault.code, "OWNERSHIP_CONFLICT");
        assert_non_null(strstr(fault.message, "openclaw.dev/"));
    }
    talloc_free(context);
}

/* K113: label and annotation are there together, and are this Namespace's; anything else fails closed. */
static void marks_bind_together_or_not_at_all(void **state)
{
    (void)state;
    check_binding("", "", FREE);
    check_binding(LEVELS, EXTERNAL, FREE);
    check_binding(LABEL, ANNOTATION, BOUND);
    check_binding(LABEL, "", REFUSED);
    check_binding("", ANNOTATION, REFUSED);
    check_binding("\"openclaw.dev/namespace\":\"ns_2\"", ANNOTATION, REFUSED);
    check_binding(LABEL, "\"openclaw.dev/namespace-id\":\"ns_2\"", REFUSED);
    check_binding("\"openclaw.dev/namespace\":\"ns_2\"", "\"openclaw.dev/namespace-id\":\"ns_2\"", REFUSED);
    check_binding(LABEL ",\"openclaw.dev/gateway-namespace\":\"ns_1\"", ANNOTATION, REFUSED);
    check_binding("\"openclaw.dev/agent\":\"agt_1\"", "", REFUSED);
}

/* `missing` NULL: it is released. */
static void check_released(const char *labels, const char *annotations, const char *missing)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const cJSON *space = labels ? new_space(context, labels, annotations) : NULL;
    struct fault fault = {.class = FAULT_NONE};

    assert_int_equal(kubernetes_adopted_is_released(&subject, space, &fault), missing == NULL);
    if (missing) {
        assert_int_equal(fault.class, FAULT_PERMANENT);
        assert_string_equal(fault.code, "KUBERNETES_NAMESPACE_NOT_RELEASED");
        assert_non_null(strstr(fault.message, "team"));
        assert_non_null(strstr(fault.message, missing));
    }
    talloc_free(context);
}

static void only_an_administrator_releases_a_namespace(void **state)
{
    (void)state;
    check_released(LEVELS, EXTERNAL, NULL);
    check_released(NULL, NULL, "does not exist");
    check_released(LEVELS, "", "openclaw.dev/namespace-lifecycle=external");
    check_released(LEVELS, "\"openclaw.dev/namespace-lifecycle\":\"External\"", "lifecycle=external");
    check_released(LEVELS "," EXTERNAL, "", "lifecycle=external");
    check_released(LEVEL("audit") "," LEVEL("warn"), EXTERNAL,
                   "pod-security.kubernetes.io/enforce=restricted");
    check_released(LEVEL("enforce") "," LEVEL("warn"), EXTERNAL,
                   "pod-security.kubernetes.io/audit=restricted");
    check_released(LEVEL("enforce") "," LEVEL("audit"), EXTERNAL,
                   "pod-security.kubernetes.io/warn=restricted");
    check_released("\"pod-security.kubernetes.io/enforce\":\"baseline\"," LEVEL("audit") "," LEVEL("warn"),
                   EXTERNAL, "enforce=restricted");
}

static void check_leaving(const char *more, const char *expected)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const char *text = mem_format(context, "{\"metadata\":{\"name\":\"oce-1\"%s", more);
    const cJSON *space = json_read(context, text, strlen(text));
    struct fault fault = {.class = FAULT_NONE};

    assert_non_null(space);
    assert_false(kubernetes_space_leaving(space, &fault));
    assert_int_equal(fault.class, FAULT_PENDING);
    assert_string_equal(fault.code, "KUBERNETES_NAMESPACE_TERMINATING");
    assert_string_equal(fault.message, expected);
    talloc_free(context);
}

#define CONDITION(type, status, reason, message)                                                             \
    "{\"type\":\"" type "\",\"status\":\"" status "\",\"reason\":\"" reason "\",\"message\":\"" message "\"" \
    "}"

/* K75: what holds it is named, the likeliest cause first. */
static void a_namespace_that_stays_says_why(void **state)
{
    (void)state;
    check_leaving("}}", "Namespace oce-1 is being deleted");
    check_leaving("},\"status\":{\"conditions\":[" CONDITION(
                      "NamespaceContentRemaining", "True", "SomeResourcesRemain",
                      "1 pods") "," CONDITION("NamespaceDeletionDiscoveryFailure", "True", "DiscoveryFailed",
                                              "dead\\n\\u0007api") "]}}",
                  "Namespace oce-1 is being deleted; NamespaceDeletionDiscoveryFailure (DiscoveryFailed): "
                  "dead  api; NamespaceContentRemaining (SomeResourcesRemain): 1 pods");
    check_leaving(",\"finalizers\":[\"example.com/hold\"]},\"status\":{\"conditions\":[" CONDITION(
                      "NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", "none") "]}}",
                  "Namespace oce-1 is being deleted; its finalizer example.com/hold");
    check_leaving(
        "},\"status\":{\"conditions\":[{\"type\":\"NamespaceFinalizersRemaining\",\"status\":\"True\"},7]}}",
        "Namespace oce-1 is being deleted; NamespaceFinalizersRemaining ():");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_bind_together_or_not_at_all),
        cmocka_unit_test(only_an_administrator_releases_a_namespace),
        cmocka_unit_test(a_namespace_that_stays_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
