/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/drivers.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/docker/driver.h"
#include "lib/filesystem/driver.h"

struct drivers {
    const struct startup *startup;
    const struct compute_driver *compute;
    const struct configuration_driver *configuration;
};

static struct drivers *opened(struct ctl *ctl)
{
    if (!ctl->drivers)
        ctl->drivers = mem_new(ctl->memory, struct drivers);
    return ctl->drivers;
}

static bool none_selected(const char *code, const char *capability, const char *section, struct fault *fault)
{
    return fault_set(fault, FAULT_CONFIGURATION, code,
                     "No %s Driver is selected: %s of the startup YAML (OCC_CONFIG_PATH) selects one.",
                     capability, section);
}

static bool not_here(const char *code, const char *section, const char *id, struct fault *fault)
{
    return fault_set(fault, FAULT_CONFIGURATION, code,
                     "%s: occctl has no Driver %s in this version; install one, or select another.", section,
                     id);
}

bool drivers_startup(struct ctl *ctl, const struct startup **startup, struct fault *fault)
{
    struct drivers *drivers = opened(ctl);

    if (!drivers->startup) {
        struct findings *findings = findings_new(drivers);
        const char *path = settings_config_path(ctl->options, findings, ctl->mode);
        const struct startup *read =
            startup_of_file(drivers, path, options_source(ctl->options, "config-path"), ctl->mode, findings);

        if (!findings_check(findings, fault))
            return false;
        drivers->startup = read;
    }
    *startup = drivers->startup;
    return true;
}

bool drivers_compute(struct ctl *ctl, const struct compute_driver **driver, struct fault *fault)
{
    static const struct compute_registry registry = {&docker_compute_entry, 1};
    /* occctl asks Compute what it can do, and never reaches the Engine. */
    const struct compute_settings settings = {
        .production = ctl->mode == MODE_PRODUCTION,
        .docker_socket_path = "/var/run/docker.sock",
    };
    struct drivers *drivers = opened(ctl);
    const struct startup *startup;

    if (!drivers->compute) {
        if (!drivers_startup(ctl, &startup, fault) ||
            !registry_open_compute(drivers, &registry, &(struct compute_selection){.id = startup->compute.id},
                                   &settings, &drivers->compute, fault))
            return false;
    }
    *driver = drivers->compute;
    return true;
}

/* Development without a startup YAML keeps documents in files, wherever the variable says. */
bool drivers_configuration(struct ctl *ctl, const struct configuration_driver **driver, struct fault *fault)
{
    static const char code[] = "CONFIGURATION_DRIVER_UNAVAILABLE", files[] = "config-filesystem";
    struct drivers *drivers = opened(ctl);
    const struct startup *startup;
    const char *id;

    if (!drivers->configuration) {
        if (!drivers_startup(ctl, &startup, fault))
            return false;
        id = startup->configuration.id ? startup->configuration.id : files;
        if (!text_equal(id, files))
            return not_here(code, "drivers.configuration", id, fault);
        if (!filesystem_open_configuration(drivers,
                                           options_text(ctl->options, "development-configuration-root"),
                                           &drivers->configuration, fault))
            return false;
    }
    *driver = drivers->configuration;
    return true;
}

bool drivers_secret_id(struct ctl *ctl, const char **id, struct fault *fault)
{
    const struct startup *startup;

    if (!drivers_startup(ctl, &startup, fault))
        return false;
    if (!startup->secret.id)
        return none_selected("SECRET_DRIVER_UNAVAILABLE", "Secret", "drivers.secret", fault);
    *id = startup->secret.id;
    return true;
}

bool drivers_secret(struct ctl *ctl, const struct secret_driver **driver, struct fault *fault)
{
    const char *id;

    *driver = NULL;
    return drivers_secret_id(ctl, &id, fault) &&
           not_here("SECRET_DRIVER_UNAVAILABLE", "drivers.secret", id, fault);
}

bool drivers_authority(struct ctl *ctl, const struct authority **authority, struct fault *fault)
{
    const struct startup *startup;

    if (!drivers_startup(ctl, &startup, fault))
        return false;
    if (!text_equal(startup->iam.id, IAM_NATIVE))
        return not_here("IAM_DRIVER_UNAVAILABLE", "drivers.iam", startup->iam.id, fault);
    *authority = NULL;
    return true;
}
