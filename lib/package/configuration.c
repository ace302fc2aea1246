/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/installed.h"

#include "lib/base/memory.h"
#include "lib/package/offer.h"
#include "lib/package/subject.h"

struct installed {
    struct package_driver base;
    struct configuration_driver driver;
    struct occ_configuration table;
};

static bool preflight(void *self, const struct driver_call *call, struct fault *fault)
{
    struct installed *installed = self;

    return host_preflight(&installed->base, installed->table.preflight, call, NULL, fault);
}

static bool store(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                  const char *configuration_id, const char *document, size_t length, struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_namespace given = public_namespace(owner);
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "store");
    result = installed->table.store(installed->base.self, &host.call, &given, configuration_id, document,
                                    length, &host.answer);
    done = host_judge(&host, result, NULL, fault);
    host_end(&host);
    return done;
}

static bool read(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                 const char *configuration_id, const char **document, size_t *length, struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_namespace given = public_namespace(owner);
    const char *bytes = NULL;
    struct host_call host;
    enum occ_result result;
    size_t count = 0;
    char *copy;
    bool done;

    host_begin(&host, &installed->base, call, "read");
    result = installed->table.read(installed->base.self, &host.call, &given, configuration_id, &bytes, &count,
                                   &host.answer);
    done = host_judge(&host, result, NULL, fault);
    if (done && (!bytes || count > CONFIGURATION_DOCUMENT_LIMIT))
        done = host_refuse(&host, bytes ? "a document of more than 1 MiB" : "no document", fault);
    if (done) {
        copy = mem_array(call->memory, char, count + 1);
        memcpy(copy, bytes, count);
        *document = copy;
        *length = count;
    }
    host_end(&host);
    return done;
}

static bool remove_document(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                            const char *configuration_id, struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_namespace given = public_namespace(owner);
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "remove");
    result =
        installed->table.remove(installed->base.self, &host.call, &given, configuration_id, &host.answer);
    done = host_judge(&host, result, NULL, fault);
    host_end(&host);
    return done;
}

static const struct configuration_operations operations = {
    .preflight = preflight, .store = store, .read = read, .remove = remove_document};

bool package_open_configuration(const void *context, const struct package_selection *selection,
                                const struct driver_call *call, const struct configuration_driver **driver,
                                struct fault *fault)
{
    struct package_offer offer;
    struct installed *installed;

    if (!package_offer_find(selection, PACKAGE_CONFIGURATION, &offer, fault))
        return false;
    installed = mem_new(context, struct installed);
    installed->table = offer.table.configuration;
    if (!package_offer_open(installed, &offer, selection, call, &installed->base, fault)) {
        talloc_free(installed);
        return false;
    }
    installed->driver = (struct configuration_driver){installed->base.id, &operations, installed};
    *driver = &installed->driver;
    return true;
}
