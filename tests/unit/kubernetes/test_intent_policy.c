/* SPDX-License-Identifier: MIT
 *
 * Who reaches whom: exactly what is written here, as everything else is denied.
 */
#include "lib/base/build.h"

#include "tests/unit/kubernetes/agent.h"

#define BROAD                                                                                                \
    "{\"to\":[{\"ipBlock\":{\"cidr\":\"0.0.0.0/0\",\"except\":[\"10.0.0.0/8\",\"100.64.0.0/10\","            \
    "\"169.254.0.0/16\",\"172.16.0.0/12\",\"192.168.0.0/16\"]}},"                                            \
    "{\"ipBlock\":{\"cidr\":\"::/0\",\"except\":[\"fc00::/7\",\"fe80::/10\"]}}]}"
#define PODS(revision, role)                                                                                 \
    "{\"openclaw.dev/namespace\":\"" NAMESPACE_ID "\",\"openclaw.dev/agent\":\"" AGENT_ID "\"," revision     \
    "\"openclaw.dev/workload-role\":\"" role "\"}"
#define REVISION "\"openclaw.dev/revision\":\"" REVISION_ID "\","
#define PORT(number) "\"ports\":[{\"protocol\":\"TCP\",\"port\":" number "}]"
#define SPACE(name) "\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":\"" name "\"}}"

static const cJSON *spec_of(struct kubernetes_wanted wanted)
{
    const char *const *exact = wanted.comparison.exact;

    /* One rule, port or peer too many opens something: it is a difference. */
    assert_ptr_equal(wanted.reference.kind, &kubernetes_network_policy);
    assert_string_equal(exact[0], "spec");
    assert_null(exact[1]);
    return look(wanted.intent, "spec");
}

static const cJSON *gateway_policy(const struct agent_case *made)
{
    return spec_of(kubernetes_intend_gateway_policy(made->context, &made->topology));
}

static void clients_reach_the_gateway(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    const struct kubernetes_wanted wanted = kubernetes_intend_gateway_policy(made->context, &made->topology);
    const cJSON *spec = spec_of(wanted);

    (void)state;
    assert_string_equal(wanted.reference.space, made->tenant.data);
    assert_null(wanted.owner.revision_id);
    assert_text(wanted.intent, "metadata labels openclaw.dev/network-profile", "broad-egress-v1");
    assert_json(spec, "podSelector", "{\"matchLabels\":" PODS("", "gateway") "}");
    assert_json(spec, "policyTypes", "[\"Ingress\",\"Egress\"]");
    assert_json(spec, "ingress",
                "[{\"from\":[{" SPACE("openclaw-system") ",\"podSelector\":{\"matchLabels\":"
                                                         "{\"app\":\"approved\"}}}]," PORT("8080") "}]");
    assert_json(spec, "egress", "[" BROAD "]");
    agent_turn(made, "codex", "dedicated");
    assert_string_equal(kubernetes_intend_gateway_policy(made->context, &made->topology).reference.space,
                        made->tenant.gateways);
    talloc_free(made->context);
}

static void envoy_reaches_a_routed_gateway(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");

    (void)state;
    made->settings = settings_with(made->context, 29,
                                   "        pluginStatusProxySourceCidrs: [\"10.1.0.0/24\"]\n"
                                   "      gatewayRouting: {gatewayName: agents, gatewayNamespace: openclaw, "
                                   "envoyNamespace: envoy}");
    made->topology.settings = made->settings;
    assert_json(
        gateway_policy(made), "ingress",
        "[{\"from\":[{" SPACE("envoy") ",\"podSelector\":{\"matchLabels\":"
                                       "{\"gateway.envoyproxy.io/owning-gateway-name\":\"agents\","
                                       "\"gateway.envoyproxy.io/owning-gateway-namespace\":\"openclaw\"}}},"
                                       "{\"ipBlock\":{\"cidr\":\"10.1.0.0/24\"}}]," PORT("8080") "}]");
    talloc_free(made->context);
}

/* The startup YAML always names somebody; an empty list of peers would let everybody in. */
static void nobody_is_not_everybody(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");

    (void)state;
    made->settings->client_count = 0;
    assert_null(look(gateway_policy(made), "ingress"));
    assert_json(gateway_policy(made), "policyTypes", "[\"Ingress\",\"Egress\"]");
    talloc_free(made->context);
}

static void a_gateway_reaches_its_own_harness_only(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const struct kubernetes_wanted wanted = kubernetes_intend_harness_egress(made->context, &made->topology);
    const cJSON *spec = spec_of(wanted);

    (void)state;
    assert_string_equal(wanted.reference.space, made->tenant.gateways);
    assert_string_equal(wanted.owner.revision_id, REVISION_ID);
    assert_json(spec, "podSelector", "{\"matchLabels\":" PODS(REVISION, "gateway") "}");
    assert_json(spec, "policyTypes", "[\"Egress\"]");
    assert_null(look(spec, "ingress"));
    assert_json(spec, "egress",
                mem_format(made->context,
                           "[{\"to\":[{" SPACE("%s") ",\"podSelector\":{\"matchLabels\":" PODS(
                               REVISION, "agent") "}}]," PORT("8787") "}]",
                           made->tenant.data));
    talloc_free(made->context);
}

static void only_its_own_gateway_reaches_a_harness(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const struct kubernetes_wanted wanted = kubernetes_intend_harness_ingress(made->context, &made->topology);
    const cJSON *spec = spec_of(wanted);

    (void)state;
    assert_string_equal(wanted.reference.space, made->tenant.data);
    assert_string_equal(wanted.owner.revision_id, REVISION_ID);
    assert_text(wanted.intent, "metadata labels openclaw.dev/network-profile", "broad-egress-v1");
    assert_json(spec, "podSelector", "{\"matchLabels\":" PODS(REVISION, "agent") "}");
    assert_json(spec, "policyTypes", "[\"Ingress\",\"Egress\"]");
    assert_json(spec, "ingress",
                mem_format(made->context,
                           "[{\"from\":[{" SPACE("%s") ",\"podSelector\":{\"matchLabels\":" PODS(
                               REVISION, "gateway") "}}]," PORT("8787") "}]",
                           made->tenant.gateways));
    assert_json(spec, "egress", "[" BROAD "]");
    talloc_free(made->context);
}

/* A Sandbox's Harness is where the Sandbox says; what is no place in the cluster needs no rule of its own. */
static void a_gateway_reaches_a_sandbox(void **state)
{
    static const struct {
        const char *endpoint;
        const char *egress;
    } cases[] = {
        {"10.9.8.7:9000", "[{\"to\":[{\"ipBlock\":{\"cidr\":\"10.9.8.7/32\"}}]," PORT("9000") "}]"},
        {"[fd00::7]:9000", "[{\"to\":[{\"ipBlock\":{\"cidr\":\"fd00::7/128\"}}]," PORT("9000") "}]"},
        {"box.sandboxes.svc:9000", "[{\"to\":[{" SPACE("sandboxes") "}]}]"},
        {"box.sandboxes.svc.cluster.local:9000", "[{\"to\":[{" SPACE("sandboxes") "}]}]"},
        {"http://10.9.8.7:9000/rpc",
         "[{\"to\":[{\"ipBlock\":{\"cidr\":\"10.9.8.7/32\"}}]," PORT("9000") "}]"},
        {"wss://[fd00::7]:9000", "[{\"to\":[{\"ipBlock\":{\"cidr\":\"fd00::7/128\"}}]," PORT("9000") "}]"},
        {"https://box.sandboxes.svc:9000?a=b", "[{\"to\":[{" SPACE("sandboxes") "}]}]"},
        {"sandbox.example:443", "(none)"},
        {"http://10.9.8.7/no-port", "(none)"},
        {"box.sandboxes.svcs:9000", "(none)"},
        {"nonsense", "(none)"},
        {"10.9.8.7:0x", "(none)"},
    };
    struct agent_case *made = agent_new("openclaw", "dedicated");
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(cases); index++) {
        const cJSON *spec;

        made->topology.harness_endpoint = cases[index].endpoint;
        spec = spec_of(kubernetes_intend_harness_egress(made->context, &made->topology));
        assert_json(spec, "egress", cases[index].egress);
        assert_json(spec, "policyTypes", "[\"Egress\"]");
    }
    talloc_free(made->context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_reach_the_gateway),
        cmocka_unit_test(envoy_reaches_a_routed_gateway),
        cmocka_unit_test(nobody_is_not_everybody),
        cmocka_unit_test(a_gateway_reaches_its_own_harness_only),
        cmocka_unit_test(only_its_own_gateway_reaches_a_harness),
        cmocka_unit_test(a_gateway_reaches_a_sandbox),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
