/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/reconcile/subject.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

void subject_agent_add(struct pg_batch *batch, const struct pass *pass, struct subject_places *places)
{
    places->agent = agent_subject_add(batch, pass->item.key, pass->token);
}

const struct subject_agent *subject_agent_read(const struct pg_batch *batch, const void *context,
                                               const struct subject_places *places)
{
    struct agent_subject row;
    struct subject_agent *made;

    if (!agent_subject_read(pg_batch_result(batch, places->agent), context, &row))
        return NULL;
    made = mem_new(context, struct subject_agent);
    made->owner = (struct subject_namespace){row.namespace_id, row.namespace_name, row.existing_namespace};
    made->id = row.id;
    made->name = row.name;
    made->service_principal_id = row.service_principal_id;
    return made;
}

void subject_revision_add(struct pg_batch *batch, const struct pass *pass, const char *revision_id,
                          struct subject_places *places)
{
    places->revision = revision_subject_add(batch, pass->item.key, pass->token, revision_id);
    places->secrets = revision_secrets_add(batch, pass->item.key, pass->token, revision_id);
}

static struct secret_place place_of(const struct revision_secret *secret)
{
    return (struct secret_place){
        .secret_id = secret->id,
        .driver_id = secret->driver_id,
        .namespace_id = secret->namespace_id,
        .backend_namespace_name = secret->backend_namespace_name,
        .backend_name = secret->backend_name,
        .backend_key = secret->backend_key,
        .backend_uid = secret->backend_uid,
    };
}

static void add_places(struct subject_revision *made, const struct revision_secret *secrets, size_t count)
{
    struct subject_binding *bindings = mem_array(made, struct subject_binding, count + 1);
    struct secret_place *harness;

    made->bindings = bindings;
    for (size_t i = 0; i < count; i++) {
        if (!secrets[i].present)
            continue;
        if (secrets[i].name) {
            bindings[made->binding_count++] =
                (struct subject_binding){secrets[i].name, place_of(&secrets[i])};
            continue;
        }
        harness = mem_new(made, struct secret_place);
        *harness = place_of(&secrets[i]);
        made->harness_secret = harness;
    }
}

const struct subject_revision *subject_revision_read(const struct pg_batch *batch, const void *context,
                                                     const struct subject_places *places,
                                                     const struct subject_agent *agent,
                                                     struct subject_references *references)
{
    struct revision_subject row;
    struct revision_secret *secrets;
    struct subject_revision *made;
    size_t count;

    if (!revision_subject_read(pg_batch_result(batch, places->revision), context, &row))
        return NULL;
    revision_secrets_read(pg_batch_result(batch, places->secrets), context, &secrets, &count);
    made = mem_new(context, struct subject_revision);
    made->agent = agent;
    made->id = row.id;
    made->number = row.number;
    made->first = row.first;
    made->configuration_id = row.configuration_id;
    made->configuration_generation = row.configuration_generation;
    made->document = row.document;
    made->compute_id = row.compute_id;
    made->compute_implementation = row.compute_implementation;
    made->harness_id = row.harness_id;
    made->harness_version = row.harness_version;
    made->harness_mode = row.harness_mode;
    made->harness_auth = row.harness_auth;
    made->secret_driver_id = row.secret_driver_id;
    made->sandbox_driver_id = row.sandbox_driver_id;
    add_places(made, secrets, count);
    if (references)
        *references = (struct subject_references){row.harness_service_account_id, secrets, count};
    return made;
}

bool subject_is_here(const struct pass *pass, const char *compute_id, const char *implementation)
{
    const struct compute_driver *compute = pass->reconciler->options->compute;

    return text_equal(compute_id, compute->id) && text_equal(implementation, compute->implementation);
}
