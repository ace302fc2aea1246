/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/preflight.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/driver/harness.h"

#include <string.h>

/* One of the selected Drivers, whatever its capability. */
struct look {
    struct preflight *preflight;
    const char *people; /* "Compute" */
    const char *fact;   /* the prefix of its facts: "compute" */
    const struct startup_driver *selected;
    struct catalog_settings settings;
    struct driver_call call;
};

static struct look begin(struct preflight *preflight, const char *people, const char *fact,
                         const struct startup_driver *selected)
{
    struct child *child = preflight->child;
    const char *package = selected->package;

    if (package)
        child_step(child, mem_format(child, "the preflight of the %s Driver %s (package %s)", people,
                                     selected->id, package));
    else if (selected->id)
        child_step(child, mem_format(child, "the preflight of the %s Driver %s", people, selected->id));
    return (struct look){
        .preflight = preflight,
        .people = people,
        .fact = fact,
        .selected = selected,
        .settings = child_catalog_settings(child),
        .call = child_driver_call(child, preflight->installation_id),
    };
}

static void end(const struct look *look, bool done, const struct fault *fault)
{
    child_step(look->preflight->child, NULL);
    child_harden(); /* whatever the code of a package did */
    if (done)
        return;
    /* The words of a package need not say whose they are. */
    if (look->selected->package && !strstr(fault->message, look->selected->id) &&
        !strstr(fault->message, look->selected->package)) {
        struct fault named = *fault;

        (void)fault_set(&named, fault->class, fault->code, "the %s Driver %s (package %s): %s", look->people,
                        look->selected->id, look->selected->package, fault->message);
        (void)fault_depends(&named, fault->dependency, fault->cause);
        preflight_problem(look->preflight, &named);
        return;
    }
    preflight_problem(look->preflight, fault);
}

static void tell(const struct look *look, const char *id)
{
    const char *version = catalog_package_version(look->selected);
    struct child *child = look->preflight->child;

    preflight_fact(look->preflight, mem_format(child, "%sDriverId", look->fact), id);
    if (look->selected->package)
        preflight_fact(look->preflight, mem_format(child, "%sPackage", look->fact),
                       mem_format(child, "%s%s%s", look->selected->package, text_is_empty(version) ? "" : " ",
                                  version ? version : ""));
}

static void tell_warnings(struct preflight *preflight, const struct compute_observation *seen,
                          const char *capability)
{
    size_t index;

    for (index = 0; index < seen->warnings; index++) {
        struct fault fault = {.class = FAULT_NONE};

        (void)fault_set(&fault, FAULT_PENDING, seen->warning[index].code, "%s", seen->warning[index].message);
        (void)fault_depends(&fault, capability, "");
        preflight_finding(preflight, REPORT_WARNING, &fault);
    }
}

static void check_compute(struct preflight *preflight, const struct startup *startup,
                          const struct sandbox_driver *sandbox)
{
    const struct look look = begin(preflight, "Compute", "compute", &startup->compute);
    struct compute_observation seen = {.warnings = 0};
    const struct compute_driver *driver;
    struct fault fault;
    bool done =
        catalog_open_compute(preflight->child, &look.settings, startup, sandbox, &look.call, &driver, &fault);

    if (done) {
        tell(&look, driver->id);
        preflight_fact(preflight, "computeImplementation", driver->implementation);
        done = driver->operations->preflight(driver->self, &look.call, &seen, &fault);
    }
    end(&look, done, &fault);
    tell_warnings(preflight, &seen, "compute");
}

static void check_secret(struct preflight *preflight, const struct startup *startup)
{
    const struct look look = begin(preflight, "Secret", "secret", &startup->secret);
    const struct secret_driver *driver;
    struct fault fault;
    bool done = catalog_open_secret(preflight->child, &look.settings, startup, &look.call, &driver, &fault);

    if (done && driver) {
        tell(&look, driver->id);
        done =
            !driver->operations->preflight || driver->operations->preflight(driver->self, &look.call, &fault);
    }
    end(&look, done, &fault);
}

/* The worker itself never asks it: a revision has its document. But its admissions need it, and here is where
 * an operator looks. */
static void check_configuration(struct preflight *preflight, const struct startup *startup)
{
    const struct look look = begin(preflight, "Configuration", "configuration", &startup->configuration);
    const struct configuration_driver *driver;
    struct fault fault;
    bool done =
        catalog_open_configuration(preflight->child, &look.settings, startup, &look.call, &driver, &fault);

    if (done && startup->configuration.id)
        tell(&look, startup->configuration.id);
    if (done && driver && driver->operations->preflight)
        done = driver->operations->preflight(driver->self, &look.call, &fault);
    end(&look, done, &fault);
}

static void check_authority(struct preflight *preflight, const struct startup *startup)
{
    const struct look look = begin(preflight, "IAM", "iam", &startup->iam);
    const struct authority *authority;
    struct fault fault;
    bool done =
        catalog_open_authority(preflight->child, &look.settings, startup, &look.call, &authority, &fault);

    if (done)
        tell(&look, startup->iam.id);
    if (done && authority && authority->operations->preflight)
        done = authority->operations->preflight(authority->self, &look.call, &fault);
    end(&look, done, &fault);
}

/* NULL: none is selected, or it cannot be opened, which is told. */
static const struct sandbox_driver *check_sandbox(struct preflight *preflight, const struct startup *startup)
{
    const struct look look = begin(preflight, "Sandbox", "sandbox", &startup->sandbox);
    const struct sandbox_driver *driver = NULL;
    struct fault fault;
    bool done = catalog_open_sandbox(preflight->child, &look.settings, startup, &look.call, &driver, &fault);

    if (done && driver) {
        tell(&look, driver->id);
        done =
            !driver->operations->preflight || driver->operations->preflight(driver->self, &look.call, &fault);
    }
    end(&look, done, &fault);
    return driver;
}

void preflight_drivers(struct preflight *preflight)
{
    const struct startup *startup = preflight->child->startup;
    const struct sandbox_driver *sandbox = check_sandbox(preflight, startup);

    check_compute(preflight, startup, sandbox);
    check_secret(preflight, startup);
    check_configuration(preflight, startup);
    check_authority(preflight, startup);
}

void preflight_harnesses(struct preflight *preflight)
{
    char name[FACT_NAME_SIZE];
    size_t index;

    for (index = 0; index < harness_count; index++) {
        (void)snprintf(name, sizeof name, "harness.%s/%s", harness_list[index].id, harness_list[index].mode);
        preflight_fact(preflight, name, harness_list[index].version);
    }
}
