/* SPDX-License-Identifier: MIT
 *
 * What an Agent has beside its Pods and policies.
 */
#include "lib/base/build.h"

#include "tests/unit/kubernetes/agent.h"

static void is_of(const struct kubernetes_wanted *wanted, const struct kubernetes_kind *kind,
                  const char *space, const char *name, const char *revision)
{
    assert_ptr_equal(wanted->reference.kind, kind);
    assert_string_equal(wanted->reference.space, space);
    assert_string_equal(wanted->reference.name, name);
    assert_string_equal(wanted->owner.namespace_id, NAMESPACE_ID);
    assert_string_equal(wanted->owner.agent_id, AGENT_ID);
    assert_null(wanted->owner.role);
    if (revision)
        assert_string_equal(wanted->owner.revision_id, revision);
    else
        assert_null(wanted->owner.revision_id);
}

static const char *of_agent(const struct agent_case *made, const char *what)
{
    return kubernetes_of_agent(made->context, what, &made->topology);
}

static const char *of_revision(const struct agent_case *made, const char *what)
{
    return kubernetes_of_revision(made->context, what, &made->topology);
}

/* An account that its Pods do not use: no token is ever mounted for it. */
static void accounts_mount_no_token(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    struct kubernetes_wanted wanted = kubernetes_intend_gateway_account(made->context, &made->topology);

    (void)state;
    is_of(&wanted, &kubernetes_service_account, made->tenant.gateways, of_agent(made, "gateway"), NULL);
    assert_json(wanted.intent, "", "{\"automountServiceAccountToken\":false}");
    wanted = kubernetes_intend_harness_account(made->context, &made->topology);
    is_of(&wanted, &kubernetes_service_account, made->tenant.data, of_agent(made, "harness"), NULL);
    assert_json(wanted.intent, "", "{\"automountServiceAccountToken\":false}");
    talloc_free(made->context);
}

/* What a claim holds is the Agent's, and lasts; a server refuses to change it. */
static void claims_are_made_once(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    struct kubernetes_wanted wanted = kubernetes_intend_gateway_claim(made->context, &made->topology);

    (void)state;
    is_of(&wanted, &kubernetes_claim, made->tenant.gateways, of_agent(made, "gateway-state"), NULL);
    assert_true(wanted.keep);
    assert_json(wanted.intent, "spec",
                "{\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":\"occ-gateway-rwo\","
                "\"resources\":{\"requests\":{\"storage\":\"10Gi\"}}}");
    wanted = kubernetes_intend_harness_claim(made->context, &made->topology);
    is_of(&wanted, &kubernetes_claim, made->tenant.data, of_agent(made, "harness-state"), NULL);
    assert_true(wanted.keep);
    assert_json(wanted.intent, "spec",
                "{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"40Gi\"}}}");
    agent_turn(made, "openclaw", "embedded");
    wanted = kubernetes_intend_gateway_claim(made->context, &made->topology);
    assert_string_equal(wanted.reference.space, made->tenant.data);
    talloc_free(made->context);
}

/* The revision is always in the selector: nothing is served by having no other label. */
static void services_select_one_revision(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    struct kubernetes_wanted wanted =
        kubernetes_intend_gateway_service(made->context, &made->topology, KUBERNETES_REVISION_NONE);

    (void)state;
    is_of(&wanted, &kubernetes_service, made->tenant.gateways, of_agent(made, "gateway"), NULL);
    assert_json(wanted.intent, "spec ports",
                "[{\"name\":\"gateway\",\"protocol\":\"TCP\",\"port\":8080,\"targetPort\":8080}]");
    assert_text(wanted.intent, "spec type", "ClusterIP");
    assert_string_equal(wanted.comparison.exact[0], "spec.selector");
    assert_json(wanted.intent, "spec selector",
                "{\"openclaw.dev/namespace\":\"" NAMESPACE_ID "\",\"openclaw.dev/agent\":\"" AGENT_ID
                "\",\"openclaw.dev/revision\":\"none\",\"openclaw.dev/workload-role\":\"gateway\"}");
    wanted = kubernetes_intend_gateway_service(made->context, &made->topology, OTHER_REVISION_ID);
    assert_text(wanted.intent, "spec selector openclaw.dev/revision", OTHER_REVISION_ID);
    wanted = kubernetes_intend_harness_service(made->context, &made->topology);
    is_of(&wanted, &kubernetes_service, made->tenant.data, of_revision(made, "harness"), REVISION_ID);
    assert_json(wanted.intent, "spec ports",
                "[{\"name\":\"app-server\",\"protocol\":\"TCP\",\"port\":8787,\"targetPort\":8787}]");
    assert_json(wanted.intent, "spec selector",
                "{\"openclaw.dev/namespace\":\"" NAMESPACE_ID "\",\"openclaw.dev/agent\":\"" AGENT_ID
                "\",\"openclaw.dev/revision\":\"" REVISION_ID "\",\"openclaw.dev/workload-role\":\"agent\"}");
    talloc_free(made->context);
}

static void a_snapshot_is_the_document_byte_by_byte(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    const struct kubernetes_wanted wanted =
        kubernetes_intend_snapshot(made->context, &made->topology, made->tenant.data);
    bool immutable = false;

    (void)state;
    is_of(&wanted, &kubernetes_config_map, made->tenant.data, of_revision(made, "configuration"),
          REVISION_ID);
    assert_true(json_boolean(wanted.intent, "immutable", &immutable) && immutable);
    assert_string_equal(json_text(json_object(wanted.intent, "data"), "openclaw.json"), DOCUMENT);
    assert_string_equal(wanted.comparison.exact[0], "data");
    assert_false(wanted.keep);
    talloc_free(made->context);
}

static void secrets_belong_to_agent_or_revision(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    cJSON *data = json_new_object(made->context);
    struct kubernetes_wanted wanted;

    (void)state;
    json_add_text(data, "password", "cGFzcw==");
    wanted =
        kubernetes_intend_secret(made->context, &made->topology, made->tenant.gateways, "one", false, data);
    is_of(&wanted, &kubernetes_secret, made->tenant.gateways, "one", NULL);
    assert_json(wanted.intent, "", "{\"type\":\"Opaque\",\"data\":{\"password\":\"cGFzcw==\"}}");
    assert_string_equal(wanted.comparison.exact[0], "data");
    wanted = kubernetes_intend_secret(made->context, &made->topology, made->tenant.data, "two", true, data);
    is_of(&wanted, &kubernetes_secret, made->tenant.data, "two", REVISION_ID);
    talloc_free(made->context);
}

static void a_route_takes_its_path_away(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    struct kubernetes_wanted wanted;
    static const char routing[] =
        "      gatewayRouting: {gatewayName: agents, gatewayNamespace: openclaw, envoyNamespace: envoy}";

    (void)state;
    made->settings = settings_with(made->context, 29, routing);
    made->topology.settings = made->settings;
    wanted = kubernetes_intend_route(made->context, &made->topology);
    is_of(&wanted, &kubernetes_http_route, made->tenant.data, of_agent(made, "gateway"), NULL);
    assert_json(wanted.intent, "spec parentRefs",
                "[{\"group\":\"gateway.networking.k8s.io\",\"kind\":\"Gateway\",\"namespace\":\"openclaw\","
                "\"name\":\"agents\"}]");
    assert_json(wanted.intent, "spec rules 0 matches",
                "[{\"path\":{\"type\":\"PathPrefix\",\"value\":\"/agents/" AGENT_ID "\"}}]");
    assert_json(wanted.intent, "spec rules 0 filters",
                "[{\"type\":\"URLRewrite\",\"urlRewrite\":{\"path\":{\"type\":\"ReplacePrefixMatch\","
                "\"replacePrefixMatch\":\"/\"}}}]");
    assert_json(wanted.intent, "spec rules 0 backendRefs",
                mem_format(made->context, "[{\"name\":\"%s\",\"port\":8080}]", of_agent(made, "gateway")));
    assert_int_equal(cJSON_GetArraySize(look(wanted.intent, "spec rules")), 1);
    assert_json(wanted.intent, "spec hostnames", "null");
    made->settings->routing_hostname = "agents.example";
    wanted = kubernetes_intend_route(made->context, &made->topology);
    assert_json(wanted.intent, "spec hostnames", "[\"agents.example\"]");
    talloc_free(made->context);
}

/* K119: what a server with the Gateway API's definitions adds is no difference; a hostname that is not given
 * any more is one. */
static void a_served_route_is_no_difference(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    static const char routing[] =
        "      gatewayRouting: {gatewayName: agents, gatewayNamespace: openclaw, envoyNamespace: envoy}";
    struct kubernetes_wanted wanted;
    cJSON *live, *spec, *backend;

    (void)state;
    made->settings = settings_with(made->context, 29, routing);
    made->topology.settings = made->settings;
    wanted = kubernetes_intend_route(made->context, &made->topology);
    live = json_new_object(made->context);
    json_add_copy(live, "spec", look(wanted.intent, "spec"));
    spec = cJSON_GetObjectItemCaseSensitive(live, "spec");
    cJSON_DeleteItemFromObjectCaseSensitive(spec, "hostnames");
    backend = cJSON_GetArrayItem(
        cJSON_GetObjectItemCaseSensitive(
            cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(spec, "rules"), 0), "backendRefs"),
        0);
    json_add_text(backend, "group", "");
    json_add_text(backend, "kind", "Service");
    json_add_number(backend, "weight", 1);
    json_add_object(live, "status");
    assert_null(kubernetes_difference(made->context, live, wanted.intent, &wanted.comparison));
    json_append_text(json_add_array(spec, "hostnames"), "agents.example");
    assert_json(kubernetes_difference(made->context, live, wanted.intent, &wanted.comparison), "",
                "{\"spec\":{\"hostnames\":null}}");
    talloc_free(made->context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_mount_no_token),
        cmocka_unit_test(claims_are_made_once),
        cmocka_unit_test(services_select_one_revision),
        cmocka_unit_test(a_snapshot_is_the_document_byte_by_byte),
        cmocka_unit_test(secrets_belong_to_agent_or_revision),
        cmocka_unit_test(a_route_takes_its_path_away),
        cmocka_unit_test(a_served_route_is_no_difference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
