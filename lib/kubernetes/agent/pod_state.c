/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/pod_state.h"

#include "lib/base/text.h"
#include "lib/kubernetes/object/owner.h"

#include <ctype.h>
#include <time.h>

#define WORDS_SIZE 201 /* of the cluster's own words in a message */
/* A container that runs and is not ready only starts, as long as it is younger; by then most are ready. */
#define STARTING_MS 10000

/* ---- Words */

void kubernetes_reason_code(const char *reason, char code[FAULT_CODE_SIZE])
{
    size_t length = 0;

    for (const char *at = reason; *at && length + 2 < FAULT_CODE_SIZE; at++) {
        bool upper = isupper((unsigned char)*at);
        bool after_lower = at > reason && !isupper((unsigned char)at[-1]);
        bool before_lower = at > reason && islower((unsigned char)at[1]);

        if (!isalnum((unsigned char)*at))
            continue;
        if (upper && (after_lower || before_lower) && length > 0)
            code[length++] = '_';
        code[length++] = (char)toupper((unsigned char)*at);
    }
    code[length] = '\0';
}

static const char *or_none(const char *text)
{
    return text ? text : "";
}

/* The cluster's own words, on one line and cut; "" where there are none. `from` is where they begin to tell
 * something. */
static void words_of(const char *message, const char *from, char words[WORDS_SIZE])
{
    const char *begin = message && from ? strstr(message, from) : NULL;

    if (!text_copy(words, WORDS_SIZE, begin ? begin : message))
        memcpy(words + WORDS_SIZE - 4, "...", 4);
    text_make_line(words);
}

/* ---- What is told */

struct telling {
    const struct kubernetes_pods *pods;
    struct compute_failure *failure;
    struct fault *fault;
};

static void fail(const struct telling *telling, const char *check, const char *reason)
{
    struct compute_failure *failure = telling->failure;

    memset(failure, 0, sizeof *failure);
    (void)text_copy(failure->component, sizeof failure->component, telling->pods->component);
    (void)text_copy(failure->check, sizeof failure->check, check);
    kubernetes_reason_code(reason, failure->code);
    failure->checked_at_ms = telling->pods->checked_at_ms;
}

/* ---- Pods */

/* Nothing of it runs any more, though it lingers. */
static bool has_ended(const cJSON *pod)
{
    const char *phase = json_text(json_object(pod, "status"), "phase");

    return phase && (text_equal(phase, "Failed") || text_equal(phase, "Succeeded"));
}

const cJSON *kubernetes_pod_of(const cJSON *list, const char *revision_id, bool others)
{
    const cJSON *pod;

    cJSON_ArrayForEach(pod, list)
    {
        bool same = !revision_id ||
                    text_equal(or_none(kubernetes_label(pod, KUBERNETES_LABEL_REVISION)), revision_id);

        if (same != others && !has_ended(pod))
            return pod;
    }
    return NULL;
}

/* ---- Containers */

/* A reason why a container waits, and what it means. */
struct wait_reason {
    const char *reason;
    const char *code;
    const char *check;
    bool told; /* the node's words say more */
};

static const struct wait_reason wait_reasons[] = {
    {"ErrImagePull", "REVISION_IMAGE_UNAVAILABLE", "image", false},
    {"ImagePullBackOff", "REVISION_IMAGE_UNAVAILABLE", "image", false},
    {"InvalidImageName", "REVISION_IMAGE_UNAVAILABLE", "image", false},
    {"ErrImageNeverPull", "REVISION_IMAGE_UNAVAILABLE", "image", false},
    {"ImageInspectError", "REVISION_IMAGE_UNAVAILABLE", "image", false},
    {"RegistryUnavailable", "REVISION_IMAGE_UNAVAILABLE", "image", false},
    {"SignatureValidationFailed", "REVISION_IMAGE_UNAVAILABLE", "image", false},
    {"CreateContainerConfigError", "REVISION_CONTAINER_INVALID", "container", true},
    {"CreateContainerError", "REVISION_CONTAINER_INVALID", "container", true},
    {"RunContainerError", "REVISION_CONTAINER_INVALID", "container", true},
    {"PreCreateHookError", "REVISION_CONTAINER_INVALID", "container", true},
    {"PreStartHookError", "REVISION_CONTAINER_INVALID", "container", true},
    {"PostStartHookError", "REVISION_CONTAINER_INVALID", "container", true},
};

static bool tell_exit(const struct telling *telling, const cJSON *pod, const cJSON *container,
                      const cJSON *ended)
{
    const char *reason = json_text(ended, "reason");
    int64_t status = 0, restarts = 0;
    char code[FAULT_CODE_SIZE];
    char number[24];

    (void)json_number(ended, "exitCode", &status);
    (void)json_number(container, "restartCount", &restarts);
    reason = reason ? reason : "Ended";
    fail(telling, "container", reason);
    (void)text_copy(code, sizeof code - sizeof number, telling->failure->code);
    (void)snprintf(number, sizeof number, "_%lld", (long long)status);
    (void)snprintf(telling->failure->code, sizeof telling->failure->code, "%.40s%s", code, number);
    return fault_set(telling->fault, FAULT_PENDING, "REVISION_CRASHING",
                     "The container %.63s of the %s Pod %.253s ends: %.40s, status %lld, %lld restarts",
                     or_none(json_text(container, "name")), telling->pods->component, kubernetes_name(pod),
                     reason, (long long)status, (long long)restarts);
}

static bool tell_wait(const struct telling *telling, const cJSON *pod, const cJSON *container,
                      const struct wait_reason *known, const cJSON *waiting)
{
    const char *name = or_none(json_text(container, "name"));
    char words[WORDS_SIZE];

    fail(telling, known->check, known->reason);
    if (!known->told)
        return fault_set(telling->fault, FAULT_PENDING, known->code,
                         "The node cannot get the image of the container %.63s of the %s Pod %.253s (%s): "
                         "%.120s",
                         name, telling->pods->component, kubernetes_name(pod), known->reason,
                         or_none(json_text(container, "image")));
    words_of(json_text(waiting, "message"), NULL, words);
    return fault_set(telling->fault, FAULT_PENDING, known->code,
                     "The node cannot make the container %.63s of the %s Pod %.253s (%s)%s%s", name,
                     telling->pods->component, kubernetes_name(pod), known->reason, words[0] ? ": " : "",
                     words);
}

/* When a container began to run, by the node's clock (Time of v1: RFC 3339 in UTC, whole seconds). One that
 * does not say so began long ago. */
static bool began_just_now(const struct telling *telling, const cJSON *running)
{
    const char *text = json_text(running, "startedAt");
    struct tm parts = {0};
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;

    return end && *end == '\0' && telling->pods->checked_at_ms < (int64_t)timegm(&parts) * 1000 + STARTING_MS;
}

/* A code of its own, so that what was written of the start does not stand for what is wrong afterwards. */
static bool tell_probe(const struct telling *telling, const cJSON *pod, const cJSON *container,
                       const cJSON *running)
{
    const bool starts = began_just_now(telling, running);
    bool started = true;
    const char *probe;

    (void)json_boolean(container, "started", &started);
    probe = started ? "readiness-probe" : "startup-probe";
    fail(telling, probe, starts ? "Starting" : "ProbeFailing");
    return fault_set(telling->fault, FAULT_PENDING, starts ? "REVISION_INCOMPLETE" : "REVISION_PROBE_FAILING",
                     "The container %.63s of the %s Pod %.253s runs and its %s does not succeed yet",
                     or_none(json_text(container, "name")), telling->pods->component, kubernetes_name(pod),
                     probe);
}

/* False, with what is wrong, where the container is not as it should be. A Pod's first containers (`init`)
 * should have ended well. */
static bool look_at_container(const struct telling *telling, const cJSON *pod, const cJSON *container,
                              bool init)
{
    const cJSON *state = json_object(container, "state");
    const cJSON *waiting = json_object(state, "waiting");
    const cJSON *ended = json_object(state, "terminated");
    const cJSON *before = json_object(json_object(container, "lastState"), "terminated");
    const char *reason = or_none(json_text(waiting, "reason"));
    int64_t status = -1;
    bool ready = false;

    (void)json_boolean(container, "ready", &ready);
    if (ended && json_number(ended, "exitCode", &status) && status == 0 && init)
        return true;
    if (ready)
        return true;
    for (size_t i = 0; i < COUNT_OF(wait_reasons); i++) {
        if (text_equal(wait_reasons[i].reason, reason))
            return tell_wait(telling, pod, container, &wait_reasons[i], waiting);
    }
    /* Between two crashes it runs for a moment, and says so. */
    if (ended || before)
        return tell_exit(telling, pod, container, ended ? ended : before);
    if (json_object(state, "running") && !init)
        return tell_probe(telling, pod, container, json_object(state, "running"));
    fail(telling, "container", reason[0] ? reason : "Starting");
    return fault_set(telling->fault, FAULT_PENDING, "REVISION_INCOMPLETE",
                     "The container %.63s of the %s Pod %.253s starts%s%.60s",
                     or_none(json_text(container, "name")), telling->pods->component, kubernetes_name(pod),
                     reason[0] ? ": " : "", reason);
}

static bool look_at_containers(const struct telling *telling, const cJSON *pod, const char *statuses)
{
    const cJSON *container;

    cJSON_ArrayForEach(container, json_array(json_object(pod, "status"), statuses))
    {
        if (!look_at_container(telling, pod, container, text_equal(statuses, "initContainerStatuses")))
            return false;
    }
    return true;
}

/* ---- One Pod */

static bool is_about_claim(const char *message)
{
    return strstr(message, "persistentvolumeclaim") || strstr(message, "PersistentVolumeClaim") ||
           strstr(message, "volume node affinity") || strstr(message, "persistent volumes to bind");
}

static bool tell_unscheduled(const struct telling *telling, const cJSON *pod, const cJSON *scheduled)
{
    const char *message = or_none(json_text(scheduled, "message"));
    char words[WORDS_SIZE];

    if (is_about_claim(message))
        fail(telling, "volume", "ClaimUnbound");
    else
        fail(telling, "scheduling", "Unschedulable");
    words_of(message, NULL, words);
    return fault_set(telling->fault, FAULT_PENDING, "REVISION_UNSCHEDULABLE",
                     "No node takes the %s Pod %.253s%s%s", telling->pods->component, kubernetes_name(pod),
                     words[0] ? ": " : "", words);
}

static bool is_unschedulable(const cJSON *condition)
{
    const char *status = json_text(condition, "status");
    const char *reason = json_text(condition, "reason");

    return status && reason && text_equal(status, "False") && text_equal(reason, "Unschedulable");
}

static bool look_at_pod(const struct telling *telling, const cJSON *pod)
{
    const cJSON *scheduled = kubernetes_condition(pod, "PodScheduled");

    if (kubernetes_condition_is_true(pod, "Ready"))
        return true;
    if (is_unschedulable(scheduled))
        return tell_unscheduled(telling, pod, scheduled);
    if (!look_at_containers(telling, pod, "initContainerStatuses") ||
        !look_at_containers(telling, pod, "containerStatuses"))
        return false;
    /* All containers are ready and the Pod is not: its node is lost, or something else must agree. */
    fail(telling, "pods", "PodNotReady");
    return fault_set(telling->fault, FAULT_PENDING, "REVISION_INCOMPLETE",
                     "The %s Pod %.253s is not ready yet", telling->pods->component, kubernetes_name(pod));
}

/* ---- All of them */

static bool tell_rival(const struct telling *telling, const cJSON *rival)
{
    bool ends = kubernetes_is_terminating(rival);

    fail(telling, "pods", ends ? "RivalTerminating" : "RivalRunning");
    return fault_set(telling->fault, FAULT_PENDING, "REVISION_INCOMPLETE",
                     "Another %s Pod of the Agent %s: %.253s of %.60s", telling->pods->component,
                     ends ? "has not ended yet" : "runs", kubernetes_name(rival),
                     or_none(kubernetes_label(rival, KUBERNETES_LABEL_REVISION)));
}

/* Why the Deployment has made no Pod. An admission's refusal stands in a condition of it (apps/v1,
 * DeploymentReplicaFailure), in the words that the Pod's creation was answered with. */
static bool tell_no_pod(const struct telling *telling)
{
    const cJSON *deployment = telling->pods->deployment;
    const cJSON *refusal = kubernetes_condition(deployment, "ReplicaFailure");
    const char *message = or_none(json_text(refusal, "message"));
    char words[WORDS_SIZE];

    if (!deployment || !kubernetes_condition_is_true(deployment, "ReplicaFailure")) {
        fail(telling, "pods", deployment ? "NoPod" : "NoDeployment");
        return fault_set(telling->fault, FAULT_PENDING, "REVISION_INCOMPLETE", "There is no %s Pod yet%s",
                         telling->pods->component,
                         deployment ? "" : ", and no Deployment that would make one");
    }
    if (strstr(message, "exceeded quota")) {
        words_of(message, "exceeded quota", words);
        fail(telling, "admission", "QuotaExceeded");
        return fault_set(telling->fault, FAULT_PENDING, "REVISION_QUOTA_EXCEEDED",
                         "The cluster refuses the %s Pod: %s", telling->pods->component, words);
    }
    fail(telling, "admission",
         strstr(message, "violates PodSecurity") ? "PodSecurityViolated"
                                                 : or_none(json_text(refusal, "reason")));
    words_of(message, "violates PodSecurity", words);
    return fault_set(telling->fault, FAULT_PENDING, "REVISION_POD_REJECTED",
                     "The cluster refuses the %s Pod: %s", telling->pods->component, words);
}

bool kubernetes_pods_are_ready(const struct kubernetes_pods *pods, const cJSON **pod,
                               struct compute_failure *failure, struct fault *fault)
{
    const struct telling telling = {pods, failure, fault};
    const cJSON *rival = NULL, *own = NULL, *each;

    cJSON_ArrayForEach(each, pods->list)
    {
        bool ours = text_equal(or_none(kubernetes_label(each, KUBERNETES_LABEL_REVISION)), pods->revision_id);

        if (has_ended(each))
            continue;
        if (ours && !own && !kubernetes_is_terminating(each))
            own = each;
        else
            rival = each;
    }
    /* A rival holds what ours waits for (the claim, the quota), so it is the better reason. */
    if (rival)
        return tell_rival(&telling, rival);
    if (!own)
        return tell_no_pod(&telling);
    if (!look_at_pod(&telling, own))
        return false;
    *pod = own;
    return true;
}
