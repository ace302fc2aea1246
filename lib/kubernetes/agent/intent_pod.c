/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent_pod.h"

#include "lib/base/memory.h"
#include "lib/kubernetes/agent/contract.h"

#define CONFIGURATION_VOLUME "configuration"
#define STATE_VOLUME "state"
#define TEMPORARY_VOLUME "temporary"
#define TOKEN_VOLUME "service-principal"
#define BINDINGS_VOLUME "bindings"

#define PROGRESS_SECONDS 600

const char *const workload_exact[] = {
    "spec.selector",
    "spec.strategy",
    "spec.template.metadata.labels",
    "spec.template.spec.nodeSelector",
    "spec.template.spec.securityContext",
    NULL,
};

void workload_select(cJSON *labels, const struct kubernetes_owner *owner)
{
    json_add_text(labels, KUBERNETES_LABEL_NAMESPACE, owner->namespace_id);
    json_add_text(labels, KUBERNETES_LABEL_AGENT, owner->agent_id);
    if (owner->revision_id)
        json_add_text(labels, KUBERNETES_LABEL_REVISION, owner->revision_id);
    if (owner->role)
        json_add_text(labels, KUBERNETES_LABEL_ROLE, owner->role);
}

static void forbid(cJSON *object, const char *name)
{
    json_add_text(object, name, NULL);
}

/* ---- Security (Kubernetes, "Pod Security Standards", restricted) */

static void add_pod_security(cJSON *pod, const struct workload *workload)
{
    cJSON *security = json_add_object(pod, "securityContext"), *profile;

    json_add_boolean(security, "runAsNonRoot", true);
    json_add_number(security, "runAsUser", RUNTIME_USER);
    json_add_number(security, "runAsGroup", RUNTIME_USER);
    json_add_number(security, "fsGroup", RUNTIME_USER);
    /* Without it every start walks over all that a claim of 40 Gi holds. */
    json_add_text(security, "fsGroupChangePolicy", "OnRootMismatch");
    profile = json_add_object(security, "seccompProfile");
    json_add_text(profile, "type", workload->seccomp_profile ? "Localhost" : "RuntimeDefault");
    if (workload->seccomp_profile)
        json_add_text(profile, "localhostProfile", workload->seccomp_profile);
    json_add_boolean(pod, "automountServiceAccountToken", false);
    json_add_boolean(pod, "enableServiceLinks", false);
    forbid(pod, "hostNetwork");
    forbid(pod, "hostPID");
    forbid(pod, "hostIPC");
    forbid(pod, "shareProcessNamespace");
    forbid(pod, "initContainers");
}

static void add_container_security(cJSON *container)
{
    cJSON *security = json_add_object(container, "securityContext"), *capabilities;

    json_add_boolean(security, "runAsNonRoot", true);
    json_add_boolean(security, "allowPrivilegeEscalation", false);
    json_add_boolean(security, "readOnlyRootFilesystem", true);
    capabilities = json_add_object(security, "capabilities");
    json_append_text(json_add_array(capabilities, "drop"), "ALL");
    forbid(capabilities, "add");
    forbid(security, "privileged");
    /* What is set here would win over what the Pod says. */
    forbid(security, "runAsUser");
    forbid(security, "runAsGroup");
    forbid(security, "seccompProfile");
}

/* ---- Volumes */

static cJSON *add_volume(cJSON *volumes, const char *name, const char *kind)
{
    cJSON *volume = json_append_object(volumes);

    json_add_text(volume, "name", name);
    return json_add_object(volume, kind);
}

static void add_volumes(const void *context, cJSON *pod, const struct kubernetes_topology *topology,
                        const struct workload *workload)
{
    cJSON *volumes = json_add_array(pod, "volumes"), *source, *item;

    source = add_volume(volumes, CONFIGURATION_VOLUME, "configMap");
    json_add_text(source, "name", kubernetes_of_revision(context, KUBERNETES_SNAPSHOT, topology));
    item = json_append_object(json_add_array(source, "items"));
    json_add_text(item, "key", KUBERNETES_KEY_DOCUMENT);
    json_add_text(item, "path", KUBERNETES_KEY_DOCUMENT);
    source = add_volume(volumes, STATE_VOLUME, "persistentVolumeClaim");
    json_add_text(source, "claimName", workload->claim);
    source = add_volume(volumes, TEMPORARY_VOLUME, "emptyDir");
    json_add_text(source, "sizeLimit", RUNTIME_TEMPORARY_SIZE);
    if (!workload->harness)
        return;
    source = add_volume(volumes, TOKEN_VOLUME, "projected");
    item = json_add_object(json_append_object(json_add_array(source, "sources")), "serviceAccountToken");
    json_add_text(item, "audience", topology->settings->token_audience);
    json_add_number(item, "expirationSeconds", topology->settings->token_expiration_seconds);
    json_add_text(item, "path", RUNTIME_TOKEN);
    if (topology->revision->binding_count > 0) {
        source = add_volume(volumes, BINDINGS_VOLUME, "secret");
        json_add_text(source, "secretName",
                      kubernetes_of_revision(context, KUBERNETES_HARNESS_BINDINGS, topology));
    }
}

static cJSON *add_mount(cJSON *mounts, const char *volume, const char *path)
{
    cJSON *mount = json_append_object(mounts);

    json_add_text(mount, "name", volume);
    json_add_text(mount, "mountPath", path);
    return mount;
}

static void add_mounts(cJSON *container, const struct kubernetes_topology *topology,
                       const struct workload *workload)
{
    cJSON *mounts = json_add_array(container, "volumeMounts"), *mount;

    mount = add_mount(mounts, CONFIGURATION_VOLUME, RUNTIME_DOCUMENT);
    json_add_text(mount, "subPath", KUBERNETES_KEY_DOCUMENT);
    json_add_boolean(mount, "readOnly", true);
    (void)add_mount(mounts, STATE_VOLUME, RUNTIME_STATE_FOLDER);
    (void)add_mount(mounts, TEMPORARY_VOLUME, RUNTIME_TEMPORARY_FOLDER);
    if (!workload->harness)
        return;
    json_add_boolean(add_mount(mounts, TOKEN_VOLUME, RUNTIME_TOKEN_FOLDER), "readOnly", true);
    if (topology->revision->binding_count > 0)
        json_add_boolean(add_mount(mounts, BINDINGS_VOLUME, RUNTIME_BINDINGS_FOLDER), "readOnly", true);
}

/* ---- Probes */

static void add_probe(cJSON *container, const char *name, const char *path, int port, int period,
                      int failures)
{
    cJSON *probe = json_add_object(container, name);
    cJSON *get = json_add_object(probe, "httpGet");

    json_add_text(get, "path", path);
    json_add_number(get, "port", port);
    json_add_number(probe, "periodSeconds", period);
    json_add_number(probe, "timeoutSeconds", 3);
    json_add_number(probe, "failureThreshold", failures);
}

/* Readiness and life are asked in different places: one that waits for its Harness is not started again. */
static void add_probes(cJSON *container, const struct workload *workload)
{
    add_probe(container, "startupProbe", RUNTIME_ALIVE_PATH, workload->port, 1, RUNTIME_START_SECONDS);
    add_probe(container, "readinessProbe", RUNTIME_READY_PATH, workload->port, 2, 3);
    add_probe(container, "livenessProbe", RUNTIME_ALIVE_PATH, workload->port, 10, 3);
}

/* ---- The Pod */

static void add_container(cJSON *pod, const struct kubernetes_topology *topology,
                          const struct workload *workload)
{
    cJSON *container = json_append_object(json_add_array(pod, "containers")), *port;

    json_add_text(container, "name", workload->role);
    json_add_text(container, "image", workload->image);
    json_add_text(container, "imagePullPolicy", "IfNotPresent");
    forbid(container, "command");
    forbid(container, "args");
    forbid(container, "envFrom");
    forbid(container, "lifecycle");
    port = json_append_object(json_add_array(container, "ports"));
    json_add_text(port, "name", workload->port_name);
    json_add_text(port, "protocol", "TCP");
    json_add_number(port, "containerPort", workload->port);
    json_add_copy(container, "env", workload->environment);
    json_add_copy(container, "resources", workload->resources);
    add_container_security(container);
    add_probes(container, workload);
    add_mounts(container, topology, workload);
}

static void add_pod(const void *context, cJSON *pod, const struct kubernetes_topology *topology,
                    const struct workload *workload)
{
    json_add_text(pod, "serviceAccountName", workload->account);
    json_add_number(pod, "terminationGracePeriodSeconds", RUNTIME_GRACE_SECONDS);
    if (cJSON_GetArraySize(workload->node_selector) > 0)
        json_add_copy(pod, "nodeSelector", workload->node_selector);
    else
        forbid(pod, "nodeSelector");
    add_pod_security(pod, workload);
    add_container(pod, topology, workload);
    add_volumes(context, pod, topology, workload);
}

void workload_intend(cJSON *intent, const struct kubernetes_topology *topology,
                     const struct workload *workload, const struct kubernetes_owner *selected,
                     const struct kubernetes_owner *labelled)
{
    TALLOC_CTX *scratch = talloc_new(NULL);
    cJSON *spec = json_add_object(intent, "spec"), *template;

    json_add_number(spec, "replicas", 1);
    json_add_number(spec, "revisionHistoryLimit", 0); /* revisions are kept elsewhere */
    json_add_number(spec, "progressDeadlineSeconds", PROGRESS_SECONDS);
    forbid(spec, "paused");
    /* Two of one Agent at a time would share its claim. */
    json_add_text(json_add_object(spec, "strategy"), "type", "Recreate");
    workload_select(json_add_object(json_add_object(spec, "selector"), "matchLabels"), selected);
    template = json_add_object(spec, "template");
    kubernetes_owner_mark(template, labelled);
    add_pod(scratch, json_add_object(template, "spec"), topology, workload);
    talloc_free(scratch);
}
