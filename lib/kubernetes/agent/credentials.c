/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/agent/task.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/driver/secret.h"
#include "lib/kubernetes/object/value.h"

#include <sodium.h>

#define RANDOM_BYTES 32

/* ---- Secrets as objects */

/* A Secret with what `values` has as its "data", which is wiped. */
static bool ensure(struct kubernetes_task *task, const char *space, const char *name, bool revision,
                   cJSON *values, bool keep, const cJSON **live, struct fault *fault)
{
    struct kubernetes_wanted wanted =
        kubernetes_intend_secret(task->call->memory, &task->topology, space, name, revision,
                                 cJSON_GetObjectItemCaseSensitive(values, "data"));
    const cJSON *there = NULL;
    bool done;

    wanted.keep = keep;
    done = kubernetes_task_ensure(task, &wanted, &there, fault);
    kubernetes_values_wipe(wanted.intent);
    kubernetes_values_wipe(values);
    if (!done)
        return false;
    if (live)
        *live = there;
    else
        kubernetes_values_wipe(there);
    return true;
}

/* ---- What gateway and Harness authenticate with */

static const struct secret *generate(const void *context)
{
    unsigned char bytes[RANDOM_BYTES];
    char text[sodium_base64_ENCODED_LEN(RANDOM_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING)];
    const struct secret *made;

    if (sodium_init() < 0)
        abort(); /* the kernel has no random numbers: nothing may be made up instead */
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2base64(text, sizeof text, bytes, sizeof bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    made = secret_new(context, text, strlen(text));
    secret_wipe(bytes, sizeof bytes);
    secret_wipe(text, sizeof text);
    return made;
}

/* The gateway's claim comes after these Secrets, so that where there is one, in either namespace, there were
 * Secrets as well. It counts, and not the revision's number: a first revision that was refused made nothing.
 */
static bool is_untouched(struct kubernetes_task *task, bool *untouched, struct fault *fault)
{
    const char *spaces[] = {task->tenant.data, task->tenant.gateways};
    const struct kubernetes_owner owner = kubernetes_agent_owner(&task->topology, NULL);
    const cJSON *claim;

    *untouched = true;
    for (size_t i = 0; *untouched && i < COUNT_OF(spaces); i++) {
        const struct kubernetes_reference reference = {
            &kubernetes_claim, spaces[i],
            kubernetes_of_agent(task->call->memory, KUBERNETES_GATEWAY_STATE, &task->topology)};

        if (!kubernetes_get(task->compute->client, task->call, &reference, &claim, fault))
            return false;
        *untouched = !claim || kubernetes_owner_mismatch(claim, &owner);
    }
    return true;
}

static bool is_missing(const struct kubernetes_reference *reference, const char *what, struct fault *fault)
{
    return fault_set(
        fault, FAULT_PERMANENT, "KUBERNETES_TRANSPORT_SECRET_MISSING",
        "The Secret %s/%s, which was made before the Agent's first revision, %s: put it back, or "
        "delete the Agent",
        reference->space, reference->name, what);
}

static bool make_value(struct kubernetes_task *task, const struct kubernetes_reference *reference,
                       const char *key, const cJSON **live, struct fault *fault)
{
    cJSON *values = json_new_object(task->call->memory);

    kubernetes_value_add(json_add_object(values, "data"), key, generate(task->call->memory));
    return ensure(task, reference->space, reference->name, false, values, true, live, fault);
}

/* One of the Agent's own values, which are in the gateways' namespace: read, or made. */
static bool find_value(struct kubernetes_task *task, const char *what, const char *key,
                       const struct secret **value, struct fault *fault)
{
    const void *memory = task->call->memory;
    const struct kubernetes_owner owner = kubernetes_agent_owner(&task->topology, NULL);
    const struct kubernetes_reference reference = {&kubernetes_secret, task->tenant.gateways,
                                                   kubernetes_of_agent(memory, what, &task->topology)};
    const cJSON *live;
    bool untouched = false;

    if (!kubernetes_get(task->compute->client, task->call, &reference, &live, fault))
        return false;
    if (!live) {
        if (!is_untouched(task, &untouched, fault))
            return false;
        if (!untouched)
            return is_missing(&reference, "is not there", fault);
        if (!make_value(task, &reference, key, &live, fault))
            return false;
    }
    if (!kubernetes_owner_check(live, &reference, &owner, fault)) {
        kubernetes_values_wipe(live);
        return false;
    }
    *value = kubernetes_value_read(memory, live, key);
    kubernetes_values_wipe(live);
    if (!*value || secret_length(*value) == 0)
        return is_missing(&reference, "has no such entry", fault);
    return true;
}

/* An embedded gateway is in the data namespace, where it gets a copy of its password. */
static bool copy_password(struct kubernetes_task *task, const struct secret *password, struct fault *fault)
{
    const void *memory = task->call->memory;
    cJSON *values = json_new_object(memory);

    kubernetes_value_add(json_add_object(values, "data"), KUBERNETES_KEY_PASSWORD, password);
    return ensure(task, task->tenant.data,
                  kubernetes_of_agent(memory, KUBERNETES_GATEWAY_PASSWORD, &task->topology), false, values,
                  false, NULL, fault);
}

bool kubernetes_provide_transport(struct kubernetes_task *task, struct fault *fault)
{
    const struct secret *password;

    return find_value(task, task->compute->settings->transport_secret_prefix, KUBERNETES_KEY_APP_SERVER_TOKEN,
                      &task->token, fault) &&
           find_value(task, KUBERNETES_GATEWAY_PASSWORD, KUBERNETES_KEY_PASSWORD, &password, fault) &&
           (task->topology.dedicated || copy_password(task, password, fault));
}

/* ---- The revision's */

/* Reads a value of the platform. A value that is not there does not come by waiting, and is told by the word
 * of who needs it. */
static bool read_value(struct kubernetes_task *task, const struct secret_place *place, const char *code,
                       const char *whose, const struct secret **value, struct fault *fault)
{
    const struct secret_driver *secrets = task->call->secrets;
    struct fault told;

    if (!secrets || !place)
        return fault_set(fault, FAULT_PERMANENT, code, "%s cannot be read: %s", whose,
                         secrets ? "its Secret is gone" : "this worker has no Secret Driver");
    if (!text_equal(place->driver_id, secrets->id))
        return fault_set(fault, FAULT_PERMANENT, "SECRET_DRIVER_MISMATCH",
                         "%s is kept by the Secret Driver %.60s, and this worker has %.60s", whose,
                         place->driver_id, secrets->id);
    if (secrets->operations->read(secrets->self, task->call, place, value, fault)) {
        if (secret_length(*value) > 0)
            return true;
        return fault_set(fault, FAULT_PERMANENT, code, "%s cannot be used: the Secret %.60s is empty", whose,
                         place->secret_id);
    }
    if (!fault_is(fault, "SECRET_VALUE_MISSING"))
        return false;
    told = *fault;
    return fault_set(fault, FAULT_PERMANENT, code, "%s cannot be read: the Secret %.60s has no value. %s",
                     whose, place->secret_id, told.message);
}

static bool provide_credential(struct kubernetes_task *task, struct fault *fault)
{
    const void *memory = task->call->memory;
    cJSON *values = json_new_object(memory);
    cJSON *data = json_add_object(values, "data");
    const struct secret *credential;

    if (!read_value(task, task->revision->harness_secret, "HARNESS_AUTH_SOURCE_UNAVAILABLE",
                    "What the Harness authenticates with", &credential, fault))
        return false;
    kubernetes_value_add(data, KUBERNETES_KEY_MODEL_CREDENTIAL, credential);
    if (task->topology.dedicated)
        kubernetes_value_add(data, KUBERNETES_KEY_APP_SERVER_TOKEN, task->token);
    return ensure(task, task->tenant.data,
                  kubernetes_of_revision(memory, KUBERNETES_HARNESS_SECRETS, &task->topology), true, values,
                  false, NULL, fault);
}

static bool provide_bindings(struct kubernetes_task *task, struct fault *fault)
{
    const struct subject_revision *revision = task->revision;
    const void *memory = task->call->memory;
    cJSON *values = json_new_object(memory);
    cJSON *data = json_add_object(values, "data");

    if (revision->binding_count == 0)
        return true;
    for (size_t i = 0; i < revision->binding_count; i++) {
        const struct subject_binding *binding = &revision->bindings[i];
        const struct secret *value;

        if (!read_value(task, &binding->place, "SECRET_SOURCE_UNAVAILABLE",
                        mem_format(memory, "What the Configuration binds as %.100s", binding->name), &value,
                        fault)) {
            kubernetes_values_wipe(values);
            return false;
        }
        kubernetes_value_add(data, binding->name, value);
    }
    return ensure(task, task->tenant.data,
                  kubernetes_of_revision(memory, KUBERNETES_HARNESS_BINDINGS, &task->topology), true, values,
                  false, NULL, fault);
}

bool kubernetes_provide_secrets(struct kubernetes_task *task, struct fault *fault)
{
    return provide_credential(task, fault) && provide_bindings(task, fault);
}
