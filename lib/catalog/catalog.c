/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/catalog/catalog.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/docker/driver.h"
#include "lib/filesystem/driver.h"
#include "lib/kubernetes/driver.h"
#include "lib/package/installed.h"

/* A Driver that comes with this program; its capability's open function follows from that. */
struct bundled {
    enum package_capability capability;
    const char *id;
    bool development_only;
    bool (*open_compute)(const void *context, const struct catalog_settings *settings,
                         const struct startup_driver *selected, const struct sandbox_driver *sandbox,
                         const struct compute_driver **driver, struct fault *fault);
    bool (*open_configuration)(const void *context, const struct catalog_settings *settings,
                               const struct startup_driver *selected,
                               const struct configuration_driver **driver, struct fault *fault);
    bool (*open_secret)(const void *context, const struct catalog_settings *settings,
                        const struct startup_driver *selected, const struct secret_driver **driver,
                        struct fault *fault);
};

static bool open_docker(const void *context, const struct catalog_settings *settings,
                        const struct startup_driver *selected, const struct sandbox_driver *sandbox,
                        const struct compute_driver **driver, struct fault *fault)
{
    (void)selected;
    (void)sandbox;
    return docker_open_compute(context, settings->docker_socket_path, driver, fault);
}

/* Its root is told to those alone that admit Configurations. */
static bool open_filesystem(const void *context, const struct catalog_settings *settings,
                            const struct startup_driver *selected, const struct configuration_driver **driver,
                            struct fault *fault)
{
    (void)selected;
    if (!settings->configuration_root) {
        *driver = NULL;
        return true;
    }
    return filesystem_open_configuration(context, settings->configuration_root, driver, fault);
}

static bool open_kubernetes_compute(const void *context, const struct catalog_settings *settings,
                                    const struct startup_driver *selected,
                                    const struct sandbox_driver *sandbox,
                                    const struct compute_driver **driver, struct fault *fault)
{
    (void)settings;
    (void)fault;
    kubernetes_open_compute(context, selected->configuration, sandbox, driver);
    return true;
}

static bool open_kubernetes_configuration(const void *context, const struct catalog_settings *settings,
                                          const struct startup_driver *selected,
                                          const struct configuration_driver **driver, struct fault *fault)
{
    (void)settings;
    (void)fault;
    kubernetes_open_configuration(context, selected->configuration, driver);
    return true;
}

static bool open_kubernetes_secret(const void *context, const struct catalog_settings *settings,
                                   const struct startup_driver *selected, const struct secret_driver **driver,
                                   struct fault *fault)
{
    (void)settings;
    (void)fault;
    kubernetes_open_secret(context, selected->configuration, driver);
    return true;
}

static const struct bundled all_bundled[] = {
    {PACKAGE_COMPUTE, DOCKER_COMPUTE_ID, .development_only = true, .open_compute = open_docker},
    {PACKAGE_COMPUTE, KUBERNETES_COMPUTE_ID, .open_compute = open_kubernetes_compute},
    {PACKAGE_CONFIGURATION, FILESYSTEM_CONFIGURATION_ID, .development_only = true,
     .open_configuration = open_filesystem},
    {PACKAGE_CONFIGURATION, KUBERNETES_CONFIGURATION_ID, .open_configuration = open_kubernetes_configuration},
    {PACKAGE_SECRET, KUBERNETES_SECRET_ID, .open_secret = open_kubernetes_secret},
};

/* How messages and codes call a capability. */
static const struct naming {
    const char *people, *unavailable, *refused;
} namings[PACKAGE_CAPABILITIES] = {
    [PACKAGE_COMPUTE] = {"Compute", "COMPUTE_DRIVER_UNAVAILABLE", "COMPUTE_DRIVER_REFUSED"},
    [PACKAGE_IAM] = {"IAM", "IAM_DRIVER_UNAVAILABLE", "IAM_DRIVER_REFUSED"},
    [PACKAGE_CONFIGURATION] = {"Configuration", "CONFIGURATION_DRIVER_UNAVAILABLE",
                               "CONFIGURATION_DRIVER_REFUSED"},
    [PACKAGE_SECRET] = {"Secret", "SECRET_DRIVER_UNAVAILABLE", "SECRET_DRIVER_REFUSED"},
    [PACKAGE_SANDBOX] = {"Sandbox", "SANDBOX_DRIVER_UNAVAILABLE", "SANDBOX_DRIVER_REFUSED"},
};

static const char *available(const void *context, enum package_capability capability)
{
    char *list = mem_text(context, capability == PACKAGE_IAM ? CATALOG_NATIVE_IAM : "");
    size_t index;

    for (index = 0; index < COUNT_OF(all_bundled); index++)
        if (all_bundled[index].capability == capability)
            list = mem_append(list, "%s%s", *list ? ", " : "", all_bundled[index].id);
    return *list ? list : "none";
}

static bool find(enum package_capability capability, const struct catalog_settings *settings,
                 const struct startup_driver *selected, const struct bundled **found, struct fault *fault)
{
    const struct naming *naming = &namings[capability];
    TALLOC_CTX *scratch;
    size_t index;

    for (index = 0; index < COUNT_OF(all_bundled); index++) {
        const struct bundled *bundled = &all_bundled[index];

        if (bundled->capability != capability || !text_equal(bundled->id, selected->id))
            continue;
        if (bundled->development_only && settings->production)
            return fault_set(fault, FAULT_CONFIGURATION, naming->refused,
                             "drivers.%s.id: the %s Driver %s is for development only and cannot be selected "
                             "in production",
                             package_capability_name(capability), naming->people, bundled->id);
        *found = bundled;
        return true;
    }
    scratch = talloc_new(NULL);
    (void)fault_set(fault, FAULT_CONFIGURATION, naming->unavailable,
                    "drivers.%s.id: the %s Driver %s is not part of this build; available: %s",
                    package_capability_name(capability), naming->people,
                    text_is_empty(selected->id) ? "(none selected)" : selected->id,
                    available(scratch, capability));
    talloc_free(scratch);
    return false;
}

static bool find_schema(void *subject, const char *capability_name, const char *package, const char *id,
                        bool production, const struct schema **schema, struct fault *fault)
{
    const struct package_selection selection = {.package = package, .id = id, .production = production};
    enum package_capability capability;

    (void)subject;
    if (!package_capability_from_name(capability_name, &capability))
        return fault_set(fault, FAULT_BUG, "DRIVER_CAPABILITY_UNKNOWN", "drivers.%s is no capability",
                         capability_name);
    return package_schema(&selection, capability, schema, fault);
}

const struct startup_packages catalog_packages = {NULL, find_schema};

/* The selection of an installed Driver. Its configuration is checked where nobody has done so: a program that
 * opens one Driver of a startup YAML does not load the others' packages for it. */
static bool select_package(const struct catalog_settings *settings, const struct startup *startup,
                           const struct startup_driver *selected, enum package_capability capability,
                           struct package_selection *selection, struct fault *fault)
{
    const struct yaml_node nothing = {.kind = YAML_KIND_MAP, .line = 1, .column = 1};
    const struct schema *schema;
    struct schema_run run = {.file = startup->file ? startup->file : "", .production = settings->production};
    TALLOC_CTX *scratch;
    bool good;

    *selection = (struct package_selection){
        .package = selected->package,
        .id = selected->id,
        .production = settings->production,
        .configuration = selected->configuration,
    };
    if (!package_schema(selection, capability, &schema, fault))
        return false;
    scratch = talloc_new(NULL);
    run.context = scratch;
    run.findings = findings_new(scratch);
    schema_check(&run, schema, selected->configuration ? selected->configuration : &nothing,
                 mem_format(scratch, "drivers.%s.configuration", package_capability_name(capability)));
    good = findings_check(run.findings, fault);
    talloc_free(scratch);
    return good;
}

bool catalog_open_compute(const void *context, const struct catalog_settings *settings,
                          const struct startup *startup, const struct sandbox_driver *sandbox,
                          const struct driver_call *call, const struct compute_driver **driver,
                          struct fault *fault)
{
    const struct startup_driver *selected = &startup->compute;
    struct package_selection selection;
    const struct bundled *bundled;

    if (selected->package)
        return select_package(settings, startup, selected, PACKAGE_COMPUTE, &selection, fault) &&
               package_open_compute(context, &selection, call, driver, fault);
    return find(PACKAGE_COMPUTE, settings, selected, &bundled, fault) &&
           bundled->open_compute(context, settings, selected, sandbox, driver, fault);
}

bool catalog_open_secret(const void *context, const struct catalog_settings *settings,
                         const struct startup *startup, const struct driver_call *call,
                         const struct secret_driver **driver, struct fault *fault)
{
    const struct startup_driver *selected = &startup->secret;
    struct package_selection selection;
    const struct bundled *bundled;

    if (selected->package)
        return select_package(settings, startup, selected, PACKAGE_SECRET, &selection, fault) &&
               package_open_secret(context, &selection, call, driver, fault);
    if (!selected->id) {
        *driver = NULL;
        return true;
    }
    return find(PACKAGE_SECRET, settings, selected, &bundled, fault) &&
           bundled->open_secret(context, settings, selected, driver, fault);
}

bool catalog_open_configuration(const void *context, const struct catalog_settings *settings,
                                const struct startup *startup, const struct driver_call *call,
                                const struct configuration_driver **driver, struct fault *fault)
{
    const struct startup_driver *selected = &startup->configuration;
    struct package_selection selection;
    const struct bundled *bundled;

    if (selected->package)
        return select_package(settings, startup, selected, PACKAGE_CONFIGURATION, &selection, fault) &&
               package_open_configuration(context, &selection, call, driver, fault);
    if (!selected->id) {
        *driver = NULL;
        return true;
    }
    return find(PACKAGE_CONFIGURATION, settings, selected, &bundled, fault) &&
           bundled->open_configuration(context, settings, selected, driver, fault);
}

bool catalog_open_authority(const void *context, const struct catalog_settings *settings,
                            const struct startup *startup, const struct driver_call *call,
                            const struct authority **authority, struct fault *fault)
{
    const struct startup_driver *selected = &startup->iam;
    struct package_selection selection;
    const struct bundled *bundled;

    if (selected->package)
        return select_package(settings, startup, selected, PACKAGE_IAM, &selection, fault) &&
               package_open_authority(context, &selection, call, authority, fault);
    if (text_equal(selected->id, CATALOG_NATIVE_IAM)) {
        *authority = NULL;
        return true;
    }
    return find(PACKAGE_IAM, settings, selected, &bundled, fault);
}

bool catalog_open_sandbox(const void *context, const struct catalog_settings *settings,
                          const struct startup *startup, const struct driver_call *call,
                          const struct sandbox_driver **driver, struct fault *fault)
{
    const struct startup_driver *selected = &startup->sandbox;
    struct package_selection selection;
    const struct bundled *bundled;

    if (selected->package)
        return select_package(settings, startup, selected, PACKAGE_SANDBOX, &selection, fault) &&
               package_open_sandbox(context, &selection, call, driver, fault);
    if (!selected->id) {
        *driver = NULL;
        return true;
    }
    return find(PACKAGE_SANDBOX, settings, selected, &bundled, fault);
}

const char *catalog_package_version(const struct startup_driver *selected)
{
    return selected->package ? package_version(selected->package) : NULL;
}
