/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/format.h"
#include "lib/config/startup_sections.h"

#define REFUSED(reason)                                                                                      \
    {                                                                                                        \
        .type = SCHEMA_REFUSED, .choices = (reason)                                                          \
    }

static const struct schema_field occ[] = {
    {"cluster", false, {.type = SCHEMA_TEXT, .check = format_dns_name}},
};

static const struct schema_field logging[] = {
    {"level", false, {.type = SCHEMA_TEXT, .choices = "debug|info|warn|error"}},
};

static const struct schema_field runtime[] = {
    {"nativeWorkerSupport", false,
     REFUSED("would change what the worker does, which this version cannot; remove it")},
};

static const struct schema_field root_fields[] = {
    {"occ", false, {SCHEMA_FIELDS(occ)}},
    {"logging", false, {SCHEMA_FIELDS(logging)}},
    {"drivers", false, {.like = &startup_drivers}},
    {"presets", false, {.type = SCHEMA_OTHERS}},
    {"observability", false, {.type = SCHEMA_OTHERS}},
    {"backend", false, REFUSED("would change what the worker does, which this version cannot; empty it")},
    {"runtime", false, {SCHEMA_FIELDS(runtime)}},
};

/* What holds for the whole file; one warning for all that is here for the API only. */
static void check_root(const struct schema_run *run, const struct yaml_node *root, const char *path)
{
    static const char *const sections[] = {"presets", "observability", "backend", "drivers.plugin"};
    const struct yaml_node *first = NULL;
    char *names = mem_text(run->context, "");
    size_t index;

    if (run->production && !yaml_field(root, "drivers"))
        schema_missing(run, root, path, "drivers");
    for (index = 0; index < COUNT_OF(sections); index++) {
        const struct yaml_node *node = yaml_at(root, sections[index]);

        if (!node)
            continue;
        first = first ? first : node;
        names = mem_append(names, "%s%s", *names ? ", " : "", sections[index]);
    }
    if (first)
        findings_add(run->findings, FINDING_WARNING, yaml_where(run->context, run->file, first, ""),
                     "STARTUP_SECTION_IGNORED", "used by the API only and ignored here: %s", names);
}

const struct schema startup_schema = {SCHEMA_FIELDS(root_fields), .rules = check_root};

static void take_driver(struct startup_driver *driver, const struct yaml_node *root, const char *path)
{
    const struct yaml_node *selected = yaml_at(root, path);

    if (!yaml_text(yaml_field(selected, "id")))
        return;
    driver->id = yaml_text(yaml_field(selected, "id"));
    driver->package = yaml_text(yaml_field(selected, "package"));
    driver->configuration = yaml_field(selected, "configuration");
}

static void check(const struct yaml_node *root, const char *file, bool production,
                  const struct startup_packages *packages, struct findings *findings)
{
    void *scratch = talloc_new(NULL); /* paths and messages on their way into findings */
    const struct schema_run run = {.context = scratch,
                                   .file = file,
                                   .findings = findings,
                                   .production = production,
                                   .packages = packages};

    schema_check(&run, &startup_schema, root, "");
    schema_check_urls(&run, root, "");
    talloc_free(scratch);
}

struct startup *startup_read(const void *context, const char *file, const struct secret *text,
                             enum settings_mode mode, const struct startup_packages *packages,
                             struct findings *findings)
{
    struct startup *startup = mem_new(context, struct startup);
    const char *level;

    startup->log_level = LOG_INFO;
    startup->file = file ? mem_text(startup, file) : NULL;
    startup->iam.id = "native-iam";
    startup->compute.id = "compute-docker-development";
    if (!text)
        return startup;
    startup->root = yaml_read(startup, file, secret_expose(text), secret_length(text), findings);
    if (!startup->root)
        return startup;
    check(startup->root, file, mode == MODE_PRODUCTION, packages, findings);
    level = yaml_text(yaml_at(startup->root, "logging.level"));
    if (level && !log_level_from_text(level, &startup->log_level))
        startup->log_level = LOG_INFO; /* has its finding */
    startup->cluster = yaml_text(yaml_at(startup->root, "occ.cluster"));
    take_driver(&startup->iam, startup->root, "drivers.iam");
    take_driver(&startup->configuration, startup->root, "drivers.configuration");
    take_driver(&startup->secret, startup->root, "drivers.secret");
    take_driver(&startup->compute, startup->root, "drivers.compute");
    take_driver(&startup->sandbox, startup->root, "drivers.sandbox");
    return startup;
}
