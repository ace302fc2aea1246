/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/intent_pod.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/agent/contract.h"

struct environment {
    const void *context;
    const struct kubernetes_topology *topology;
    cJSON *entries;
};

/* A server drops an empty value, and the variable would seem to differ for ever (K119): it is not set. */
static void add(const struct environment *environment, const char *name, const char *value)
{
    cJSON *entry;

    if (text_is_empty(value))
        return;
    entry = json_append_object(environment->entries);
    json_add_text(entry, "name", name);
    json_add_text(entry, "value", value);
}

static void add_number(const struct environment *environment, const char *name, int64_t number)
{
    add(environment, name, mem_format(environment->context, "%lld", (long long)number));
}

static void add_list(const struct environment *environment, const char *name, const cJSON *texts)
{
    char *joined = mem_text(environment->context, "");
    const cJSON *item;

    cJSON_ArrayForEach(item, texts)
    {
        joined = mem_append(joined, "%s%s", *joined ? "," : "", item->valuestring);
    }
    add(environment, name, joined);
}

static void add_secret(const struct environment *environment, const char *name, const char *secret,
                       const char *key)
{
    cJSON *entry = json_append_object(environment->entries), *reference;

    json_add_text(entry, "name", name);
    reference = json_add_object(json_add_object(entry, "valueFrom"), "secretKeyRef");
    json_add_text(reference, "name", secret);
    json_add_text(reference, "key", key);
}

/* ---- Bound Secrets */

/* Kubernetes' variables begin with no digit ("Environment variable names", before 1.34); other names are
 * found as files only. So are those of the contract, which nobody may replace. */
static bool is_variable(const struct environment *environment, const char *name)
{
    const cJSON *entry;

    if (*name >= '0' && *name <= '9')
        return false;
    cJSON_ArrayForEach(entry, environment->entries)
    {
        if (text_equal(json_text(entry, "name"), name))
            return false;
    }
    return true;
}

static void add_bindings(const struct environment *environment)
{
    const struct subject_revision *revision = environment->topology->revision;
    const char *secret;
    size_t index;

    if (revision->binding_count == 0)
        return;
    secret = kubernetes_of_revision(environment->context, KUBERNETES_HARNESS_BINDINGS, environment->topology);
    add(environment, RUNTIME_ENV_BINDINGS, RUNTIME_BINDINGS_FOLDER);
    for (index = 0; index < revision->binding_count; index++) {
        const char *name = revision->bindings[index].name;

        if (is_variable(environment, name))
            add_secret(environment, name, secret, name);
    }
}

/* ---- Parts */

static void add_common(const struct environment *environment, const char *role)
{
    const struct kubernetes_topology *topology = environment->topology;
    const struct subject_revision *revision = topology->revision;

    add(environment, RUNTIME_ENV_HOME, RUNTIME_STATE_FOLDER);
    add(environment, RUNTIME_ENV_TMPDIR, RUNTIME_TEMPORARY_FOLDER);
    add(environment, RUNTIME_ENV_CONFIG_PATH, RUNTIME_DOCUMENT);
    add(environment, RUNTIME_ENV_STATE_DIR, RUNTIME_STATE_FOLDER);
    add(environment, RUNTIME_ENV_ROLE, role);
    add(environment, RUNTIME_ENV_MODE, revision->harness_mode);
    add(environment, RUNTIME_ENV_HARNESS, revision->harness_id);
    add(environment, RUNTIME_ENV_HARNESS_VERSION, revision->harness_version);
    add(environment, RUNTIME_ENV_INSTALLATION, topology->installation_id);
    add(environment, RUNTIME_ENV_NAMESPACE, topology->agent->owner.id);
    add(environment, RUNTIME_ENV_AGENT, topology->agent->id);
    add(environment, RUNTIME_ENV_REVISION, revision->id);
}

/* Last, as a bound Secret never replaces what is told before it. The credential is in the revision's Secret
 * from its preparation on, also where the platform's has gone since. */
static void add_model(const struct environment *environment)
{
    const struct kubernetes_topology *topology = environment->topology;
    const struct subject_revision *revision = topology->revision;
    const cJSON *auth = revision->harness_auth ? json_read(environment->context, revision->harness_auth,
                                                           strlen(revision->harness_auth))
                                               : NULL;

    if (kubernetes_is_native(topology))
        add_number(environment, RUNTIME_ENV_SESSION_CAPACITY, topology->settings->session_capacity);
    add(environment, RUNTIME_ENV_PRINCIPAL, topology->agent->service_principal_id);
    add(environment, RUNTIME_ENV_TOKEN_FILE, RUNTIME_TOKEN_FOLDER "/" RUNTIME_TOKEN);
    add(environment, RUNTIME_ENV_MODEL_METHOD, json_text(auth, "method"));
    add(environment, RUNTIME_ENV_MODEL_ACCOUNT, json_text(auth, "serviceAccountId"));
    add_secret(environment, RUNTIME_ENV_MODEL_CREDENTIAL,
               kubernetes_of_revision(environment->context, KUBERNETES_HARNESS_SECRETS, topology),
               KUBERNETES_KEY_MODEL_CREDENTIAL);
    add_bindings(environment);
}

/* ---- The two containers */

const cJSON *workload_gateway_environment(const void *context, const struct kubernetes_topology *topology)
{
    const struct kubernetes_settings *settings = topology->settings;
    const struct environment environment = {context, topology, json_new_array(context)};

    add_common(&environment, KUBERNETES_ROLE_GATEWAY);
    add_number(&environment, RUNTIME_ENV_GATEWAY_PORT, settings->gateway_port);
    add_list(&environment, RUNTIME_ENV_TRUSTED_PROXIES, settings->trusted_proxy_cidrs);
    add_list(&environment, RUNTIME_ENV_STATUS_SOURCES, settings->plugin_status_cidrs);
    add_secret(&environment, RUNTIME_ENV_GATEWAY_PASSWORD,
               kubernetes_of_agent(context, KUBERNETES_GATEWAY_PASSWORD, topology), KUBERNETES_KEY_PASSWORD);
    if (!topology->dedicated) {
        add_model(&environment);
        return environment.entries;
    }
    add(&environment, RUNTIME_ENV_ENDPOINT,
        topology->harness_endpoint ? topology->harness_endpoint
                                   : mem_format(context, "%s.%s.svc:%d",
                                                kubernetes_of_revision(context, KUBERNETES_HARNESS, topology),
                                                kubernetes_harness_space(topology), KUBERNETES_HARNESS_PORT));
    add_secret(&environment, RUNTIME_ENV_TRANSPORT_TOKEN,
               kubernetes_of_agent(context, settings->transport_secret_prefix, topology),
               KUBERNETES_KEY_APP_SERVER_TOKEN);
    return environment.entries;
}

const cJSON *workload_harness_environment(const void *context, const struct kubernetes_topology *topology)
{
    const struct environment environment = {context, topology, json_new_array(context)};

    add_common(&environment, KUBERNETES_ROLE_AGENT);
    add_number(&environment, RUNTIME_ENV_HARNESS_PORT, KUBERNETES_HARNESS_PORT);
    add_secret(&environment, RUNTIME_ENV_TRANSPORT_TOKEN,
               kubernetes_of_revision(context, KUBERNETES_HARNESS_SECRETS, topology),
               KUBERNETES_KEY_APP_SERVER_TOKEN);
    add_model(&environment);
    return environment.entries;
}
