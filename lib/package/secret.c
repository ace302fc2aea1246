/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/installed.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/package/offer.h"
#include "lib/package/subject.h"

#define VALUE_LIMIT ((size_t)1024 * 1024)

struct installed {
    struct package_driver base;
    struct secret_driver driver;
    struct occ_secret table;
};

static bool preflight(void *self, const struct driver_call *call, struct fault *fault)
{
    struct installed *installed = self;

    return host_preflight(&installed->base, installed->table.preflight, call, NULL, fault);
}

/* A place becomes a row: it must be there, and be text. */
static bool check_kept(const struct host_call *host, struct occ_secret_kept *given, struct fault *fault)
{
#define END(array) (array)[sizeof(array) - 1] = '\0'
    END(given->backend_namespace_name);
    END(given->backend_name);
    END(given->backend_key);
    END(given->backend_uid);
#undef END
    if (!given->backend_namespace_name[0] || !given->backend_name[0] || !given->backend_key[0])
        return host_refuse(host, "a place that is not whole", fault);
    if (!text_is_printable(given->backend_namespace_name) || !text_is_printable(given->backend_name) ||
        !text_is_printable(given->backend_key) || !text_is_printable(given->backend_uid))
        return host_refuse(host, "a place that is no printable text", fault);
    return true;
}

static bool store(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                  const char *secret_id, const struct secret *value, struct secret_kept *kept,
                  struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_namespace given = public_namespace(owner);
    struct occ_secret_kept place = {.size = sizeof place};
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "store");
    result = installed->table.store(installed->base.self, &host.call, &given, secret_id, secret_expose(value),
                                    secret_length(value), &place, &host.answer);
    done = host_judge(&host, result, NULL, fault) && check_kept(&host, &place, fault);
    host_end(&host);
    if (!done)
        return false;
    *kept = (struct secret_kept){.backend_uid = ""};
    (void)text_copy(kept->backend_namespace_name, sizeof kept->backend_namespace_name,
                    place.backend_namespace_name);
    (void)text_copy(kept->backend_name, sizeof kept->backend_name, place.backend_name);
    (void)text_copy(kept->backend_key, sizeof kept->backend_key, place.backend_key);
    (void)text_copy(kept->backend_uid, sizeof kept->backend_uid, place.backend_uid);
    return true;
}

static bool read(void *self, const struct driver_call *call, const struct secret_place *place,
                 const struct secret **value, struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_secret_place given = public_place(place);
    const char *bytes = NULL;
    struct host_call host;
    enum occ_result result;
    size_t length = 0;
    bool done;

    host_begin(&host, &installed->base, call, "read");
    result = installed->table.read(installed->base.self, &host.call, &given, &bytes, &length, &host.answer);
    done = host_judge(&host, result, NULL, fault);
    if (done && (!bytes || length > VALUE_LIMIT))
        done = host_refuse(&host, bytes ? "a value of more than 1 MiB" : "no value", fault);
    if (done)
        *value = secret_new(call->memory, bytes, length);
    host_end(&host);
    return done;
}

static bool remove_value(void *self, const struct driver_call *call, const struct secret_place *place,
                         struct fault *fault)
{
    struct installed *installed = self;
    const struct occ_secret_place given = public_place(place);
    struct host_call host;
    enum occ_result result;
    bool done;

    host_begin(&host, &installed->base, call, "remove");
    result = installed->table.remove(installed->base.self, &host.call, &given, &host.answer);
    done = host_judge(&host, result, NULL, fault);
    host_end(&host);
    return done;
}

static const struct secret_operations operations = {
    .preflight = preflight, .store = store, .read = read, .remove = remove_value};

bool package_open_secret(const void *context, const struct package_selection *selection,
                         const struct driver_call *call, const struct secret_driver **driver,
                         struct fault *fault)
{
    struct package_offer offer;
    struct installed *installed;

    if (!package_offer_find(selection, PACKAGE_SECRET, &offer, fault))
        return false;
    installed = mem_new(context, struct installed);
    installed->table = offer.table.secret;
    if (!package_offer_open(installed, &offer, selection, call, &installed->base, fault)) {
        talloc_free(installed);
        return false;
    }
    installed->driver = (struct secret_driver){installed->base.id, &operations, installed};
    *driver = &installed->driver;
    return true;
}
