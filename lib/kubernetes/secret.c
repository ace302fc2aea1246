/* SPDX-License-Identifier: MIT
 *
 * secret-kubernetes: a Secret's value is the entry `value` of the Secret secret-<24 digits of its
 * identifier's hash> in its Namespace's data namespace. The UID that the server gave that object is kept
 * beside the place: another one of the same name, whoever made it, is not the one that the value was put in.
 */
#include "lib/base/build.h"

#include "lib/kubernetes/driver.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/kubernetes/api/credentials.h"
#include "lib/kubernetes/home.h"
#include "lib/kubernetes/object/value.h"

#define WHAT "secret" /* the objects' names begin with it */
#define KEY "value"
#define VALUE_LIMIT ((size_t)1024 * 1024) /* Kubernetes API, Secret: of all its values together */

struct secrets {
    struct secret_driver driver;
    struct kubernetes_client *client;
    struct kubernetes_credentials_source *source; /* of preflight, which asks no server */
};

static bool preflight(void *subject, const struct driver_call *call, struct fault *fault)
{
    const struct secrets *self = subject;
    const struct kubernetes_credentials *credentials;
    bool changed;

    (void)call;
    return kubernetes_credentials_read(self->source, true, &credentials, &changed, fault);
}

static bool too_large(size_t length, struct fault *fault)
{
    return fault_set(fault, FAULT_PERMANENT, "SECRET_VALUE_TOO_LARGE",
                     "The value has %zu bytes, and a Secret of Kubernetes holds at most %zu", length,
                     VALUE_LIMIT);
}

static bool put(const struct secrets *self, const struct driver_call *call,
                const struct kubernetes_reference *reference, const struct kubernetes_owner *owner,
                const struct secret *value, const cJSON **live, struct fault *fault)
{
    static const char *const exact[] = {"data", NULL};
    struct kubernetes_wanted wanted = {
        .reference = *reference,
        .owner = *owner,
        .intent = json_new_secret_object(call->memory),
        .comparison = {exact},
    };

    kubernetes_value_add(json_add_object(wanted.intent, "data"), KEY, value);
    return kubernetes_ensure(self->client, call, &wanted, live, fault);
}

static bool store(void *subject, const struct driver_call *call, const struct subject_namespace *owner,
                  const char *secret_id, const struct secret *value, struct secret_kept *kept,
                  struct fault *fault)
{
    const struct kubernetes_owner whose = {.namespace_id = owner->id, .secret_id = secret_id};
    const struct secrets *self = subject;
    struct kubernetes_reference reference;
    struct kubernetes_tenant tenant;
    char name[KUBERNETES_NAME_SIZE];
    const cJSON *live = NULL;
    bool there;

    if (secret_length(value) > VALUE_LIMIT)
        return too_large(secret_length(value), fault);
    if (!kubernetes_home_find(self->client, call, owner, &tenant, &there, fault))
        return false;
    if (!there)
        return kubernetes_home_absent(self->client, &tenant, fault);
    kubernetes_hashed_name(WHAT, secret_id, name);
    reference = (struct kubernetes_reference){&kubernetes_secret, tenant.data, name};
    if (!put(self, call, &reference, &whose, value, &live, fault))
        return kubernetes_home_fault(owner, fault);
    *kept = (struct secret_kept){.backend_key = KEY};
    (void)text_copy(kept->backend_namespace_name, sizeof kept->backend_namespace_name, reference.space);
    (void)text_copy(kept->backend_name, sizeof kept->backend_name, reference.name);
    (void)text_copy(kept->backend_uid, sizeof kept->backend_uid, kubernetes_uid(live));
    return true;
}

/* A place of another name was registered. */
static bool is_ours(const struct secret_place *place)
{
    char name[KUBERNETES_NAME_SIZE];

    kubernetes_hashed_name(WHAT, place->secret_id, name);
    return text_equal(place->backend_name, name);
}

/* The object at a place, where it is the one that the value was put in; else NULL. *another tells that there
 * is one of that name all the same. What was registered with its place is somebody else's, and its labels are
 * not ours to judge. */
static bool look(const struct secrets *self, const struct driver_call *call, const struct secret_place *place,
                 const struct kubernetes_reference *reference, const cJSON **object, bool *another,
                 struct fault *fault)
{
    const struct kubernetes_owner whose = {.namespace_id = place->namespace_id,
                                           .secret_id = place->secret_id};
    const cJSON *found;

    if (!kubernetes_get_leaving(self->client, call, reference, &found, fault))
        return false;
    *another = found && place->backend_uid && !text_equal(kubernetes_uid(found), place->backend_uid);
    if (found && !*another && is_ours(place) && !kubernetes_owner_check(found, reference, &whose, fault))
        return false;
    *object = *another ? NULL : found;
    return true;
}

static struct kubernetes_reference reference_of(const struct secret_place *place)
{
    return (struct kubernetes_reference){&kubernetes_secret, place->backend_namespace_name,
                                         place->backend_name};
}

static bool read_value(void *subject, const struct driver_call *call, const struct secret_place *place,
                       const struct secret **value, struct fault *fault)
{
    const struct kubernetes_reference reference = reference_of(place);
    const char *words = kubernetes_reference_words(call->memory, &reference);
    const struct secrets *self = subject;
    const struct secret *found;
    const cJSON *object;
    bool another;

    if (!look(self, call, place, &reference, &object, &another, fault))
        return kubernetes_fault_in_pass(fault);
    found = kubernetes_value_read(call->memory, object, place->backend_key);
    if (found) {
        *value = found;
        return true;
    }
    if (another)
        return fault_set(
            fault, FAULT_PERMANENT, "SECRET_VALUE_MISSING",
            "%s at %s is not the one that the value of %s was put in, but was made anew: set the "
            "value, or register its place, again",
            words, kubernetes_client_place(self->client), place->secret_id);
    return fault_set(fault, FAULT_PERMANENT, "SECRET_VALUE_MISSING", "%s at %s %s", words,
                     kubernetes_client_place(self->client),
                     object ? "has no such entry, or none that can be read" : "does not exist");
}

static bool remove_value(void *subject, const struct driver_call *call, const struct secret_place *place,
                         struct fault *fault)
{
    const struct kubernetes_reference reference = reference_of(place);
    const struct secrets *self = subject;
    const cJSON *object;
    bool another;

    if (!look(self, call, place, &reference, &object, &another, fault))
        return false;
    if (!object || !is_ours(place))
        return true; /* ours is gone, or never was; another's stays */
    if (call->observe_only)
        return fault_set(fault, FAULT_PENDING, "SECRET_NOT_REMOVED", "%s at %s is there",
                         kubernetes_reference_words(call->memory, &reference),
                         kubernetes_client_place(self->client));
    return kubernetes_delete(self->client, call, &reference, kubernetes_uid(object), fault);
}

void kubernetes_open_secret(const void *context, const struct yaml_node *node,
                            const struct secret_driver **driver)
{
    static const struct secret_operations operations = {
        .preflight = preflight,
        .store = store,
        .read = read_value,
        .remove = remove_value,
    };
    struct secrets *self = mem_new(context, struct secrets);
    const struct kubernetes_authentication *authentication = kubernetes_authentication_read(
        self, yaml_field(node, "authentication"), "drivers.secret.configuration.authentication");

    self->client = kubernetes_client_new(self, authentication);
    self->source = kubernetes_credentials_source_new(self, authentication);
    self->driver = (struct secret_driver){KUBERNETES_SECRET_ID, &operations, self};
    *driver = &self->driver;
}
