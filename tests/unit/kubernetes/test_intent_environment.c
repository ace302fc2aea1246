/* SPDX-License-Identifier: MIT
 *
 * What the containers are told, and that each Secret reaches exactly the container that uses it.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/contract.h"
#include "tests/unit/kubernetes/agent.h"

#define ENVIRONMENT "spec template spec containers 0 env"

static const cJSON *gateway_of(const struct agent_case *made)
{
    return look(kubernetes_intend_gateway(made->context, &made->topology).intent, ENVIRONMENT);
}

static const cJSON *harness_of(const struct agent_case *made)
{
    return look(kubernetes_intend_harness(made->context, &made->topology).intent, ENVIRONMENT);
}

static void is_told(const cJSON *environment, const char *name, const char *value)
{
    assert_text(variable_of(environment, name), "value", value);
}

static void is_not_told(const cJSON *environment, const char *name)
{
    assert_null(variable_of(environment, name));
}

static void is_from(const cJSON *environment, const char *name, const char *secret, const char *key)
{
    const cJSON *entry = variable_of(environment, name);

    assert_null(json_member(entry, "value"));
    assert_text(entry, "valueFrom secretKeyRef name", secret);
    assert_text(entry, "valueFrom secretKeyRef key", key);
    assert_null(look(entry, "valueFrom secretKeyRef optional"));
}

static const char *agent_secret(const struct agent_case *made, const char *what)
{
    return kubernetes_of_agent(made->context, what, &made->topology);
}

static const char *revision_secret(const struct agent_case *made, const char *what)
{
    return kubernetes_of_revision(made->context, what, &made->topology);
}

static void says_whose_it_is(const cJSON *environment, const char *role, const char *mode,
                             const char *harness)
{
    is_told(environment, RUNTIME_ENV_ROLE, role);
    is_told(environment, RUNTIME_ENV_MODE, mode);
    is_told(environment, RUNTIME_ENV_HARNESS, harness);
    is_told(environment, RUNTIME_ENV_HARNESS_VERSION, "1");
    is_told(environment, RUNTIME_ENV_INSTALLATION, "ins_1");
    is_told(environment, RUNTIME_ENV_NAMESPACE, NAMESPACE_ID);
    is_told(environment, RUNTIME_ENV_AGENT, AGENT_ID);
    is_told(environment, RUNTIME_ENV_REVISION, REVISION_ID);
    is_told(environment, RUNTIME_ENV_CONFIG_PATH, "/etc/openclaw/openclaw.json");
    is_told(environment, RUNTIME_ENV_STATE_DIR, "/var/lib/openclaw");
    is_told(environment, RUNTIME_ENV_HOME, "/var/lib/openclaw");
    is_told(environment, RUNTIME_ENV_TMPDIR, "/tmp");
}

static void an_embedded_gateway_is_its_own_harness(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    const cJSON *gateway = gateway_of(made);

    (void)state;
    says_whose_it_is(gateway, "gateway", "embedded", "openclaw");
    is_told(gateway, RUNTIME_ENV_GATEWAY_PORT, "8080");
    is_told(gateway, RUNTIME_ENV_TRUSTED_PROXIES, "10.20.0.0/16");
    is_told(gateway, RUNTIME_ENV_SESSION_CAPACITY, "8");
    is_told(gateway, RUNTIME_ENV_PRINCIPAL, "sp_1");
    is_told(gateway, RUNTIME_ENV_TOKEN_FILE, "/var/run/secrets/openclaw/service-principal/token");
    is_told(gateway, RUNTIME_ENV_MODEL_METHOD, "api_key");
    is_from(gateway, RUNTIME_ENV_MODEL_CREDENTIAL, revision_secret(made, "harness-secrets"),
            "model-credential");
    is_from(gateway, RUNTIME_ENV_GATEWAY_PASSWORD, agent_secret(made, "gateway-password"), "password");
    /* There is nobody to talk to. */
    is_not_told(gateway, RUNTIME_ENV_TRANSPORT_TOKEN);
    is_not_told(gateway, RUNTIME_ENV_ENDPOINT);
    is_not_told(gateway, RUNTIME_ENV_HARNESS_PORT);
    talloc_free(made->context);
}

static void a_dedicated_gateway_has_no_credential_of_the_model(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const cJSON *gateway = gateway_of(made);
    static const char *const none[] = {
        RUNTIME_ENV_MODEL_CREDENTIAL, RUNTIME_ENV_MODEL_METHOD, RUNTIME_ENV_MODEL_ACCOUNT,
        RUNTIME_ENV_PRINCIPAL,        RUNTIME_ENV_TOKEN_FILE,   RUNTIME_ENV_BINDINGS,
        RUNTIME_ENV_SESSION_CAPACITY, RUNTIME_ENV_HARNESS_PORT, "GITHUB_TOKEN",
    };
    size_t index;

    (void)state;
    says_whose_it_is(gateway, "gateway", "dedicated", "codex");
    is_from(gateway, RUNTIME_ENV_TRANSPORT_TOKEN, agent_secret(made, "openclaw-agent-transport"),
            "app-server-token");
    is_from(gateway, RUNTIME_ENV_GATEWAY_PASSWORD, agent_secret(made, "gateway-password"), "password");
    is_told(gateway, RUNTIME_ENV_ENDPOINT,
            mem_format(made->context, "%s.%s.svc:8787", revision_secret(made, "harness"), made->tenant.data));
    for (index = 0; index < COUNT_OF(none); index++)
        is_not_told(gateway, none[index]);
    made->topology.harness_endpoint = "sandbox.example:9000";
    is_told(gateway_of(made), RUNTIME_ENV_ENDPOINT, "sandbox.example:9000");
    talloc_free(made->context);
}

static void a_dedicated_harness_has_no_password(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const cJSON *harness = harness_of(made);
    static const char *const none[] = {
        RUNTIME_ENV_GATEWAY_PASSWORD, RUNTIME_ENV_GATEWAY_PORT, RUNTIME_ENV_TRUSTED_PROXIES,
        RUNTIME_ENV_STATUS_SOURCES,   RUNTIME_ENV_ENDPOINT,     RUNTIME_ENV_SESSION_CAPACITY,
    };
    size_t index;

    (void)state;
    says_whose_it_is(harness, "agent", "dedicated", "codex");
    is_told(harness, RUNTIME_ENV_HARNESS_PORT, "8787");
    is_from(harness, RUNTIME_ENV_TRANSPORT_TOKEN, revision_secret(made, "harness-secrets"),
            "app-server-token");
    is_from(harness, RUNTIME_ENV_MODEL_CREDENTIAL, revision_secret(made, "harness-secrets"),
            "model-credential");
    is_told(harness, RUNTIME_ENV_TOKEN_FILE, "/var/run/secrets/openclaw/service-principal/token");
    for (index = 0; index < COUNT_OF(none); index++)
        is_not_told(harness, none[index]);
    agent_turn(made, "openclaw", "dedicated");
    is_told(harness_of(made), RUNTIME_ENV_SESSION_CAPACITY, "8");
    talloc_free(made->context);
}

/* Its credential comes as the others do, and does so where the gateway is made again after the platform's
 * Secret has gone. */
static void a_service_account_is_told_by_its_identifier(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");

    (void)state;
    made->revision.harness_auth =
        "{\"method\": \"chatgpt_service_account\", \"serviceAccountId\": \"svc_1\"}";
    made->revision.harness_secret = NULL;
    is_told(harness_of(made), RUNTIME_ENV_MODEL_METHOD, "chatgpt_service_account");
    is_told(harness_of(made), RUNTIME_ENV_MODEL_ACCOUNT, "svc_1");
    is_from(harness_of(made), RUNTIME_ENV_MODEL_CREDENTIAL, revision_secret(made, "harness-secrets"),
            "model-credential");
    talloc_free(made->context);
}

/* Admission takes names which Kubernetes takes for no variable; and none replaces what is promised. */
static void bound_secrets_are_variables_where_they_can_be(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    const char *secret = revision_secret(made, "harness-bindings");
    const cJSON *gateway = gateway_of(made);

    (void)state;
    is_from(gateway, "GITHUB_TOKEN", secret, "GITHUB_TOKEN");
    is_from(gateway, "a.b-c", secret, "a.b-c");
    is_not_told(gateway, "9lives");
    is_told(gateway, "HOME", "/var/lib/openclaw");
    is_told(gateway, RUNTIME_ENV_BINDINGS, "/var/run/secrets/openclaw/bindings");
    made->revision.binding_count = 0;
    is_not_told(gateway_of(made), RUNTIME_ENV_BINDINGS);
    talloc_free(made->context);
}

/* K119: a server drops an empty value, so it would differ at each look. */
static void nothing_is_told_empty(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    const cJSON *entry;

    (void)state;
    made->agent.service_principal_id = NULL;
    made->revision.harness_auth = NULL;
    cJSON_ArrayForEach(entry, gateway_of(made))
    {
        assert_true(json_object(entry, "valueFrom") || *text_of(entry, "value"));
        assert_string_not_equal(text_of(entry, "value"), "");
    }
    is_not_told(gateway_of(made), RUNTIME_ENV_STATUS_SOURCES);
    is_not_told(gateway_of(made), RUNTIME_ENV_PRINCIPAL);
    made->settings = settings_with(made->context, 29,
                                   "        pluginStatusProxySourceCidrs: [\"10.1.0.0/24\", \"fd00::/64\"]\n"
                                   "        gatewayClients: [{namespace: a, podLabels: {b: c}}]");
    made->topology.settings = made->settings;
    is_told(gateway_of(made), RUNTIME_ENV_STATUS_SOURCES, "10.1.0.0/24,fd00::/64");
    talloc_free(made->context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_embedded_gateway_is_its_own_harness),
        cmocka_unit_test(a_dedicated_gateway_has_no_credential_of_the_model),
        cmocka_unit_test(a_dedicated_harness_has_no_password),
        cmocka_unit_test(a_service_account_is_told_by_its_identifier),
        cmocka_unit_test(bound_secrets_are_variables_where_they_can_be),
        cmocka_unit_test(nothing_is_told_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
