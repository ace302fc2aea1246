/* SPDX-License-Identifier: MIT
 *
 * config-kubernetes: a Configuration is the ConfigMap configuration-<24 digits of its identifier's hash> in
 * its Namespace's data namespace, with the native document, byte by byte, as its one entry.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/driver.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/agent/topology.h"
#include "lib/kubernetes/api/credentials.h"
#include "lib/kubernetes/home.h"

struct configuration {
    struct configuration_driver driver;
    struct kubernetes_client *client;
    struct kubernetes_credentials_source *source; /* of preflight, which asks no server */
};

struct document {
    struct kubernetes_tenant tenant;
    struct kubernetes_reference reference;
    struct kubernetes_owner owner;
    bool there; /* the namespace */
    char name[KUBERNETES_NAME_SIZE];
};

/* Its Namespace's own is looked up before, as it may be adopted or of an older name. */
static void name_document(const struct subject_namespace *owner, const char *configuration_id,
                          struct document *document)
{
    kubernetes_hashed_name("configuration", configuration_id, document->name);
    document->reference =
        (struct kubernetes_reference){&kubernetes_config_map, document->tenant.data, document->name};
    document->owner =
        (struct kubernetes_owner){.namespace_id = owner->id, .configuration_id = configuration_id};
}

/* Where the document is. */
static bool find(const struct configuration *self, const struct driver_call *call,
                 const struct subject_namespace *owner, const char *configuration_id,
                 struct document *document, struct fault *fault)
{
    if (!kubernetes_home_find(self->client, call, owner, &document->tenant, &document->there, fault))
        return false;
    name_document(owner, configuration_id, document);
    return true;
}

static bool preflight(void *subject, const struct driver_call *call, struct fault *fault)
{
    const struct configuration *self = subject;
    const struct kubernetes_credentials *credentials;
    bool changed;

    (void)call;
    return kubernetes_credentials_read(self->source, true, &credentials, &changed, fault);
}

static bool too_large(size_t length, struct fault *fault)
{
    return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_TOO_LARGE",
                     "The document has %zu bytes, and a ConfigMap holds at most %zu", length,
                     CONFIGURATION_DOCUMENT_LIMIT);
}

/* A server may be told to take less than Kubernetes allows (etcd's --max-request-bytes). */
static bool refused(size_t length, struct fault *fault)
{
    const struct fault told = *fault;

    return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_REFUSED",
                     "%s. The document has %zu bytes; Kubernetes takes at most %zu in a ConfigMap",
                     told.message, length, CONFIGURATION_DOCUMENT_LIMIT);
}

static bool store(void *subject, const struct driver_call *call, const struct subject_namespace *owner,
                  const char *configuration_id, const char *document, size_t length, struct fault *fault)
{
    static const char *const exact[] = {"data", NULL};
    const struct configuration *self = subject;
    struct kubernetes_wanted wanted = {.comparison = {exact}};
    struct document place;

    if (length > CONFIGURATION_DOCUMENT_LIMIT)
        return too_large(length, fault);
    if (!find(self, call, owner, configuration_id, &place, fault))
        return false;
    if (!place.there)
        return kubernetes_home_absent(self->client, &place.tenant, fault);
    wanted.reference = place.reference;
    wanted.owner = place.owner;
    wanted.intent = json_new_object(call->memory);
    json_add_text(json_add_object(wanted.intent, "data"), KUBERNETES_KEY_DOCUMENT,
                  mem_text_part(call->memory, document, length));
    if (kubernetes_ensure(self->client, call, &wanted, NULL, fault))
        return true;
    return fault_is(fault, "KUBERNETES_REJECTED") ? refused(length, fault)
                                                  : kubernetes_home_fault(owner, fault);
}

static bool read_document(void *subject, const struct driver_call *call,
                          const struct subject_namespace *owner, const char *configuration_id,
                          const char **document, size_t *length, struct fault *fault)
{
    const struct configuration *self = subject;
    const cJSON *object = NULL;
    struct document place;
    const char *text;

    if (!find(self, call, owner, configuration_id, &place, fault))
        return false;
    if (place.there && !kubernetes_get(self->client, call, &place.reference, &object, fault))
        return kubernetes_home_fault(owner, fault);
    if (object && !kubernetes_owner_check(object, &place.reference, &place.owner, fault))
        return false;
    text = json_text(json_object(object, "data"), KUBERNETES_KEY_DOCUMENT);
    if (!text)
        return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_MISSING", "%s at %s %s",
                         kubernetes_reference_words(call->memory, &place.reference),
                         kubernetes_client_place(self->client),
                         object ? "has no entry " KUBERNETES_KEY_DOCUMENT : "does not exist");
    *document = text;
    *length = strlen(text);
    return true;
}

static bool remove_document(void *subject, const struct driver_call *call,
                            const struct subject_namespace *owner, const char *configuration_id,
                            struct fault *fault)
{
    const struct configuration *self = subject;
    struct document place;
    bool gone;

    if (!kubernetes_home_find_to_leave(self->client, call, owner, &place.tenant, &place.there, fault))
        return false;
    if (!place.there)
        return true;
    name_document(owner, configuration_id, &place);
    if (!kubernetes_remove(self->client, call, &place.reference, &place.owner, &gone, fault))
        return kubernetes_home_fault(owner, fault);
    if (!gone && call->observe_only)
        return fault_set(fault, FAULT_PENDING, "CONFIGURATION_NOT_REMOVED", "%s at %s is there",
                         kubernetes_reference_words(call->memory, &place.reference),
                         kubernetes_client_place(self->client));
    return true; /* or on its way: nothing reads it any more */
}

void kubernetes_open_configuration(const void *context, const struct yaml_node *node,
                                   const struct configuration_driver **driver)
{
    static const struct configuration_operations operations = {
        .preflight = preflight,
        .store = store,
        .read = read_document,
        .remove = remove_document,
    };
    struct configuration *self = mem_new(context, struct configuration);
    const struct kubernetes_authentication *authentication = kubernetes_authentication_read(
        self, yaml_field(node, "authentication"), "drivers.configuration.configuration.authentication");

    self->client = kubernetes_client_new(self, authentication);
    self->source = kubernetes_credentials_source_new(self, authentication);
    self->driver = (struct configuration_driver){KUBERNETES_CONFIGURATION_ID, &operations, self};
    *driver = &self->driver;
}
