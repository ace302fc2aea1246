/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/driver/compute.h"

#include "lib/base/text.h"

#include <stdarg.h>

bool compute_runs_agents(const struct compute_driver *driver)
{
    return driver->operations->prepare_revision != NULL;
}

void compute_warn(struct compute_observation *seen, const char *code, const char *format, ...)
{
    va_list arguments;
    size_t index = seen->warnings;

    if (index == COMPUTE_WARNINGS)
        return;
    text_copy(seen->warning[index].code, sizeof seen->warning[index].code, code);
    va_start(arguments, format);
    (void)vsnprintf(seen->warning[index].message, sizeof seen->warning[index].message, format, arguments);
    va_end(arguments);
    text_make_line(seen->warning[index].message);
    seen->warnings = index + 1;
}
