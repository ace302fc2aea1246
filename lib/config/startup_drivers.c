/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup_sections.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/config/format.h"
#include "lib/config/startup.h"

/* The one Compute Driver that gives Harnesses what surrounds them. */
#define SURROUNDED_COMPUTE "compute-kubernetes"

static const struct schema no_fields = {.type = SCHEMA_MAP};
static const struct schema others = {.type = SCHEMA_OTHERS};

static const struct schema_field kubernetes_access[] = {
    {"authentication", true, {.like = &startup_kubernetes_authentication}},
};
static const struct schema kubernetes_client = {SCHEMA_FIELDS(kubernetes_access)};

/* The Drivers that come with OCC, by capability. */
static const struct bundled {
    const char *capability;
    const char *id;
    const struct schema *configuration;
    bool development_only;
} bundled[] = {
    {"iam", "native-iam", &no_fields, false},
    {"configuration", "config-kubernetes", &kubernetes_client, false},
    {"configuration", "config-filesystem", &no_fields, true},
    {"secret", "secret-kubernetes", &kubernetes_client, false},
    {"compute", "compute-kubernetes", &startup_kubernetes_compute, false},
    {"compute", "compute-docker-development", &no_fields, true},
};

static const struct bundled *find_bundled(const char *capability, const char *id)
{
    size_t index;

    for (index = 0; index < COUNT_OF(bundled); index++)
        if (text_equal(bundled[index].capability, capability) && text_equal(bundled[index].id, id))
            return &bundled[index];
    return NULL;
}

static const char *bundled_ids(const struct schema_run *run, const char *capability)
{
    char *list = mem_text(run->context, "");
    size_t index;

    for (index = 0; index < COUNT_OF(bundled); index++)
        if (text_equal(bundled[index].capability, capability) &&
            !(run->production && bundled[index].development_only))
            list = mem_append(list, "%s%s", *list ? " or " : "", bundled[index].id);
    return *list ? list : "none";
}

/* An installed Driver brings its own schema, where this program looks it up. Where it does not, and where the
 * Driver is refused, nobody knows which keys are declared: the configuration is searched for credentials. A
 * program that looks nothing up takes what the schema of a Driver may accept. */
static const struct schema *find_installed(const struct schema_run *run, const struct yaml_node *package,
                                           const struct yaml_node *id, const char *path,
                                           const char *capability)
{
    static const struct schema unknown = {.type = SCHEMA_OTHERS, .reference = true};
    const struct startup_packages *packages = run->packages;
    const char *place = yaml_path(run->context, path, "package");
    const struct schema *schema;
    struct fault fault;

    if (run->production && text_equal(capability, "secret"))
        schema_problem(run, package, place, "STARTUP_FIELD_INVALID",
                       "production needs the bundled Secret Driver, secret-kubernetes");
    else if (packages && yaml_text(package) && !format_package(yaml_text(package)) && yaml_text(id)) {
        if (packages->schema(packages->subject, capability, yaml_text(package), yaml_text(id),
                             run->production, &schema, &fault))
            return schema;
        findings_add_fault(run->findings, yaml_where(run->context, run->file, package, place), &fault);
    }
    return packages ? &others : &unknown;
}

static const struct schema *find_schema(const struct schema_run *run, const struct yaml_node *id,
                                        const char *path, const char *capability)
{
    const struct bundled *driver = find_bundled(capability, yaml_text(id));

    if (!driver && yaml_text(id))
        schema_problem(run, id, yaml_path(run->context, path, "id"), "STARTUP_DRIVER_UNAVAILABLE",
                       "no Driver of this name is bundled; bundled for %s: %s; an installed one needs its "
                       "package beside it",
                       capability, bundled_ids(run, capability));
    else if (driver && driver->development_only && run->production)
        schema_problem(run, id, yaml_path(run->context, path, "id"), "STARTUP_FIELD_INVALID",
                       "is for development only; in production: %s", bundled_ids(run, capability));
    return driver ? driver->configuration : &others;
}

static void check_selection(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    const char *capability = strrchr(path, '.') + 1;
    const struct yaml_node *id = yaml_field(node, "id"), *package = yaml_field(node, "package");
    const struct yaml_node *configuration = yaml_field(node, "configuration");
    const struct yaml_node none = {.kind = YAML_KIND_MAP, .line = node->line, .column = node->column};
    const struct schema *schema =
        package ? find_installed(run, package, id, path, capability) : find_schema(run, id, path, capability);

    if (schema->type != SCHEMA_OTHERS)
        schema_check(run, schema, configuration ? configuration : &none,
                     yaml_path(run->context, path, "configuration"));
    else if (configuration && yaml_text(id))
        schema_check(run, schema, configuration, yaml_path(run->context, path, "configuration"));
}

static const struct schema_field selection_fields[] = {
    {"id", true, {.type = SCHEMA_TEXT, .check = format_driver_id}},
    {"package", false, {.type = SCHEMA_TEXT, .check = format_package}},
    {"configuration", false, {.type = SCHEMA_RULES}},
};
static const struct schema selection = {SCHEMA_FIELDS(selection_fields), .rules = check_selection};

/* The API's own: the shape of a selection, whatever it selects. */
static const struct schema_field others_fields[] = {
    {"id", true, {.type = SCHEMA_TEXT, .check = format_driver_id}},
    {"package", false, {.type = SCHEMA_TEXT}},
    {"configuration", false, {.type = SCHEMA_OTHERS}},
};

static const struct schema_field drivers[] = {
    {"iam", false, {.like = &selection}},
    {"configuration", false, {.like = &selection}},
    {"secret", false, {.like = &selection}},
    {"compute", false, {.like = &selection}},
    {"sandbox", false, {.like = &selection}},
    {"plugin", false, {SCHEMA_FIELDS(others_fields)}},
    {"repo",
     false,
     {.type = SCHEMA_REFUSED,
      .choices = "would change what the worker does, and this version has no such Driver; remove it"}},
    {"credential_gateway",
     false,
     {.type = SCHEMA_REFUSED,
      .choices = "would change what the worker does, and this version has no such Driver; remove it"}},
};

/* A Sandbox Driver beside another Compute Driver would never be called. */
static void check_sandbox(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    const struct yaml_node *sandbox = yaml_field(node, "sandbox");
    const struct yaml_node *compute = yaml_field(node, "compute");

    if (sandbox && !(text_equal(yaml_text(yaml_field(compute, "id")), SURROUNDED_COMPUTE) &&
                     !yaml_field(compute, "package")))
        schema_problem(run, sandbox, yaml_path(run->context, path, "sandbox"), "STARTUP_FIELD_INVALID",
                       "needs the Compute Driver " SURROUNDED_COMPUTE ": no other surrounds its Harnesses");
}

/* Production leaves nothing to defaults. */
static void check_required(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    static const char *const required[] = {"iam", "configuration", "secret", "compute"};
    size_t index;

    for (index = 0; run->production && index < COUNT_OF(required); index++)
        if (!yaml_field(node, required[index]))
            schema_problem(run, node, yaml_path(run->context, path, required[index]), "STARTUP_FIELD_MISSING",
                           "is required in production: %s", bundled_ids(run, required[index]));
    check_sandbox(run, node, path);
}

const struct schema startup_drivers = {SCHEMA_FIELDS(drivers), .rules = check_required};
