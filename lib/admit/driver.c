/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/driver.h"

#include "lib/base/clock.h"

struct driver_call driver_call_new(const struct caller *caller, const void *memory)
{
    return (struct driver_call){
        .memory = memory,
        .watch = caller->driver_watch ? caller->driver_watch : caller->watch,
        .installation_id = caller->installation->id,
        .deadline_ms = clock_now_ms() + ADMIT_DRIVER_TIMEOUT_MS,
    };
}

bool driver_failed(struct fault *fault)
{
    if (fault->class == FAULT_PENDING || fault->class == FAULT_RETRYABLE)
        fault->class = FAULT_UNAVAILABLE;
    else if (fault->class == FAULT_PERMANENT)
        fault->class = FAULT_CONFLICT;
    return false;
}
