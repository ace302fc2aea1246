/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/host.h"

#include "lib/base/text.h"
#include "lib/driver/secret.h"
#include "lib/package/subject.h"

static enum occ_result host_secret_read(const struct occ_call *call, const struct occ_secret_place *given,
                                        const char **bytes, size_t *length, struct occ_answer *answer)
{
    struct host_call *host = host_of(call);
    const struct secret_driver *secrets = host->outer->secrets;
    struct driver_call inner = *host->outer;
    struct occ_secret_place place;
    const struct secret *value;
    struct secret_place asked;
    struct fault fault;

    if (host->driver->capability != PACKAGE_COMPUTE && host->driver->capability != PACKAGE_SANDBOX)
        return host_call_invalid(host, "secret_read is for Compute and Sandbox Drivers", answer);
    HOST_TAKE(place, given);
    if (!place.secret_id || !place.driver_id || !place.namespace_id || !place.backend_namespace_name ||
        !place.backend_name || !place.backend_key)
        return host_call_invalid(host, "secret_read needs a whole place", answer);
    if (!secrets || !text_equal(secrets->id, place.driver_id)) {
        (void)fault_set(&fault, FAULT_PERMANENT, "SECRET_DRIVER_MISMATCH",
                        "The Secret %s is kept by the Secret Driver %s; selected is %s", place.secret_id,
                        place.driver_id, secrets ? secrets->id : "none");
        return host_answer(host, &fault, answer);
    }
    asked = subject_secret_place(&place);
    /* Its waits end with ours, and what it returns is wiped with what the Driver has of it. */
    inner.memory = host->memory;
    inner.watch = &host->watch;
    if (!secrets->operations->read(secrets->self, &inner, &asked, &value, &fault))
        return host_answer(host, &fault, answer);
    *bytes = secret_expose(value);
    *length = secret_length(value);
    return OCC_READY;
}

void host_add_secret(struct occ_host *table)
{
    table->secret_read = host_secret_read;
}
