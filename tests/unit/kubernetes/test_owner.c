/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/object/owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MANAGED "\"app.kubernetes.io/managed-by\":\"openclaw-enterprise\""
#define OF_NAMESPACE MANAGED ",\"openclaw.dev/namespace\":\"ns_1\""
#define OF_AGENT OF_NAMESPACE ",\"openclaw.dev/agent\":\"agt_1\""
#define OF_REVISION OF_AGENT ",\"openclaw.dev/revision\":\"rev_1\",\"openclaw.dev/workload-role\":\"agent\""

static const struct kubernetes_owner namespace_owner = {.namespace_id = "ns_1"};
static const struct kubernetes_owner agent_owner = {.namespace_id = "ns_1", .agent_id = "agt_1"};
static const struct kubernetes_owner revision_owner = {
    .namespace_id = "ns_1", .agent_id = "agt_1", .revision_id = "rev_1", .role = "agent"};
static const struct kubernetes_owner data_owner = {.namespace_id = "ns_1", .annotated = true};
static const struct kubernetes_owner gateways_owner = {
    .namespace_id = "ns_1", .gateways = true, .annotated = true};

static const cJSON *read_object(const void *context, const char *metadata)
{
    const char *text = mem_format(context, "{\"metadata\":%s}", metadata);
    const cJSON *object = json_read(context, text, strlen(text));

    assert_non_null(object);
    return object;
}

/* `wrong` NULL: it is the owner's. */
static void check_metadata(const char *metadata, const struct kubernetes_owner *owner, const char *wrong)
{
    TALLOC_CTX *context = talloc_new(NULL);
    const char *found = kubernetes_owner_mismatch(read_object(context, metadata), owner);

    if (wrong)
        assert_string_equal(found, wrong);
    else
        assert_null(found);
    talloc_free(context);
}

static void check(const char *labels, const struct kubernetes_owner *owner, const char *wrong)
{
    char *metadata = mem_format(NULL, "{\"labels\":{%s}}", labels);

    check_metadata(metadata, owner, wrong);
    talloc_free(metadata);
}

/* K78, K113 */
static void only_exact_labels_are_ours(void **state)
{
    (void)state;
    check(OF_NAMESPACE, &namespace_owner, NULL);
    check(OF_AGENT, &agent_owner, NULL);
    check(OF_REVISION, &revision_owner, NULL);
    check(OF_NAMESPACE ",\"example.com/x\":\"1\",\"openclaw.dev/network-profile\":\"broad-egress-v1\"",
          &namespace_owner, NULL);
    /* Partial ones. */
    check("", &namespace_owner, KUBERNETES_LABEL_MANAGED_BY);
    check(MANAGED, &namespace_owner, KUBERNETES_LABEL_NAMESPACE);
    check("\"openclaw.dev/namespace\":\"ns_1\"", &namespace_owner, KUBERNETES_LABEL_MANAGED_BY);
    check(OF_NAMESPACE, &agent_owner, KUBERNETES_LABEL_AGENT);
    check(OF_AGENT, &revision_owner, KUBERNETES_LABEL_REVISION);
    /* Somebody else's. */
    check("\"app.kubernetes.io/managed-by\":\"Helm\",\"openclaw.dev/namespace\":\"ns_1\"", &namespace_owner,
          KUBERNETES_LABEL_MANAGED_BY);
    check(MANAGED ",\"openclaw.dev/namespace\":\"ns_12\"", &namespace_owner, KUBERNETES_LABEL_NAMESPACE);
    check(MANAGED ",\"openclaw.dev/namespace\":null", &namespace_owner, KUBERNETES_LABEL_NAMESPACE);
    check(MANAGED ",\"openclaw.dev/namespace\":1", &namespace_owner, KUBERNETES_LABEL_NAMESPACE);
    /* One too many: what is an Agent's is not its Namespace's. */
    check(OF_AGENT, &namespace_owner, KUBERNETES_LABEL_AGENT);
    check(OF_REVISION, &agent_owner, KUBERNETES_LABEL_REVISION);
    check(OF_NAMESPACE ",\"openclaw.dev/secret\":\"sec_1\"", &namespace_owner, KUBERNETES_LABEL_SECRET);
    check(OF_NAMESPACE ",\"openclaw.dev/gateway-namespace\":\"ns_1\"", &namespace_owner,
          KUBERNETES_LABEL_GATEWAY_NAMESPACE);
}

static void metadata_of_another_shape_is_nobodys(void **state)
{
    (void)state;
    check_metadata("{}", &namespace_owner, KUBERNETES_LABEL_MANAGED_BY);
    check_metadata("null", &namespace_owner, KUBERNETES_LABEL_MANAGED_BY);
    check_metadata("{\"labels\":[]}", &namespace_owner, KUBERNETES_LABEL_MANAGED_BY);
    assert_string_equal(kubernetes_owner_mismatch(NULL, &namespace_owner), KUBERNETES_LABEL_MANAGED_BY);
}

/* K113: label and annotation go together. */
static void a_namespace_is_annotated_as_well(void **state)
{
    (void)state;
    check_metadata("{\"labels\":{" OF_NAMESPACE "},\"annotations\":{\"openclaw.dev/namespace-id\":\"ns_1\"}}",
                   &data_owner, NULL);
    check_metadata("{\"labels\":{" OF_NAMESPACE "}}", &data_owner, KUBERNETES_ANNOTATION_NAMESPACE_ID);
    check_metadata("{\"labels\":{" OF_NAMESPACE "},\"annotations\":{\"openclaw.dev/namespace-id\":\"ns_2\"}}",
                   &data_owner, KUBERNETES_ANNOTATION_NAMESPACE_ID);
    check_metadata("{\"labels\":{" OF_NAMESPACE "},\"annotations\":{\"openclaw.dev/namespace-id\":\"ns_1\"}}",
                   &gateways_owner, KUBERNETES_LABEL_GATEWAY_NAMESPACE);
}

static void marking_makes_it_the_owners_and_keeps_the_rest(void **state)
{
    static const struct kubernetes_owner *const owners[] = {&namespace_owner, &agent_owner, &revision_owner,
                                                            &data_owner, &gateways_owner};
    size_t one, other;

    (void)state;
    for (one = 0; one < COUNT_OF(owners); one++) {
        TALLOC_CTX *context = talloc_new(NULL);
        cJSON *intent = json_new_object(context);

        json_add_text(json_add_object(json_add_object(intent, "metadata"), "labels"), "x", "1");
        kubernetes_owner_mark(intent, owners[one]);
        kubernetes_owner_mark(intent, owners[one]); /* twice is once */
        assert_string_equal(json_text(json_object(json_object(intent, "metadata"), "labels"), "x"), "1");
        for (other = 0; other < COUNT_OF(owners); other++) {
            const bool loose = owners[other] == &namespace_owner && owners[one] == &data_owner;

            assert_int_equal(kubernetes_owner_mismatch(intent, owners[other]) == NULL, one == other || loose);
        }
        talloc_free(context);
    }
}

static void a_selector_names_what_is_set(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);

    (void)state;
    assert_string_equal(kubernetes_owner_selector(context, &agent_owner),
                        "app.kubernetes.io/managed-by=openclaw-enterprise,openclaw.dev/namespace=ns_1,"
                        "openclaw.dev/agent=agt_1");
    talloc_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_exact_labels_are_ours),
        cmocka_unit_test(metadata_of_another_shape_is_nobodys),
        cmocka_unit_test(a_namespace_is_annotated_as_well),
        cmocka_unit_test(marking_makes_it_the_owners_and_keeps_the_rest),
        cmocka_unit_test(a_selector_names_what_is_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
