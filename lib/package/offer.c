/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/offer.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/package/setting.h"

#include <assert.h>

#define MAINTENANCE_LEAST_MS 1000
#define IMPLEMENTATION_MOST 64

struct operation {
    const char *name;
    size_t offset;
};

#define OPERATION(table, member)                                                                             \
    {                                                                                                        \
#member, offsetof(struct table, member)                                                              \
    }
#define OPERATIONS_MOST 6

/* What each table must have at least: it reaches beyond `least`, and these are not NULL. */
static const struct shape {
    size_t size, least, settings, development_only;
    struct operation required[OPERATIONS_MOST];
} shapes[PACKAGE_CAPABILITIES] = {
#define SHAPE(table)                                                                                         \
    .size = sizeof(struct table), .least = offsetof(struct table, open),                                     \
    .settings = offsetof(struct table, settings),                                                            \
    .development_only = offsetof(struct table, development_only)
    [PACKAGE_COMPUTE] = {SHAPE(occ_compute),
                         .required = {OPERATION(occ_compute, open), OPERATION(occ_compute, preflight),
                                      OPERATION(occ_compute, ensure_namespace),
                                      OPERATION(occ_compute, delete_namespace)}},
    [PACKAGE_IAM] = {SHAPE(occ_iam), .required = {OPERATION(occ_iam, open), OPERATION(occ_iam, preflight),
                                                  OPERATION(occ_iam, decide)}},
    [PACKAGE_CONFIGURATION] = {SHAPE(occ_configuration), .required = {OPERATION(occ_configuration, open),
                                                                      OPERATION(occ_configuration, preflight),
                                                                      OPERATION(occ_configuration, store),
                                                                      OPERATION(occ_configuration, read),
                                                                      OPERATION(occ_configuration, remove)}},
    [PACKAGE_SECRET] = {SHAPE(occ_secret),
                        .required = {OPERATION(occ_secret, open), OPERATION(occ_secret, preflight),
                                     OPERATION(occ_secret, store), OPERATION(occ_secret, read),
                                     OPERATION(occ_secret, remove)}},
    [PACKAGE_SANDBOX] = {SHAPE(occ_sandbox),
                         .required = {OPERATION(occ_sandbox, open), OPERATION(occ_sandbox, preflight),
                                      OPERATION(occ_sandbox, cleanup)}},
};

static bool operation_missing(const struct package_offer *offer, const char *name, const char *why,
                              struct fault *fault)
{
    return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_OPERATION_MISSING",
                     "The %s Driver of the package %s (%s) lacks %s, which is required%s",
                     package_capability_name(offer->capability), offer->package->name, offer->package->path,
                     name, why);
}

static bool is_null(const void *table, size_t offset)
{
    void (*function)(void);

    memcpy(&function, (const char *)table + offset, sizeof function);
    return !function;
}

/* Which operations a Compute must have depends on those that it has. */
static bool check_compute(const struct package_offer *offer, bool production, struct fault *fault)
{
    const struct occ_compute *table = &offer->table.compute;
    const char *runs = " of one that has prepare_revision";

    if (text_is_empty(table->implementation) ||
        strnlen(table->implementation, IMPLEMENTATION_MOST + 1) > IMPLEMENTATION_MOST ||
        !text_is_printable(table->implementation))
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_IMPLEMENTATION_INVALID",
                         "The compute Driver of the package %s (%s) must name its implementation in 1 to 64 "
                         "printable bytes",
                         offer->package->name, offer->package->path);
    if (table->activation_order != OCC_ACTIVATE_AFTER_COMMIT &&
        table->activation_order != OCC_ACTIVATE_BEFORE_COMMIT)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_ACTIVATION_ORDER_INVALID",
                         "The compute Driver of the package %s (%s) has the activation order %d, which there "
                         "is not",
                         offer->package->name, offer->package->path, (int)table->activation_order);
    if (table->maintenance_interval_ms != 0 && table->maintenance_interval_ms < MAINTENANCE_LEAST_MS)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_MAINTENANCE_INTERVAL_INVALID",
                         "The compute Driver of the package %s (%s) asks for maintenance every %lld ms; at "
                         "least %d are possible, 0 for none",
                         offer->package->name, offer->package->path,
                         (long long)table->maintenance_interval_ms, MAINTENANCE_LEAST_MS);
    if (!table->prepare_revision)
        return true;
    if (!table->validate_harness_auth)
        return operation_missing(offer, "validate_harness_auth", runs, fault);
    if (!table->activate_revision)
        return operation_missing(offer, "activate_revision", runs, fault);
    if (!table->deactivate_revision && production)
        return operation_missing(offer, "deactivate_revision", " in production", fault);
    if (!table->stop_revision)
        return operation_missing(offer, "stop_revision", runs, fault);
    if (!table->retire_revision)
        return operation_missing(offer, "retire_revision", runs, fault);
    if (table->provision_agent_credentials && !table->delete_agent_credentials)
        return operation_missing(offer, "delete_agent_credentials",
                                 " of one that has provision_agent_credentials", fault);
    return true;
}

static bool check_identity(const struct package_offer *offer, const struct package_selection *selection,
                           const struct shape *shape, struct fault *fault)
{
    const char *id = offer->table.compute.id; /* each begins with its size and its id */
    const char *capability = package_capability_name(offer->capability);
    const struct package *package = offer->package;
    uint32_t development_only;

    if (!text_equal(id, selection->id)) {
        char shown[OCC_WORD_SIZE];

        (void)text_copy(shown, sizeof shown, id);
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_ID_MISMATCH",
                         "The %s Driver of the package %s (%s) is \"%s\", not %s", capability, package->name,
                         package->path, shown, selection->id);
    }
    memcpy(&development_only, (const char *)&offer->table + shape->development_only, sizeof development_only);
    if (development_only && selection->production)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_DEVELOPMENT_ONLY",
                         "The %s Driver %s of the package %s (%s) is for development only", capability,
                         selection->id, package->name, package->path);
    return true;
}

bool package_offer_find(const struct package_selection *selection, enum package_capability capability,
                        struct package_offer *offer, struct fault *fault)
{
    static_assert(offsetof(struct occ_compute, id) == offsetof(struct occ_iam, id) &&
                      offsetof(struct occ_compute, id) == offsetof(struct occ_configuration, id) &&
                      offsetof(struct occ_compute, id) == offsetof(struct occ_secret, id) &&
                      offsetof(struct occ_compute, id) == offsetof(struct occ_sandbox, id),
                  "every table has its id behind its size");
    const struct shape *shape = &shapes[capability];
    const struct package *package;
    const void *given;
    uint32_t size;
    size_t index;

    if (!package_load(selection->package, &package, fault))
        return false;
    given = package->tables[capability];
    if (!given) {
        TALLOC_CTX *scratch = talloc_new(NULL);

        (void)fault_set(fault, FAULT_CONFIGURATION, "DRIVER_CAPABILITY_MISSING",
                        "The package %s (%s) has no %s Driver; it offers: %s", package->name, package->path,
                        package_capability_name(capability), package_offers(scratch, package));
        talloc_free(scratch);
        return false;
    }
    memcpy(&size, given, sizeof size);
    if (size < shape->least)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_TABLE_SIZE",
                         "The %s Driver of the package %s (%s) has a table of %lu bytes, at least %zu are "
                         "needed",
                         package_capability_name(capability), package->name, package->path,
                         (unsigned long)size, shape->least);
    memset(offer, 0, sizeof *offer);
    offer->package = package;
    offer->capability = capability;
    memcpy(&offer->table, given, size < shape->size ? size : shape->size);
    memcpy(&offer->settings, (const char *)&offer->table + shape->settings, sizeof offer->settings);
    if (!check_identity(offer, selection, shape, fault))
        return false;
    for (index = 0; index < OPERATIONS_MOST && shape->required[index].name; index++)
        if (is_null(&offer->table, shape->required[index].offset))
            return operation_missing(offer, shape->required[index].name, "", fault);
    return capability != PACKAGE_COMPUTE || check_compute(offer, selection->production, fault);
}

bool package_schema(const struct package_selection *selection, enum package_capability capability,
                    const struct schema **schema, struct fault *fault)
{
    static struct kept {
        const struct occ_setting *settings;
        const struct schema *schema;
        struct kept *next;
    } * all;
    struct package_offer offer;
    struct kept *kept;
    const char *problem;

    if (!package_offer_find(selection, capability, &offer, fault))
        return false;
    for (kept = all; kept && kept->settings != offer.settings; kept = kept->next)
        continue;
    if (!kept) {
        kept = mem_new(NULL, struct kept);
        kept->settings = offer.settings;
        problem = setting_schema(kept, offer.settings, &kept->schema);
        if (problem) {
            (void)fault_set(fault, FAULT_CONFIGURATION, "DRIVER_SETTINGS_INVALID",
                            "The settings of the %s Driver of the package %s (%s) are unusable: %s",
                            package_capability_name(capability), offer.package->name, offer.package->path,
                            problem);
            talloc_free(kept);
            return false;
        }
        kept->next = all;
        all = kept;
    }
    *schema = kept->schema;
    return true;
}

/* What Drivers made of themselves lives until the process ends, as nothing closes a Driver: kept from those
 * that look for what was forgotten. */
static void keep(void *self)
{
    static void **kept;
    static size_t count;

    kept = mem_grow(NULL, kept, void *, count + 1);
    kept[count++] = self;
}

/* Every table opens in the same way. */
static enum occ_result call_open(const struct package_offer *offer, struct host_call *host,
                                 const struct occ_open *with, void **self)
{
    switch (offer->capability) {
    case PACKAGE_COMPUTE:
        return offer->table.compute.open(&host->call, with, self, &host->answer);
    case PACKAGE_IAM:
        return offer->table.iam.open(&host->call, with, self, &host->answer);
    case PACKAGE_CONFIGURATION:
        return offer->table.configuration.open(&host->call, with, self, &host->answer);
    case PACKAGE_SECRET:
        return offer->table.secret.open(&host->call, with, self, &host->answer);
    case PACKAGE_SANDBOX:
        break;
    }
    return offer->table.sandbox.open(&host->call, with, self, &host->answer);
}

bool package_offer_open(const void *context, const struct package_offer *offer,
                        const struct package_selection *selection, const struct driver_call *call,
                        struct package_driver *driver, struct fault *fault)
{
    const struct occ_open with = {
        .size = sizeof with,
        .id = selection->id,
        .configuration = setting_json(context, selection->configuration),
        .production = selection->production,
    };
    struct host_call host;
    enum occ_result result;
    bool done;

    *driver = (struct package_driver){
        .package = offer->package,
        .capability = offer->capability,
        .id = mem_text(context, selection->id),
        .resources = context,
    };
    host_begin(&host, driver, call, "open");
    host.at_start = true;
    result = call_open(offer, &host, &with, &driver->self);
    done = host_judge(&host, result, NULL, fault);
    host_end(&host);
    keep(driver->self);
    return done;
}
