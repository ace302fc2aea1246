/* SPDX-License-Identifier: MIT
 *
 * The Drivers that the startup YAML selects, as occctl uses them. This is the only place of it that opens
 * any: each once, when a command first asks for it; they live until occctl ends.
 *
 * Faults of all: FAULT_CONFIGURATION for the startup YAML (the first problem's code) and for a Driver that
 * cannot be opened; <CAPABILITY>_DRIVER_UNAVAILABLE where none is selected, or where this version has none of
 * that name.
 */
#ifndef OCC_CTL_DRIVERS_H
#define OCC_CTL_DRIVERS_H

#include "lib/config/startup.h"
#include "lib/driver/authority.h"
#include "lib/driver/compute.h"
#include "lib/driver/configuration.h"
#include "lib/driver/sandbox.h"
#include "src/ctl/ctl.h"

/* The startup YAML itself, read once; without a file, what development selects by itself. */
bool drivers_startup(struct ctl *ctl, const struct startup **startup, struct fault *fault) MUST_USE;

/* With the Sandbox Driver, where that was asked for before. */
bool drivers_compute(struct ctl *ctl, const struct compute_driver **driver, struct fault *fault) MUST_USE;
bool drivers_configuration(struct ctl *ctl, const struct configuration_driver **driver,
                           struct fault *fault) MUST_USE;
bool drivers_secret(struct ctl *ctl, const struct secret_driver **driver, struct fault *fault) MUST_USE;

/* Which Secret Driver is selected, without opening it. */
bool drivers_secret_id(struct ctl *ctl, const char **id, struct fault *fault) MUST_USE;

/* NULL: none is selected. */
bool drivers_sandbox(struct ctl *ctl, const struct sandbox_driver **driver, struct fault *fault) MUST_USE;

/* Who decides what callers are granted; NULL: native IAM. */
bool drivers_authority(struct ctl *ctl, const struct authority **authority, struct fault *fault) MUST_USE;

#endif
