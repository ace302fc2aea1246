/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/startup_sections.h"

#include "lib/base/text.h"
#include "lib/config/format.h"

static void check_mode(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    static const char *const kubeconfig_fields[] = {"kubeconfigPath", "context"};
    const char *mode = yaml_text(yaml_field(node, "mode"));
    size_t index;

    for (index = 0; index < COUNT_OF(kubeconfig_fields); index++) {
        const struct yaml_node *field = yaml_field(node, kubeconfig_fields[index]);

        if (text_equal(mode, "kubeconfig") && !field)
            schema_missing(run, node, path, kubeconfig_fields[index]);
        else if (text_equal(mode, "inCluster") && field)
            schema_problem(run, field, yaml_path(run->context, path, kubeconfig_fields[index]),
                           "STARTUP_FIELD_INVALID", "must not be given with mode inCluster");
    }
}

static const struct schema_field fields[] = {
    {"mode", true, {.type = SCHEMA_TEXT, .choices = "inCluster|kubeconfig"}},
    {"kubeconfigPath", false, {.type = SCHEMA_TEXT, .check = format_absolute_path}},
    {"context", false, {.type = SCHEMA_TEXT}},
};

const struct schema startup_kubernetes_authentication = {SCHEMA_FIELDS(fields), .rules = check_mode};
