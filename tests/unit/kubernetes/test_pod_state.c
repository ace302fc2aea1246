/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/pod_state.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/object/owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define LABELS(revision)                                                                                     \
    "\"labels\":{\"app.kubernetes.io/managed-by\":\"openclaw-enterprise\",\"openclaw.dev/namespace\":"       \
    "\"ns_1\",\"openclaw.dev/agent\":\"agt_1\",\"openclaw.dev/workload-role\":\"gateway\","                  \
    "\"openclaw.dev/revision\":\"" revision "\"}"
#define METADATA(name, revision)                                                                             \
    "\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\"," LABELS(revision) "}"
#define TERMINATING(name, revision)                                                                          \
    "\"metadata\":{\"name\":\"" name "\",\"deletionTimestamp\":\"2026-01-31T23:59:59Z\"," LABELS(revision) "}"
#define POD(status) "{" METADATA("gateway-x", "rev_1") ",\"status\":{" status "}}"
#define SCHEDULED "{\"type\":\"PodScheduled\",\"status\":\"True\"}"
#define NOT_READY                                                                                            \
    "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},{\"type\":"        \
    "\"Ready\","                                                                                             \
    "\"status\":\"False\",\"reason\":\"ContainersNotReady\"}," SCHEDULED "],"
#define READY                                                                                                \
    "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}," SCHEDULED "],"         \
    "\"containerStatuses\":[{\"name\":\"gateway\",\"ready\":true,\"started\":true,\"restartCount\":0,"       \
    "\"state\":{\"running\":{}}}]"
#define UNSCHEDULABLE(message)                                                                               \
    "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"      \
    "\"Unschedulable\",\"message\":\"" message "\"}]"
#define CONTAINER(more)                                                                                      \
    NOT_READY "\"containerStatuses\":[{\"name\":\"gateway\",\"image\":\"r.example/g@sha256:1\",\"ready\":"   \
              "false," more "}]"
#define WAITING(reason, message)                                                                             \
    CONTAINER(                                                                                               \
        "\"started\":false,\"restartCount\":0,\"lastState\":{},\"state\":{\"waiting\":{\"reason\":\"" reason \
        "\",\"message\":\"" message "\"}}")
#define EXIT(reason, status) "{\"terminated\":{\"reason\":\"" reason "\",\"exitCode\":" status "}}"
#define CRASHED(reason, status)                                                                              \
    CONTAINER("\"started\":false,\"restartCount\":4,\"lastState\":" EXIT(                                    \
        reason,                                                                                              \
        status) ",\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off 1m20s"      \
                " restarting failed container=gateway\"}}")
#define RUNNING_SINCE(time)                                                                                  \
    CONTAINER(                                                                                               \
        "\"started\":true,\"restartCount\":0,\"lastState\":{},\"state\":{\"running\":{\"startedAt\":\"" time \
        "\"}}")
#define REFUSED(message)                                                                                     \
    "{\"status\":{\"conditions\":[{\"type\":\"Progressing\",\"status\":\"True\"},{\"type\":"                 \
    "\"ReplicaFailure\","                                                                                    \
    "\"status\":\"True\",\"reason\":\"FailedCreate\",\"message\":\"" message "\"}]}}"

struct said {
    const char *code;
    const char *check;
    const char *failure;
    const char *words; /* in the message */
};

static void check(const char *list, const char *deployment, const struct said *said)
{
    TALLOC_CTX *context = talloc_new(NULL);
    struct kubernetes_pods pods = {.component = "gateway", .revision_id = "rev_1", .checked_at_ms = 7};
    struct compute_failure failure = {0};
    struct fault fault = {0};
    const cJSON *pod = NULL;
    bool ready;

    pods.list = json_read(context, list, strlen(list));
    assert_non_null(pods.list);
    pods.deployment = deployment ? json_read(context, deployment, strlen(deployment)) : NULL;
    assert_true(!deployment || pods.deployment);
    ready = kubernetes_pods_are_ready(&pods, &pod, &failure, &fault);
    if (!said) {
        assert_true(ready);
        assert_string_equal(kubernetes_name(pod), "gateway-x");
        assert_string_equal(failure.code, "");
    } else {
        assert_false(ready);
        assert_null(pod);
        assert_int_equal(fault.class, FAULT_PENDING);
        assert_string_equal(fault.code, said->code);
        assert_string_equal(failure.component, "gateway");
        assert_string_equal(failure.check, said->check);
        assert_string_equal(failure.code, said->failure);
        assert_int_equal(failure.checked_at_ms, 7);
        if (!strstr(fault.message, said->words))
            fail_msg("\"%s\" is not in: %s", said->words, fault.message);
    }
    talloc_free(context);
}

#define SAYS(code, check, failure, words) (&(const struct said){code, check, failure, words})

static void a_ready_pod(void **state)
{
    (void)state;
    check("[" POD(READY) "]", NULL, NULL);
}

static void no_node(void **state)
{
    (void)state;
    check(
        "[" POD(UNSCHEDULABLE("0/3 nodes are available: 1 node(s) had taint {a: }, 2 Insufficient cpu.")) "]",
        NULL,
        SAYS("REVISION_UNSCHEDULABLE", "scheduling", "UNSCHEDULABLE",
             "No node takes the gateway Pod gateway-x: 0/3 nodes are available: 1 node(s) had taint {a: }, 2 "
             "Insufficient cpu."));
    check("[" POD(UNSCHEDULABLE(
              "0/1 nodes are available: 1 pod has unbound immediate PersistentVolumeClaims.")) "]",
          NULL, SAYS("REVISION_UNSCHEDULABLE", "volume", "CLAIM_UNBOUND", "unbound immediate"));
    check("[" POD(UNSCHEDULABLE("persistentvolumeclaim \\\"gateway-state-1\\\" not found")) "]", NULL,
          SAYS("REVISION_UNSCHEDULABLE", "volume", "CLAIM_UNBOUND", "\"gateway-state-1\" not found"));
}

/* The words of a cluster are one line, and no page. */
static void words_are_bounded(void **state)
{
    TALLOC_CTX *context = talloc_new(NULL);
    char *much = mem_text(context, "0/9:\\n");

    (void)state;
    for (int i = 0; i < 60; i++)
        much = mem_append(much, " 1 node(s)\\u001b");
    check(mem_format(context, "[{%s,\"status\":{%s}}]", METADATA("gateway-x", "rev_1"),
                     mem_format(context, UNSCHEDULABLE("%s"), much)),
          NULL, SAYS("REVISION_UNSCHEDULABLE", "scheduling", "UNSCHEDULABLE", "0/9:  1 node(s)  1 node(s)"));
    check(mem_format(context, "[{%s,\"status\":{%s}}]", METADATA("gateway-x", "rev_1"),
                     mem_format(context, UNSCHEDULABLE("%s"), much)),
          NULL, SAYS("REVISION_UNSCHEDULABLE", "scheduling", "UNSCHEDULABLE", "..."));
    talloc_free(context);
}

static void no_image(void **state)
{
    static const struct {
        const char *pod;
        const char *failure;
    } cases[] = {
        {"[" POD(WAITING("ErrImagePull", "rpc error: https://r.example/?sig=abc")) "]", "ERR_IMAGE_PULL"},
        {"[" POD(WAITING("ImagePullBackOff", "Back-off pulling image")) "]", "IMAGE_PULL_BACK_OFF"},
        {"[" POD(WAITING("InvalidImageName", "couldn't parse image reference")) "]", "INVALID_IMAGE_NAME"},
        {"[" POD(WAITING("ErrImageNeverPull", "not present")) "]", "ERR_IMAGE_NEVER_PULL"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check(cases[i].pod, NULL,
              SAYS("REVISION_IMAGE_UNAVAILABLE", "image", cases[i].failure, "): r.example/g@sha256:1"));
}

static void no_container(void **state)
{
    (void)state;
    check("[" POD(WAITING("CreateContainerConfigError", "secret \\\"harness-secrets-1-2\\\" not found")) "]",
          NULL,
          SAYS("REVISION_CONTAINER_INVALID", "container", "CREATE_CONTAINER_CONFIG_ERROR",
               "the container gateway of the gateway Pod gateway-x (CreateContainerConfigError): secret "
               "\"harness-secrets-1-2\" not found"));
    check("[" POD(WAITING("RunContainerError", "exec: no such file")) "]", NULL,
          SAYS("REVISION_CONTAINER_INVALID", "container", "RUN_CONTAINER_ERROR", "no such file"));
}

static void crashes(void **state)
{
    (void)state;
    check(
        "[" POD(CRASHED("OOMKilled", "137")) "]", NULL,
        SAYS("REVISION_CRASHING", "container", "OOM_KILLED_137", "ends: OOMKilled, status 137, 4 restarts"));
    check("[" POD(CRASHED("Error", "3")) "]", NULL,
          SAYS("REVISION_CRASHING", "container", "ERROR_3", "ends: Error, status 3, 4 restarts"));
    check("[" POD(CRASHED("Completed", "0")) "]", NULL,
          SAYS("REVISION_CRASHING", "container", "COMPLETED_0", "ends: Completed, status 0"));
    /* The moment of the exit, and the one of the next try. */
    check("[" POD(CONTAINER("\"restartCount\":0,\"lastState\":{},\"state\":" EXIT("Error", "1"))) "]", NULL,
          SAYS("REVISION_CRASHING", "container", "ERROR_1", "status 1, 0 restarts"));
    check("[" POD(CONTAINER(
              "\"started\":true,\"restartCount\":1,\"lastState\":" EXIT("Error", "2") ",\"state\":{"
                                                                                      "\"running\":{}}")) "]",
          NULL, SAYS("REVISION_CRASHING", "container", "ERROR_2", "status 2, 1 restarts"));
}

static void probes(void **state)
{
    (void)state;
    check("[" POD(CONTAINER(
              "\"started\":true,\"restartCount\":0,\"lastState\":{},\"state\":{\"running\":{}}")) "]",
          NULL,
          SAYS("REVISION_PROBE_FAILING", "readiness-probe", "PROBE_FAILING", "its readiness-probe does not"));
    check("[" POD(CONTAINER(
              "\"started\":false,\"restartCount\":0,\"lastState\":{},\"state\":{\"running\":{}}")) "]",
          NULL,
          SAYS("REVISION_PROBE_FAILING", "startup-probe", "PROBE_FAILING", "its startup-probe does not"));
    /* For its first ten seconds it starts. */
    check("[" POD(RUNNING_SINCE("1970-01-01T00:00:00Z")) "]", NULL,
          SAYS("REVISION_INCOMPLETE", "readiness-probe", "STARTING", "its readiness-probe does not"));
    check("[" POD(RUNNING_SINCE("1969-12-31T23:59:50Z")) "]", NULL,
          SAYS("REVISION_PROBE_FAILING", "readiness-probe", "PROBE_FAILING", "does not succeed"));
    check("[" POD(RUNNING_SINCE("yesterday")) "]", NULL,
          SAYS("REVISION_PROBE_FAILING", "readiness-probe", "PROBE_FAILING", "does not succeed"));
}

static void starts(void **state)
{
    (void)state;
    check("[" POD(WAITING("ContainerCreating", "")) "]", NULL,
          SAYS("REVISION_INCOMPLETE", "container", "CONTAINER_CREATING", "starts: ContainerCreating"));
    check("[" POD("\"phase\":\"Pending\"") "]", NULL,
          SAYS("REVISION_INCOMPLETE", "pods", "POD_NOT_READY", "is not ready yet"));
    check("[" POD(NOT_READY "\"initContainerStatuses\":[{\"name\":\"first\",\"ready\":true,\"state\":" EXIT(
              "Completed", "0") "},{\"name\":\"second\",\"ready\":false,\"state\":{\"running\":{}}}]") "]",
          NULL, SAYS("REVISION_INCOMPLETE", "container", "STARTING", "The container second of the"));
    check("[" POD(NOT_READY
                  "\"initContainerStatuses\":[{\"name\":\"first\",\"ready\":false,\"restartCount\":2,"
                  "\"state\":" EXIT("Error", "9") "}]") "]",
          NULL, SAYS("REVISION_CRASHING", "container", "ERROR_9", "The container first of the"));
    /* A node that is lost, or a readiness gate. */
    check("[" POD(
              "\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}],"
              "\"containerStatuses\":[{\"name\":\"gateway\",\"ready\":true,\"state\":{\"running\":{}}}]") "]",
          NULL, SAYS("REVISION_INCOMPLETE", "pods", "POD_NOT_READY", "is not ready yet"));
}

static void rivals(void **state)
{
    (void)state;
    check("[" POD(READY) ",{" TERMINATING("gateway-old", "rev_0") ",\"status\":{" READY "}}]", NULL,
          SAYS("REVISION_INCOMPLETE", "pods", "RIVAL_TERMINATING", "gateway-old of rev_0"));
    check("[" POD(READY) ",{" METADATA("gateway-two", "rev_1") ",\"status\":{" READY "}}]", NULL,
          SAYS("REVISION_INCOMPLETE", "pods", "RIVAL_RUNNING", "gateway-two of rev_1"));
    check("[{" METADATA("gateway-old", "rev_0") ",\"status\":{" READY "}}]", NULL,
          SAYS("REVISION_INCOMPLETE", "pods", "RIVAL_RUNNING", "gateway-old of rev_0"));
    /* Our own one that is going is not the one either. */
    check("[{" TERMINATING("gateway-x", "rev_1") ",\"status\":{" READY "}}]", NULL,
          SAYS("REVISION_INCOMPLETE", "pods", "RIVAL_TERMINATING", "gateway-x"));
}

/* What was evicted lingers until somebody deletes it, and holds nothing. */
static void the_ended_do_not_count(void **state)
{
    (void)state;
    check("[{" METADATA("gateway-evicted", "rev_1") ",\"status\":{\"phase\":\"Failed\",\"reason\":"
                                                    "\"Evicted\"}}," POD(READY) ",{" TERMINATING(
                                                        "gateway-done",
                                                        "rev_0") ",\"status\":{\"phase\":\"Succeeded\"}}]",
          NULL, NULL);
    check("[{" METADATA("gateway-evicted", "rev_1") ",\"status\":{\"phase\":\"Failed\"}}]", "{}",
          SAYS("REVISION_INCOMPLETE", "pods", "NO_POD", "There is no gateway Pod yet"));
}

/* K84 */
static void refused_pods(void **state)
{
    (void)state;
    check("[]", NULL,
          SAYS("REVISION_INCOMPLETE", "pods", "NO_DEPLOYMENT", "no Deployment that would make one"));
    check("[]", "{\"status\":{\"conditions\":[{\"type\":\"ReplicaFailure\",\"status\":\"False\"}]}}",
          SAYS("REVISION_INCOMPLETE", "pods", "NO_POD", "There is no gateway Pod yet"));
    check(
        "[]",
        REFUSED("pods \\\"gateway-x\\\" is forbidden: exceeded quota: openclaw, requested: pods=1, used: "
                "pods=10, "
                "limited: pods=10"),
        SAYS("REVISION_QUOTA_EXCEEDED", "admission", "QUOTA_EXCEEDED",
             "refuses the gateway Pod: exceeded quota: openclaw, requested: pods=1, used: pods=10, limited: "
             "pods=10"));
    check("[]",
          REFUSED("pods \\\"gateway-x\\\" is forbidden: violates PodSecurity \\\"restricted:latest\\\": "
                  "allowPrivilegeEscalation != false"),
          SAYS("REVISION_POD_REJECTED", "admission", "POD_SECURITY_VIOLATED",
               "Pod: violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false"));
    check("[]", REFUSED("pods \\\"gateway-x\\\" is forbidden: error looking up service account"),
          SAYS("REVISION_POD_REJECTED", "admission", "FAILED_CREATE", "error looking up service account"));
}

static void reasons_as_codes(void **state)
{
    static const char *const cases[][2] = {
        {"OOMKilled", "OOM_KILLED"},
        {"ImagePullBackOff", "IMAGE_PULL_BACK_OFF"},
        {"Error", "ERROR"},
        {"StartError", "START_ERROR"},
        {"", ""},
        {"a-b c", "ABC"},
        {"X", "X"},
        {"ContainerStatusUnknown", "CONTAINER_STATUS_UNKNOWN"},
    };
    char code[FAULT_CODE_SIZE];
    char large[300];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        kubernetes_reason_code(cases[i][0], code);
        assert_string_equal(code, cases[i][1]);
    }
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = i % 2 ? 'a' : 'B';
    large[sizeof large - 1] = '\0';
    kubernetes_reason_code(large, code);
    assert_in_range(strlen(code), 60, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ready_pod),
        cmocka_unit_test(no_node),
        cmocka_unit_test(words_are_bounded),
        cmocka_unit_test(no_image),
        cmocka_unit_test(no_container),
        cmocka_unit_test(crashes),
        cmocka_unit_test(probes),
        cmocka_unit_test(starts),
        cmocka_unit_test(rivals),
        cmocka_unit_test(the_ended_do_not_count),
        cmocka_unit_test(refused_pods),
        cmocka_unit_test(reasons_as_codes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
