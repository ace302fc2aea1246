/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/installed.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/package/offer.h"
#include "lib/package/subject.h"

struct installed {
    struct package_driver base;
    struct compute_driver driver;
    struct compute_operations operations; /* NULL where the Driver has none */
    struct occ_compute table;
};

/* ---- Namespaces. */

static bool do_preflight(void *self, const struct driver_call *call, struct compute_observation *seen,
                         struct fault *fault)
{
    struct installed *installed = self;

    return host_preflight(&installed->base, installed->table.preflight, call, seen, fault);
}

typedef enum occ_result (*namespace_function)(void *self, const struct occ_call *call,
                                              const struct occ_namespace *subject, struct occ_answer *answer);

static bool call_namespace(struct installed *installed, const char *operation, namespace_function function,
                           const struct driver_call *call, const struct subject_namespace *subject,
                           struct compute_observation *seen, struct fault *fault)
{
    const struct occ_namespace given = public_namespace(subject);
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, operation);
    result = function(installed->base.self, &host.call, &given, &host.answer);
    done = host_judge(&host, result, seen, fault);
    host_end(&host);
    return done;
}

#define NAMESPACE_OPERATION(name)                                                                            \
    static bool do_##name(void *self, const struct driver_call *call,                                        \
                          const struct subject_namespace *subject, struct compute_observation *seen,         \
                          struct fault *fault)                                                               \
    {                                                                                                        \
        struct installed *installed = self;                                                                  \
                                                                                                             \
        return call_namespace(installed, #name, installed->table.name, call, subject, seen, fault);          \
    }

NAMESPACE_OPERATION(ensure_namespace)
NAMESPACE_OPERATION(delete_namespace)

/* ---- Agents. */

static bool do_validate_harness_auth(void *self, const struct driver_call *call,
                                     const struct subject_harness *harness, struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_harness given = {
        .size = sizeof given, .id = harness->id, .mode = harness->mode, .auth = harness->auth};
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "validate_harness_auth");
    result = installed->table.validate_harness_auth(installed->base.self, &host.call, &given, &host.answer);
    done = host_judge(&host, result, NULL, fault);
    host_end(&host);
    return done;
}

typedef enum occ_result (*agent_function)(void *self, const struct occ_call *call,
                                          const struct occ_agent *agent, struct occ_answer *answer);

static bool call_agent(struct installed *installed, const char *operation, agent_function function,
                       const struct driver_call *call, const struct subject_agent *agent,
                       struct compute_observation *seen, struct fault *fault)
{
    const struct occ_namespace owner = public_namespace(&agent->owner);
    const struct occ_agent given = public_agent(agent, &owner);
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, operation);
    result = function(installed->base.self, &host.call, &given, &host.answer);
    done = host_judge(&host, result, seen, fault);
    host_end(&host);
    return done;
}

#define AGENT_OPERATION(name)                                                                                \
    static bool do_##name(void *self, const struct driver_call *call, const struct subject_agent *agent,     \
                          struct compute_observation *seen, struct fault *fault)                             \
    {                                                                                                        \
        struct installed *installed = self;                                                                  \
                                                                                                             \
        return call_agent(installed, #name, installed->table.name, call, agent, seen, fault);                \
    }

AGENT_OPERATION(bind_agent)
AGENT_OPERATION(provision_agent_credentials)
AGENT_OPERATION(delete_agent_credentials)

/* ---- Revisions. */

static bool do_needs_stopped_predecessors(void *self, const struct subject_revision *revision)
{
    struct installed *installed = self;
    TALLOC_CTX *scratch = talloc_new(NULL);
    const bool needs = installed->table.needs_stopped_predecessors(installed->base.self,
                                                                   public_revision(scratch, revision)) != 0;

    talloc_free(scratch);
    return needs;
}

typedef enum occ_result (*revision_function)(void *self, const struct occ_call *call,
                                             const struct occ_revision *revision, struct occ_answer *answer);

static bool call_revision(struct installed *installed, const char *operation, revision_function function,
                          const struct driver_call *call, const struct subject_revision *revision,
                          struct compute_observation *seen, struct fault *fault)
{
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, operation);
    result = function(installed->base.self, &host.call, public_revision(host.memory, revision), &host.answer);
    done = host_judge(&host, result, seen, fault);
    host_end(&host);
    return done;
}

#define REVISION_OPERATION(name)                                                                             \
    static bool do_##name(void *self, const struct driver_call *call,                                        \
                          const struct subject_revision *revision, struct compute_observation *seen,         \
                          struct fault *fault)                                                               \
    {                                                                                                        \
        struct installed *installed = self;                                                                  \
                                                                                                             \
        return call_revision(installed, #name, installed->table.name, call, revision, seen, fault);          \
    }

REVISION_OPERATION(prepare_revision)
REVISION_OPERATION(activate_revision)
REVISION_OPERATION(deactivate_revision)
REVISION_OPERATION(stop_revision)
REVISION_OPERATION(retire_revision)

/* ---- Opening. */

static struct compute_operations operations_of(const struct occ_compute *table)
{
    struct compute_operations made = {
        .preflight = do_preflight,
        .ensure_namespace = do_ensure_namespace,
        .delete_namespace = do_delete_namespace,
    };

    if (!table->prepare_revision)
        return made;
#define TAKE(name) made.name = table->name ? do_##name : NULL
    TAKE(validate_harness_auth);
    TAKE(bind_agent);
    TAKE(needs_stopped_predecessors);
    TAKE(prepare_revision);
    TAKE(activate_revision);
    TAKE(deactivate_revision);
    TAKE(stop_revision);
    TAKE(retire_revision);
    TAKE(provision_agent_credentials);
    TAKE(delete_agent_credentials);
#undef TAKE
    return made;
}

bool package_open_compute(const void *context, const struct package_selection *selection,
                          const struct driver_call *call, const struct compute_driver **driver,
                          struct fault *fault)
{
    struct package_offer offer;
    struct installed *installed;

    if (!package_offer_find(selection, PACKAGE_COMPUTE, &offer, fault))
        return false;
    installed = mem_new(context, struct installed);
    installed->table = offer.table.compute;
    installed->operations = operations_of(&installed->table);
    installed->driver = (struct compute_driver){
        .id = mem_text(installed, selection->id),
        .implementation = mem_text(installed, installed->table.implementation),
        .supports_existing_namespaces = installed->table.supports_existing_namespaces,
        .order = installed->table.activation_order == OCC_ACTIVATE_BEFORE_COMMIT
                     ? COMPUTE_ACTIVATES_BEFORE_COMMIT
                     : COMPUTE_ACTIVATES_AFTER_COMMIT,
        .maintenance_interval_ms = installed->table.maintenance_interval_ms,
        .operations = &installed->operations,
        .self = installed,
    };
    if (!package_offer_open(installed, &offer, selection, call, &installed->base, fault)) {
        talloc_free(installed);
        return false;
    }
    *driver = &installed->driver;
    return true;
}
