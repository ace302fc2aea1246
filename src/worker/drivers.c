/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/drivers.h"

#include "lib/docker/driver.h"

bool drivers_open_compute(const void *context, const struct worker_settings *settings,
                          const struct startup *startup, const struct compute_driver **driver,
                          struct fault *fault)
{
    const struct compute_entry entries[] = {docker_compute_entry};
    const struct compute_registry registry = {entries, COUNT_OF(entries)};
    const struct compute_selection selection = {.id = startup->compute.id};
    const struct compute_settings compute = {
        .production = settings->mode == MODE_PRODUCTION,
        .docker_socket_path = settings->docker_socket,
    };

    return registry_open_compute(context, &registry, &selection, &compute, driver, fault);
}
