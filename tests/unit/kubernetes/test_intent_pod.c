/* SPDX-License-Identifier: MIT
 *
 * What the Pods of an Agent are: restricted, and with exactly what occ-runtime-image(7) promises.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/contract.h"
#include "tests/unit/kubernetes/agent.h"

#include <sodium.h>

#define POD "spec template spec"
#define CONTAINER "spec template spec containers 0"

static const cJSON *gateway_of(const struct agent_case *made)
{
    return kubernetes_intend_gateway(made->context, &made->topology).intent;
}

static const cJSON *harness_of(const struct agent_case *made)
{
    return kubernetes_intend_harness(made->context, &made->topology).intent;
}

/* ---- Kubernetes, "Pod Security Standards": restricted, and what we ask beyond it */

static void is_false(const cJSON *object, const char *name)
{
    bool value = true;

    assert_true(json_boolean(object, name, &value));
    assert_false(value);
}

static void is_true(const cJSON *object, const char *name)
{
    bool value = false;

    assert_true(json_boolean(object, name, &value));
    assert_true(value);
}

static void is_number(const cJSON *object, const char *name, int64_t expected)
{
    int64_t number = -1;

    assert_true(json_number(object, name, &number));
    assert_int_equal(number, expected);
}

/* There, and null: whoever sets it by hand is put right. */
static void is_forbidden(const cJSON *object, const char *name)
{
    assert_true(cJSON_IsNull(json_member(object, name)));
}

static void container_is_restricted(const cJSON *container)
{
    const cJSON *security = json_object(container, "securityContext");
    const cJSON *capabilities = json_object(security, "capabilities");
    const cJSON *port;
    static const char *const amounts[] = {"requests cpu", "requests memory", "limits cpu", "limits memory"};
    size_t index;

    is_false(security, "allowPrivilegeEscalation");
    is_true(security, "runAsNonRoot");
    is_true(security, "readOnlyRootFilesystem");
    is_forbidden(security, "privileged");
    is_forbidden(security, "runAsUser");
    is_forbidden(security, "runAsGroup");
    is_forbidden(security, "seccompProfile");
    assert_int_equal(cJSON_GetArraySize(json_array(capabilities, "drop")), 1);
    assert_text(capabilities, "drop 0", "ALL");
    is_forbidden(capabilities, "add");
    for (index = 0; index < COUNT_OF(amounts); index++)
        assert_non_null(cJSON_GetStringValue(look(json_object(container, "resources"), amounts[index])));
    cJSON_ArrayForEach(port, json_array(container, "ports"))
    {
        assert_null(json_member(port, "hostPort"));
    }
    is_forbidden(container, "envFrom");
    is_forbidden(container, "lifecycle");
    is_forbidden(container, "command");
    is_forbidden(container, "args");
}

static bool volume_is_allowed(const cJSON *volume)
{
    static const char *const kinds[] = {"configMap", "persistentVolumeClaim", "emptyDir", "projected",
                                        "secret"};
    size_t index;

    if (cJSON_GetArraySize(volume) != 2) /* its name and its kind */
        return false;
    for (index = 0; index < COUNT_OF(kinds); index++) {
        if (json_object(volume, kinds[index]))
            return true;
    }
    return false;
}

static void pod_is_restricted(const cJSON *pod, const char *seccomp)
{
    static const char *const forbidden[] = {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace",
                                            "initContainers"};
    const cJSON *security = json_object(pod, "securityContext"), *each;
    size_t index;

    is_true(security, "runAsNonRoot");
    is_number(security, "runAsUser", 65532);
    is_number(security, "runAsGroup", 65532);
    is_number(security, "fsGroup", 65532);
    assert_text(security, "seccompProfile type", seccomp);
    assert_null(json_member(security, "sysctls"));
    assert_null(json_member(security, "supplementalGroups"));
    is_false(pod, "automountServiceAccountToken");
    is_false(pod, "enableServiceLinks");
    for (index = 0; index < COUNT_OF(forbidden); index++)
        is_forbidden(pod, forbidden[index]);
    assert_null(json_member(pod, "ephemeralContainers"));
    assert_null(json_member(pod, "hostAliases"));
    assert_int_equal(cJSON_GetArraySize(json_array(pod, "containers")), 1);
    cJSON_ArrayForEach(each, json_array(pod, "containers"))
    {
        container_is_restricted(each);
    }
    cJSON_ArrayForEach(each, json_array(pod, "volumes"))
    {
        assert_true(volume_is_allowed(each));
    }
}

/* Every Pod of every form of Agent. */
static void every_pod_is_restricted(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");

    (void)state;
    pod_is_restricted(look(gateway_of(made), POD), "RuntimeDefault");
    agent_turn(made, "codex", "dedicated");
    pod_is_restricted(look(gateway_of(made), POD), "RuntimeDefault");
    pod_is_restricted(look(harness_of(made), POD), "RuntimeDefault");
    made->settings->codex_seccomp_profile = "profiles/codex.json";
    pod_is_restricted(look(gateway_of(made), POD), "RuntimeDefault");
    pod_is_restricted(look(harness_of(made), POD), "Localhost");
    assert_text(harness_of(made), POD " securityContext seccompProfile localhostProfile",
                "profiles/codex.json");
    agent_turn(made, "openclaw", "dedicated");
    pod_is_restricted(look(harness_of(made), POD), "RuntimeDefault");
    talloc_free(made->context);
}

/* ---- Deployments */

/* K83: an Agent's gateway keeps its selector through all revisions. */
static void selectors_never_change(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    static const char gateway[] =
        "{\"matchLabels\":{\"openclaw.dev/namespace\":\"" NAMESPACE_ID "\",\"openclaw.dev/agent\":\"" AGENT_ID
        "\",\"openclaw.dev/workload-role\":\"gateway\"}}";

    (void)state;
    assert_json(gateway_of(made), "spec selector", gateway);
    made->revision.id = OTHER_REVISION_ID;
    assert_json(gateway_of(made), "spec selector", gateway);
    agent_turn(made, "codex", "dedicated");
    assert_json(gateway_of(made), "spec selector", gateway);
    assert_json(harness_of(made), "spec selector",
                "{\"matchLabels\":{\"openclaw.dev/namespace\":\"" NAMESPACE_ID
                "\",\"openclaw.dev/agent\":\"" AGENT_ID "\",\"openclaw.dev/revision\":\"" OTHER_REVISION_ID
                "\",\"openclaw.dev/workload-role\":\"agent\"}}");
    talloc_free(made->context);
}

/* Pods say whose they are; the one gateway Deployment belongs to no revision. */
static void deployments_and_pods_are_labelled(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const struct kubernetes_wanted gateway = kubernetes_intend_gateway(made->context, &made->topology);
    const struct kubernetes_wanted harness = kubernetes_intend_harness(made->context, &made->topology);
    struct kubernetes_owner pods = {
        .namespace_id = NAMESPACE_ID, .agent_id = AGENT_ID, .revision_id = REVISION_ID, .role = "gateway"};

    (void)state;
    assert_null(gateway.owner.revision_id);
    assert_string_equal(gateway.owner.role, "gateway");
    assert_null(kubernetes_owner_mismatch(look(gateway.intent, "spec template"), &pods));
    assert_string_equal(harness.owner.revision_id, REVISION_ID);
    assert_string_equal(harness.owner.role, "agent");
    pods.role = "agent";
    assert_null(kubernetes_owner_mismatch(look(harness.intent, "spec template"), &pods));
    assert_string_equal(gateway.reference.space, made->tenant.gateways);
    assert_string_equal(harness.reference.space, made->tenant.data);
    agent_turn(made, "openclaw", "embedded");
    assert_string_equal(kubernetes_intend_gateway(made->context, &made->topology).reference.space,
                        made->tenant.data);
    talloc_free(made->context);
}

static void there_is_one_at_a_time(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const cJSON *intents[] = {gateway_of(made), harness_of(made)};
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(intents); index++) {
        is_number(look(intents[index], "spec"), "replicas", 1);
        assert_json(intents[index], "spec strategy", "{\"type\":\"Recreate\"}");
        is_number(look(intents[index], "spec"), "revisionHistoryLimit", 0);
        is_number(look(intents[index], POD), "terminationGracePeriodSeconds", 30);
        is_forbidden(look(intents[index], "spec"), "paused");
        assert_non_null(look(intents[index], "spec progressDeadlineSeconds"));
    }
    talloc_free(made->context);
}

static void settings_reach_the_pods(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");

    (void)state;
    assert_text(gateway_of(made), CONTAINER " image", made->settings->gateway_image);
    assert_text(harness_of(made), CONTAINER " image", made->settings->agent_image);
    assert_text(gateway_of(made), CONTAINER " resources limits memory", "3Gi");
    assert_text(harness_of(made), CONTAINER " resources limits memory", "6Gi");
    assert_json(gateway_of(made), POD " nodeSelector", "{\"oce-role\":\"control-plane\"}");
    is_forbidden(look(harness_of(made), POD), "nodeSelector");
    made->settings->node_selector = made->settings->gateway_node_selector;
    assert_json(harness_of(made), POD " nodeSelector", "{\"oce-role\":\"control-plane\"}");
    is_number(look(gateway_of(made), CONTAINER " ports 0"), "containerPort", 8080);
    is_number(look(harness_of(made), CONTAINER " ports 0"), "containerPort", 8787);
    talloc_free(made->context);
}

static void probe_asks(const cJSON *intent, const char *name, const char *path, int port)
{
    const cJSON *probe = look(look(intent, CONTAINER), name);

    assert_text(probe, "httpGet path", path);
    is_number(look(probe, "httpGet"), "port", port);
    assert_non_null(look(probe, "periodSeconds"));
    assert_non_null(look(probe, "timeoutSeconds"));
    assert_non_null(look(probe, "failureThreshold"));
}

static void probes_ask_for_life_and_readiness(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");

    (void)state;
    probe_asks(gateway_of(made), "startupProbe", "/healthz", 8080);
    probe_asks(gateway_of(made), "livenessProbe", "/healthz", 8080);
    probe_asks(gateway_of(made), "readinessProbe", "/readyz", 8080);
    probe_asks(harness_of(made), "startupProbe", "/healthz", 8787);
    probe_asks(harness_of(made), "livenessProbe", "/healthz", 8787);
    probe_asks(harness_of(made), "readinessProbe", "/readyz", 8787);
    talloc_free(made->context);
}

/* ---- Volumes */

static const cJSON *volume_of(const cJSON *intent, const char *name)
{
    return variable_of(look(intent, POD " volumes"), name);
}

static const cJSON *mount_of(const cJSON *intent, const char *path)
{
    const cJSON *mount;

    cJSON_ArrayForEach(mount, look(intent, CONTAINER " volumeMounts"))
    {
        if (text_equal(json_text(mount, "mountPath"), path))
            return mount;
    }
    return NULL;
}

static void the_document_is_one_file_that_is_read_only(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const cJSON *intents[] = {gateway_of(made), harness_of(made)};
    const char *name = kubernetes_of_revision(made->context, KUBERNETES_SNAPSHOT, &made->topology);
    size_t index;

    (void)state;
    for (index = 0; index < COUNT_OF(intents); index++) {
        const cJSON *mount = mount_of(intents[index], "/etc/openclaw/openclaw.json");

        is_true(mount, "readOnly");
        assert_text(mount, "subPath", "openclaw.json");
        assert_text(volume_of(intents[index], json_text(mount, "name")), "configMap name", name);
    }
    talloc_free(made->context);
}

static void state_and_temporary_files_have_volumes(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const cJSON *gateway = gateway_of(made), *harness = harness_of(made);

    (void)state;
    assert_text(mount_of(gateway, "/var/lib/openclaw"), "name", "state");
    assert_text(volume_of(gateway, "state"), "persistentVolumeClaim claimName",
                kubernetes_intend_gateway_claim(made->context, &made->topology).reference.name);
    assert_text(volume_of(harness, "state"), "persistentVolumeClaim claimName",
                kubernetes_intend_harness_claim(made->context, &made->topology).reference.name);
    assert_text(mount_of(gateway, "/tmp"), "name", "temporary");
    assert_json(volume_of(gateway, "temporary"), "emptyDir", "{\"sizeLimit\":\"1Gi\"}");
    assert_json(volume_of(harness, "temporary"), "emptyDir", "{\"sizeLimit\":\"1Gi\"}");
    talloc_free(made->context);
}

/* The ServiceAccount's token: in the Harness's Pod, wherever that is, and nowhere else. */
static void the_token_is_in_the_harness_only(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");
    const cJSON *gateway = gateway_of(made);

    (void)state;
    assert_json(volume_of(gateway, "service-principal"), "projected",
                "{\"sources\":[{\"serviceAccountToken\":{\"audience\":\"openclaw-enterprise\","
                "\"expirationSeconds\":900,\"path\":\"token\"}}]}");
    is_true(mount_of(gateway, RUNTIME_TOKEN_FOLDER), "readOnly");
    agent_turn(made, "codex", "dedicated");
    assert_null(volume_of(gateway_of(made), "service-principal"));
    assert_null(mount_of(gateway_of(made), RUNTIME_TOKEN_FOLDER));
    assert_null(variable_of(look(gateway_of(made), CONTAINER " env"), RUNTIME_ENV_TOKEN_FILE));
    assert_non_null(volume_of(harness_of(made), "service-principal"));
    assert_text(gateway_of(made), POD " serviceAccountName",
                kubernetes_intend_gateway_account(made->context, &made->topology).reference.name);
    assert_text(harness_of(made), POD " serviceAccountName",
                kubernetes_intend_harness_account(made->context, &made->topology).reference.name);
    talloc_free(made->context);
}

/* Nothing but these volumes, so that no Secret comes by another way. */
static void there_is_no_other_volume(void **state)
{
    struct agent_case *made = agent_new("codex", "dedicated");
    const cJSON *gateway = gateway_of(made);

    (void)state;
    assert_int_equal(cJSON_GetArraySize(look(gateway, POD " volumes")), 3);
    assert_int_equal(cJSON_GetArraySize(look(gateway, CONTAINER " volumeMounts")), 3);
    assert_int_equal(cJSON_GetArraySize(look(harness_of(made), POD " volumes")), 5);
    made->revision.binding_count = 0;
    assert_int_equal(cJSON_GetArraySize(look(harness_of(made), POD " volumes")), 4);
    assert_int_equal(cJSON_GetArraySize(look(harness_of(made), CONTAINER " volumeMounts")), 4);
    talloc_free(made->context);
}

/* ---- K119 */

static void is_known(const struct agent_case *made, const char *what, const cJSON *intent,
                     const char *expected)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char digits[2 * sizeof hash + 1];
    const char *text = json_write(made->context, look(intent, "spec template"));

    (void)crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    (void)sodium_bin2hex(digits, sizeof digits, hash, sizeof hash);
    if (!text_equal(digits, expected))
        fail_msg("The template of %s changed: every Agent's Pod that is prepared again by this version is "
                 "replaced, and its users are cut off meanwhile. If that is worth it, say so in NEWS, and "
                 "write %s here.",
                 what, digits);
}

/* A Pod is replaced whenever its template differs. So a template never changes by accident: not the order
 * of its variables, not a limit. */
static void a_new_version_replaces_no_pod_by_accident(void **state)
{
    struct agent_case *made = agent_new("openclaw", "embedded");

    (void)state;
    is_known(made, "an embedded gateway", gateway_of(made),
             "47b61e861159136519523c28adf9863fac2fba5a33e4a7e484b10a18222da9b5");
    agent_turn(made, "codex", "dedicated");
    is_known(made, "a dedicated gateway", gateway_of(made),
             "bf5d8853744b5fbc7b1323b2fb98788bd7d81e26fd53200c93ac1fd3de67dc49");
    is_known(made, "a dedicated Harness", harness_of(made),
             "7407389a668ca42bceddef5f89671f3a6f7e9beaa44a95c824d339edc4c48d02");
    talloc_free(made->context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pod_is_restricted),
        cmocka_unit_test(selectors_never_change),
        cmocka_unit_test(deployments_and_pods_are_labelled),
        cmocka_unit_test(there_is_one_at_a_time),
        cmocka_unit_test(settings_reach_the_pods),
        cmocka_unit_test(probes_ask_for_life_and_readiness),
        cmocka_unit_test(the_document_is_one_file_that_is_read_only),
        cmocka_unit_test(state_and_temporary_files_have_volumes),
        cmocka_unit_test(the_token_is_in_the_harness_only),
        cmocka_unit_test(there_is_no_other_volume),
        cmocka_unit_test(a_new_version_replaces_no_pod_by_accident),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
