/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/probe.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/files.h"

#include <inttypes.h>

#define CODE "HEALTH_UNAVAILABLE"
#define MARKER_MOST 32 /* bytes */

int64_t probe_stale_ms(const struct options *options)
{
    static const struct {
        const char *name;
        int64_t times;
    } limits[] = {{"poll-interval-ms", 240}, {"lease-duration-ms", 6}, {"database-timeout-ms", 2}};
    int64_t stale_ms = 120000, limit_ms;
    size_t index;

    for (index = 0; index < COUNT_OF(limits); index++) {
        limit_ms = (int64_t)options_number(options, limits[index].name) * limits[index].times;
        if (limit_ms > stale_ms)
            stale_ms = limit_ms;
    }
    return stale_ms;
}

/* The time in a marker; false where there is none, with why. */
static bool read_marker(const void *context, const char *setting, const char *path, int64_t *at_ms,
                        struct fault *fault)
{
    struct secret *content;
    uint64_t number;
    char *text;

    if (!file_read(context, setting, CODE, path, FILE_TRUSTED, MARKER_MOST, &content, fault))
        return false;
    text = mem_text(context, secret_expose(content));
    text[strcspn(text, "\n")] = '\0';
    if (!text_to_number(text, INT64_MAX, &number))
        return fault_set(fault, FAULT_CONFIGURATION, CODE, "%s: %s is no marker of a worker", setting, path);
    *at_ms = (int64_t)number;
    return true;
}

static bool look(const void *context, const struct options *options, const char *which, struct fault *fault)
{
    const char *name = mem_format(context, "%s-path", which);
    const char *setting = options_source(options, name);
    const char *path = options_text(options, name);
    const int64_t stale_ms = probe_stale_ms(options);
    int64_t at_ms = 0, age_ms;

    if (!path)
        return fault_set(fault, FAULT_CONFIGURATION, CODE, "%s must name the worker's marker file", setting);
    if (!read_marker(context, setting, path, &at_ms, fault))
        return false;
    age_ms = clock_epoch_ms() - at_ms;
    if (age_ms <= stale_ms)
        return true;
    return fault_set(fault, FAULT_UNAVAILABLE, CODE,
                     "%s: %s is stale: its sign is %" PRId64 " s old, more than %" PRId64 " s", setting, path,
                     age_ms / 1000, stale_ms / 1000);
}

int probe_run(const struct options *options, const char *which)
{
    void *context = talloc_new(NULL);
    struct fault fault;
    bool fresh = look(context, options, which, &fault);

    if (!fresh)
        (void)fprintf(stderr, "occ-worker: not %s: %s\n", text_equal(which, "readiness") ? "ready" : "alive",
                      fault.message);
    talloc_free(context);
    return fresh ? 0 : 1;
}
