/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/marker.h"

#include "lib/base/clock.h"
#include "lib/io/files.h"

#include <inttypes.h>
#include <unistd.h>

bool marker_write(struct marker *marker, bool *told, struct fault *fault)
{
    char text[32];

    *told = false;
    if (!marker->path)
        return true;
    (void)snprintf(text, sizeof text, "%" PRId64 "\n", clock_epoch_ms());
    if (file_replace(marker->path, "HEALTH_UNAVAILABLE", text, fault)) {
        marker->failing = false;
        return true;
    }
    *told = !marker->failing;
    marker->failing = true;
    return false;
}

void marker_remove(const struct marker *marker)
{
    if (marker->path)
        (void)unlink(marker->path);
}
