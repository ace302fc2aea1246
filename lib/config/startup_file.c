/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup.h"

#include "lib/io/files.h"

struct startup *startup_of_worker(const void *context, const struct worker_settings *settings,
                                  const struct startup_packages *packages, struct findings *findings)
{
    return startup_read(context, settings->config_path, settings->startup_text, settings->mode, packages,
                        findings);
}

struct startup *startup_of_file(const void *context, const char *path, const char *source,
                                enum settings_mode mode, const struct startup_packages *packages,
                                struct findings *findings)
{
    struct secret *text = NULL;
    struct fault fault;

    if (path && !file_read(context, source, "STARTUP_FILE_REJECTED", path, FILE_TRUSTED, YAML_SIZE_MOST,
                           &text, &fault))
        findings_add_fault(findings, source, &fault);
    return startup_read(context, path, text, mode, packages, findings);
}
