/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/subject.h"

#include "lib/base/memory.h"

struct occ_namespace public_namespace(const struct subject_namespace *subject)
{
    return (struct occ_namespace){
        .size = sizeof(struct occ_namespace),
        .id = subject->id,
        .name = subject->name,
        .existing_namespace = subject->existing_namespace,
    };
}

struct occ_agent public_agent(const struct subject_agent *subject, const struct occ_namespace *owner)
{
    return (struct occ_agent){
        .size = sizeof(struct occ_agent),
        .namespace_ = owner,
        .id = subject->id,
        .name = subject->name,
        .service_principal_id = subject->service_principal_id,
    };
}

struct occ_secret_place public_place(const struct secret_place *subject)
{
    return (struct occ_secret_place){
        .size = sizeof(struct occ_secret_place),
        .secret_id = subject->secret_id,
        .driver_id = subject->driver_id,
        .namespace_id = subject->namespace_id,
        .backend_namespace_name = subject->backend_namespace_name,
        .backend_name = subject->backend_name,
        .backend_key = subject->backend_key,
        .backend_uid = subject->backend_uid,
    };
}

struct secret_place subject_secret_place(const struct occ_secret_place *place)
{
    return (struct secret_place){
        .secret_id = place->secret_id,
        .driver_id = place->driver_id,
        .namespace_id = place->namespace_id,
        .backend_namespace_name = place->backend_namespace_name,
        .backend_name = place->backend_name,
        .backend_key = place->backend_key,
        .backend_uid = place->backend_uid,
    };
}

static const struct occ_secret_place *copy_place(const void *context, const struct secret_place *subject)
{
    struct occ_secret_place *place;

    if (!subject)
        return NULL;
    place = mem_new(context, struct occ_secret_place);
    *place = public_place(subject);
    return place;
}

static const struct occ_secret_binding *const *copy_bindings(const void *context,
                                                             const struct subject_revision *subject)
{
    const struct occ_secret_binding **list =
        mem_array(context, const struct occ_secret_binding *, subject->binding_count + 1);
    size_t index;

    for (index = 0; index < subject->binding_count; index++) {
        struct occ_secret_binding *binding = mem_new(list, struct occ_secret_binding);

        binding->size = sizeof *binding;
        binding->name = subject->bindings[index].name;
        binding->place = copy_place(list, &subject->bindings[index].place);
        list[index] = binding;
    }
    return list;
}

const struct occ_revision *public_revision(const void *context, const struct subject_revision *subject)
{
    struct occ_revision *revision = mem_new(context, struct occ_revision);
    struct occ_namespace *owner = mem_new(revision, struct occ_namespace);
    struct occ_agent *agent = mem_new(revision, struct occ_agent);

    *owner = public_namespace(&subject->agent->owner);
    *agent = public_agent(subject->agent, owner);
    *revision = (struct occ_revision){
        .size = sizeof *revision,
        .agent = agent,
        .id = subject->id,
        .number = subject->number,
        .first = subject->first,
        .configuration_id = subject->configuration_id,
        .configuration_generation = subject->configuration_generation,
        .document = subject->document,
        .harness_id = subject->harness_id,
        .harness_version = subject->harness_version,
        .harness_mode = subject->harness_mode,
        .harness_auth = subject->harness_auth,
        .harness_secret = copy_place(revision, subject->harness_secret),
        .secret_driver_id = subject->secret_driver_id,
        .sandbox_driver_id = subject->sandbox_driver_id,
        .binding_count = (uint32_t)subject->binding_count,
        .bindings = copy_bindings(revision, subject),
    };
    return revision;
}
