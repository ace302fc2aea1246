/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "tests/integration/probe_subject.h"

#include "lib/base/memory.h"

#include <sodium.h>

static const char *text_or(const cJSON *object, const char *name, const char *other)
{
    const char *text = json_text(object, name);

    return text ? text : other;
}

static struct secret_place read_place(const cJSON *place)
{
    return (struct secret_place){
        .secret_id = json_text(place, "secretId"),
        .driver_id = json_text(place, "driverId"),
        .namespace_id = json_text(place, "namespaceId"),
        .backend_namespace_name = json_text(place, "backendNamespaceName"),
        .backend_name = json_text(place, "backendName"),
        .backend_key = json_text(place, "backendKey"),
        .backend_uid = json_text(place, "backendUid"),
    };
}

static void read_bindings(const void *memory, const cJSON *list, struct subject_revision *revision)
{
    const size_t count = (size_t)cJSON_GetArraySize(list);
    struct subject_binding *bindings = mem_array(memory, struct subject_binding, count + 1);
    const cJSON *item;

    revision->bindings = bindings;
    cJSON_ArrayForEach(item, list)
    {
        bindings->name = json_text(item, "name");
        bindings->place = read_place(item);
        bindings++;
    }
    revision->binding_count = count;
}

/* Objects within a revision are texts there, as the database has them. */
static const char *written(const void *memory, const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);

    if (cJSON_IsString(member))
        return member->valuestring;
    return member && !cJSON_IsNull(member) ? json_write(memory, member) : NULL;
}

static void read_revision(const void *memory, const cJSON *told, struct probe_subject *subject)
{
    struct subject_revision *revision = &subject->revision;
    const cJSON *harness = json_object(told, "harness");
    const cJSON *secret = json_object(told, "secret");
    struct secret_place *place;

    *revision = (struct subject_revision){
        .agent = &subject->agent,
        .id = json_text(told, "id"),
        .number = 1,
        .configuration_id = text_or(told, "configurationId", "cfg_00000000-0000-4000-8000-000000000000"),
        .configuration_generation = 1,
        .document = written(memory, told, "document"),
        .compute_id = text_or(told, "computeId", "compute-kubernetes"),
        .compute_implementation = text_or(told, "computeImplementation", "kubernetes"),
        .harness_id = text_or(harness, "id", "openclaw"),
        .harness_version = text_or(harness, "version", "1"),
        .harness_mode = text_or(harness, "mode", "embedded"),
        .harness_auth = written(memory, told, "harnessAuth"),
        .secret_driver_id = json_text(told, "secretDriverId"),
        .sandbox_driver_id = json_text(told, "sandboxDriverId"),
    };
    (void)json_number(told, "number", &revision->number);
    (void)json_number(told, "generation", &revision->configuration_generation);
    revision->first = revision->number == 1;
    (void)json_boolean(told, "first", &revision->first);
    if (!revision->document)
        revision->document = "{}";
    if (secret) {
        place = mem_new(memory, struct secret_place);
        *place = read_place(secret);
        revision->harness_secret = place;
    }
    read_bindings(memory, json_array(told, "bindings"), revision);
}

struct probe_subject *probe_subject_read(const void *memory, const cJSON *command)
{
    struct probe_subject *subject = mem_new(memory, struct probe_subject);
    const cJSON *space = json_object(command, "namespace");
    const cJSON *agent = json_object(command, "agent");
    const cJSON *harness = json_object(command, "harness");

    subject->owner = (struct subject_namespace){
        .id = json_text(space, "id"),
        .name = text_or(space, "name", "probe"),
        .existing_namespace = json_text(space, "existing"),
    };
    subject->agent = (struct subject_agent){
        .owner = subject->owner,
        .id = json_text(agent, "id"),
        .name = text_or(agent, "name", "probe"),
        .service_principal_id = text_or(agent, "servicePrincipalId", "00000000-0000-4000-8000-000000000000"),
    };
    read_revision(memory, json_object(command, "revision"), subject);
    subject->harness = (struct subject_harness){
        .id = text_or(harness, "id", "openclaw"),
        .mode = text_or(harness, "mode", "embedded"),
        .auth = written(memory, harness, "auth"),
    };
    subject->place = read_place(json_object(command, "place"));
    return subject;
}

const struct secret *probe_value_read(const void *memory, const cJSON *command)
{
    const char *text = json_text(command, "value");
    unsigned char *bytes;
    size_t length;

    if (!text)
        return NULL;
    bytes = mem_array(memory, unsigned char, strlen(text) + 1);
    if (sodium_base642bin(bytes, strlen(text) + 1, text, strlen(text), NULL, &length, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return NULL;
    return secret_new(memory, (const char *)bytes, length);
}

const char *probe_value_write(const void *memory, const struct secret *value)
{
    const size_t size = sodium_base64_ENCODED_LEN(secret_length(value), sodium_base64_VARIANT_ORIGINAL);
    char *text = mem_array(memory, char, size);

    return sodium_bin2base64(text, size, (const unsigned char *)secret_expose(value), secret_length(value),
                             sodium_base64_VARIANT_ORIGINAL);
}
