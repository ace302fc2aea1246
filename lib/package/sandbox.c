/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/installed.h"

#include "lib/base/memory.h"
#include "lib/package/offer.h"
#include "lib/package/subject.h"

struct installed {
    struct package_driver base;
    struct sandbox_driver driver;
    struct sandbox_operations operations; /* NULL where the Driver has none */
    struct occ_sandbox table;
};

static bool do_preflight(void *self, const struct driver_call *call, struct fault *fault)
{
    struct installed *installed = self;

    return host_preflight(&installed->base, installed->table.preflight, call, NULL, fault);
}

static bool do_ensure_namespace(void *self, const struct driver_call *call,
                                const struct subject_namespace *wanted, struct compute_observation *seen,
                                struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_namespace given = public_namespace(wanted);
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "ensure_namespace");
    result = installed->table.ensure_namespace(installed->base.self, &host.call, &given, &host.answer);
    done = host_judge(&host, result, seen, fault);
    host_end(&host);
    return done;
}

static bool do_configure_agent(void *self, const struct driver_call *call,
                               const struct subject_revision *revision, struct compute_observation *seen,
                               struct fault *fault)
{
    struct installed *installed = self;
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "configure_agent");
    result = installed->table.configure_agent(installed->base.self, &host.call,
                                              public_revision(host.memory, revision), &host.answer);
    done = host_judge(&host, result, seen, fault);
    host_end(&host);
    return done;
}

static bool do_provision_harness(void *self, const struct driver_call *call,
                                 const struct subject_revision *revision, const char **endpoint,
                                 struct compute_observation *seen, struct fault *fault)
{
    struct installed *installed = self;
    const char *given = NULL;
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "provision_harness");
    result = installed->table.provision_harness(installed->base.self, &host.call,
                                                public_revision(host.memory, revision), &given, &host.answer);
    done = host_judge(&host, result, seen, fault);
    if (done && (!given || !given[0]))
        done = host_refuse(&host, "no endpoint", fault);
    if (done)
        *endpoint = mem_text(call->memory, given);
    host_end(&host);
    return done;
}

static bool do_cleanup(void *self, const struct driver_call *call, const struct subject_agent *agent,
                       const struct subject_revision *revision, struct compute_observation *seen,
                       struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_namespace owner = public_namespace(&agent->owner);
    const struct occ_agent given = public_agent(agent, &owner);
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "cleanup");
    result = installed->table.cleanup(installed->base.self, &host.call, &given,
                                      revision ? public_revision(host.memory, revision) : NULL, &host.answer);
    done = host_judge(&host, result, seen, fault);
    host_end(&host);
    return done;
}

bool package_open_sandbox(const void *context, const struct package_selection *selection,
                          const struct driver_call *call, const struct sandbox_driver **driver,
                          struct fault *fault)
{
    struct package_offer offer;
    struct installed *installed;

    if (!package_offer_find(selection, PACKAGE_SANDBOX, &offer, fault))
        return false;
    installed = mem_new(context, struct installed);
    installed->table = offer.table.sandbox;
    if (!package_offer_open(installed, &offer, selection, call, &installed->base, fault)) {
        talloc_free(installed);
        return false;
    }
    installed->operations = (struct sandbox_operations){
        .preflight = do_preflight,
        .ensure_namespace = installed->table.ensure_namespace ? do_ensure_namespace : NULL,
        .configure_agent = installed->table.configure_agent ? do_configure_agent : NULL,
        .provision_harness = installed->table.provision_harness ? do_provision_harness : NULL,
        .cleanup = do_cleanup,
    };
    installed->driver = (struct sandbox_driver){
        .id = installed->base.id,
        /* Bits that this version does not know say nothing here. */
        .facets = installed->table.facets & SANDBOX_ALL,
        .operations = &installed->operations,
        .self = installed,
    };
    *driver = &installed->driver;
    return true;
}
