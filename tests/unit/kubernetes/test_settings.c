/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/settings.h"

#include "tests/unit/kubernetes/agent.h"

static void is_json(const cJSON *value, const char *expected)
{
    char *text = cJSON_PrintUnformatted(value);

    assert_string_equal(text, expected);
    cJSON_free(text);
}

static void everything_is_read(void **state)
{
    void *context = talloc_new(NULL);
    const struct kubernetes_settings *settings = settings_with(context, 0, NULL);

    (void)state;
    assert_false(settings->authentication->in_cluster);
    assert_string_equal(settings->authentication->kubeconfig_path, "/etc/occ/kubeconfig");
    assert_string_equal(settings->authentication->context, "prod");
    assert_string_equal(settings->gateway_image, "registry.example/gateway@sha256:" DIGEST);
    assert_string_equal(settings->agent_image, "registry.example:5000/agent:v1@sha256:" DIGEST);
    is_json(settings->gateway_resources, "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"1792Mi\"},"
                                         "\"limits\":{\"cpu\":\"4\",\"memory\":\"3Gi\"}}");
    is_json(settings->agent_resources, "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"768Mi\"},"
                                       "\"limits\":{\"cpu\":\"4\",\"memory\":\"6Gi\"}}");
    is_json(settings->quota, "{\"pods\":\"10\"}");
    is_json(settings->container_defaults, "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"128Mi\"},"
                                          "\"limits\":{\"cpu\":\"4\",\"memory\":\"2Gi\"}}");
    assert_string_equal(settings->dns.space, "kube-system");
    is_json(settings->dns.pod_labels, "{\"k8s-app\":\"kube-dns\"}");
    assert_int_equal(settings->gateway_port, 8080);
    is_json(settings->trusted_proxy_cidrs, "[\"10.20.0.0/16\"]");
    assert_int_equal(settings->client_count, 1);
    assert_string_equal(settings->clients[0].space, "openclaw-system");
    is_json(settings->clients[0].pod_labels, "{\"app\":\"approved\"}");
    assert_string_equal(settings->token_audience, "openclaw-enterprise");
    assert_int_equal(settings->token_expiration_seconds, 900);
    assert_string_equal(settings->gateway_storage_class, "occ-gateway-rwo");
    assert_string_equal(settings->transport_secret_prefix, "openclaw-agent-transport");
    is_json(settings->node_selector, "{}");
    is_json(settings->gateway_node_selector, "{\"oce-role\":\"control-plane\"}");
    talloc_free(context);
}

static void what_is_not_given_has_its_default(void **state)
{
    void *context = talloc_new(NULL);
    const struct kubernetes_settings *settings = settings_with(context, 37, "");

    (void)state;
    is_json(settings->plugin_status_cidrs, "[]");
    is_json(settings->node_selector, "{}");
    assert_null(settings->routing_name);
    assert_null(settings->routing_space);
    assert_null(settings->envoy_space);
    assert_null(settings->routing_hostname);
    assert_null(settings->codex_seccomp_profile);
    assert_int_equal(settings->session_capacity, 8);
    talloc_free(context);
}

static void options_are_read(void **state)
{
    void *context = talloc_new(NULL);
    const struct kubernetes_settings *settings =
        settings_with(context, 37,
                      "        nodeSelector: {oce-role: agents, empty: \"\"}\n"
                      "        codexSeccompProfile: profiles/codex.json\n"
                      "        nativeOpenClawSessionCapacity: 1024");

    (void)state;
    is_json(settings->node_selector, "{\"oce-role\":\"agents\",\"empty\":\"\"}");
    assert_string_equal(settings->codex_seccomp_profile, "profiles/codex.json");
    assert_int_equal(settings->session_capacity, 1024);
    settings = settings_with(context, 33, "        expirationSeconds: 4294967296");
    assert_int_equal(settings->token_expiration_seconds, 4294967296);
    talloc_free(context);
}

static void routing_takes_the_place_of_clients(void **state)
{
    void *context = talloc_new(NULL);
    const struct kubernetes_settings *settings =
        settings_with(context, 29,
                      "        pluginStatusProxySourceCidrs: [\"10.1.0.0/24\", \"fd00::/64\"]\n"
                      "      gatewayRouting: {gatewayName: agents, gatewayNamespace: openclaw-system, "
                      "envoyNamespace: envoy-gateway-system, hostname: agents.example}");

    (void)state;
    assert_int_equal(settings->client_count, 0);
    assert_string_equal(settings->routing_name, "agents");
    assert_string_equal(settings->routing_space, "openclaw-system");
    assert_string_equal(settings->envoy_space, "envoy-gateway-system");
    assert_string_equal(settings->routing_hostname, "agents.example");
    is_json(settings->plugin_status_cidrs, "[\"10.1.0.0/24\",\"fd00::/64\"]");
    talloc_free(context);
}

/* K118: what a server would refuse in a NetworkPolicy is refused at the start. */
static void a_bad_peer_reaches_no_server(void **state)
{
    static const struct {
        int line;
        const char *text;
    } cases[] = {
        {29, "        gatewayClients: [{namespace: Not_A_Label, podLabels: {app: a}}]"},
        {29, "        gatewayClients: [{namespace: a.b, podLabels: {app: a}}]"},
        {29, "        gatewayClients: [{namespace: a, podLabels: {}}]"},
        {29, "        gatewayClients: [{namespace: a}]"},
        {29, "        gatewayClients: [{namespace: a, podLabels: {app: \"a b\"}}]"},
        {29, "        gatewayClients: [{namespace: a, podLabels: {\"-app\": a}}]"},
        {29, "        gatewayClients: [{namespace: a, podLabels: {\"a/b/c\": a}}]"},
        {29, "        gatewayClients: [{namespace: a, podLabels: {app: [a]}}]"},
        {29, "        gatewayClients: [{namespace: a, podLabels: {app: 1}}]"},
        {26, "        dns: {namespace: kube system, podLabels: {k8s-app: kube-dns}}"},
        {26, "        dns: {namespace: kube-system, podLabels: {k8s-app: \"kube-dns-\"}}"},
        {28, "        gatewayTrustedProxyCidrs: [\"10.20.0.0/33\"]"},
        {29, "      gatewayRouting: {gatewayName: A, gatewayNamespace: a, envoyNamespace: a}"},
        {29, "      gatewayRouting: {gatewayName: a, gatewayNamespace: a, envoyNamespace: \"a_\"}"},
    };
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(cases); index++) {
        void *context = talloc_new(NULL);
        struct findings *findings = findings_new(context);
        const char *yaml = installation_with(context, cases[index].line, cases[index].text);
        const struct startup *startup;

        startup = startup_read(context, "test", secret_new(context, yaml, strlen(yaml)), MODE_PRODUCTION,
                               NULL, findings);
        if (!startup || findings_count(findings) == 0)
            fail_msg("accepted: %s", cases[index].text);
        talloc_free(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(what_is_not_given_has_its_default),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(routing_takes_the_place_of_clients),
        cmocka_unit_test(a_bad_peer_reaches_no_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
