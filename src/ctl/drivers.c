/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/ctl/drivers.h"

#include "lib/admit/driver.h"
#include "lib/base/log.h"
#include "lib/base/memory.h"
#include "lib/catalog/catalog.h"
#include "lib/filesystem/driver.h"

struct drivers {
    const struct startup *startup;
    const struct compute_driver *compute;
    const struct configuration_driver *configuration;
    const struct secret_driver *secret;
    const struct sandbox_driver *sandbox;
    const struct authority *authority;
    bool authority_is_known;
};

static struct drivers *opened(struct ctl *ctl)
{
    if (!ctl->drivers) {
        ctl->drivers = mem_new(ctl->memory, struct drivers);
        /* An installed Driver has records to write; only what an operator must know is for here. */
        log_open("occctl");
        log_set_level(LOG_WARN);
    }
    return ctl->drivers;
}

static bool none_selected(const char *code, const char *capability, const char *section, struct fault *fault)
{
    return fault_set(
        fault, FAULT_CONFIGURATION, code,
        "No %s Driver is selected: %s of the startup YAML (OCC_CONFIG_PATH) selects one, bundled or "
        "installed; see occ-installation.yaml(5).",
        capability, section);
}

/* occctl asks Compute what it can do, and never reaches the Engine. */
static struct catalog_settings settings_of(const struct ctl *ctl)
{
    const char *root = options_text(ctl->options, "development-configuration-root");

    return (struct catalog_settings){
        .production = ctl->mode == MODE_PRODUCTION,
        .docker_socket_path = "/var/run/docker.sock",
        .configuration_root = root ? root : "",
    };
}

bool drivers_startup(struct ctl *ctl, const struct startup **startup, struct fault *fault)
{
    struct drivers *drivers = opened(ctl);

    if (!drivers->startup) {
        struct findings *findings = findings_new(drivers);
        const char *path = settings_config_path(ctl->options, findings, ctl->mode);
        const struct startup *read = startup_of_file(
            drivers, path, options_source(ctl->options, "config-path"), ctl->mode, NULL, findings);

        if (!findings_check(findings, fault))
            return false;
        drivers->startup = read;
    }
    *startup = drivers->startup;
    return true;
}

bool drivers_compute(struct ctl *ctl, const struct compute_driver **driver, struct fault *fault)
{
    const struct catalog_settings settings = settings_of(ctl);
    const struct driver_call call = driver_call_new(ctl->caller, ctl->memory);
    struct drivers *drivers = opened(ctl);
    const struct startup *startup;

    if (!drivers->compute && (!drivers_startup(ctl, &startup, fault) ||
                              !catalog_open_compute(drivers, &settings, startup, drivers->sandbox, &call,
                                                    &drivers->compute, fault)))
        return false;
    *driver = drivers->compute;
    return true;
}

/* Development without a startup YAML keeps documents in files, wherever the variable says. */
bool drivers_configuration(struct ctl *ctl, const struct configuration_driver **driver, struct fault *fault)
{
    const struct catalog_settings settings = settings_of(ctl);
    const struct driver_call call = driver_call_new(ctl->caller, ctl->memory);
    struct drivers *drivers = opened(ctl);
    const struct startup *startup;
    struct startup selected;

    if (!drivers->configuration) {
        if (!drivers_startup(ctl, &startup, fault))
            return false;
        selected = *startup;
        if (!selected.configuration.id)
            selected.configuration.id = FILESYSTEM_CONFIGURATION_ID;
        if (!catalog_open_configuration(drivers, &settings, &selected, &call, &drivers->configuration, fault))
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
    const struct catalog_settings settings = settings_of(ctl);
    const struct driver_call call = driver_call_new(ctl->caller, ctl->memory);
    struct drivers *drivers = opened(ctl);
    const struct startup *startup;
    const char *id;

    if (!drivers->secret &&
        (!drivers_secret_id(ctl, &id, fault) || !drivers_startup(ctl, &startup, fault) ||
         !catalog_open_secret(drivers, &settings, startup, &call, &drivers->secret, fault)))
        return false;
    *driver = drivers->secret;
    return true;
}

bool drivers_sandbox(struct ctl *ctl, const struct sandbox_driver **driver, struct fault *fault)
{
    const struct catalog_settings settings = settings_of(ctl);
    const struct driver_call call = driver_call_new(ctl->caller, ctl->memory);
    struct drivers *drivers = opened(ctl);
    const struct startup *startup;

    if (!drivers->sandbox &&
        (!drivers_startup(ctl, &startup, fault) ||
         !catalog_open_sandbox(drivers, &settings, startup, &call, &drivers->sandbox, fault)))
        return false;
    *driver = drivers->sandbox;
    return true;
}

bool drivers_authority(struct ctl *ctl, const struct authority **authority, struct fault *fault)
{
    const struct catalog_settings settings = settings_of(ctl);
    const struct driver_call call = driver_call_new(ctl->caller, ctl->memory);
    struct drivers *drivers = opened(ctl);
    const struct startup *startup;

    if (!drivers->authority_is_known) {
        if (!drivers_startup(ctl, &startup, fault) ||
            !catalog_open_authority(drivers, &settings, startup, &call, &drivers->authority, fault))
            return false;
        drivers->authority_is_known = true;
    }
    *authority = drivers->authority;
    return true;
}
