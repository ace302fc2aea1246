/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/iam/permission.h"

#include "lib/base/identifier.h"
#include "lib/base/text.h"

const struct iam_permission iam_permissions[] = {
    {"installation", "read"},
    {"installation", "administer"},
    {"namespace", "create"},
    {"namespace", "read"},
    {"namespace", "delete"},
    {"configuration", "create"},
    {"configuration", "read"},
    {"configuration", "update"},
    {"configuration", "delete"},
    {"service_account", "create"},
    {"service_account", "read"},
    {"service_account", "update"},
    {"service_account", "delete"},
    {"secret", "create"},
    {"secret", "read"},
    {"secret", "update"},
    {"secret", "delete"},
    {"secret", "operate"},
    {"agent", "create"},
    {"agent", "read"},
    {"agent", "update"},
    {"agent", "delete"},
    {"agent", "deploy"},
    {"agent", "operate"},
    {"agent", "administer"},
    {"agent_revision", "read"},
};
const size_t iam_permissions_count = COUNT_OF(iam_permissions);

static const struct {
    const char *kind;
    const char *prefix;
} prefixes[] = {
    {"installation", "ins_"}, {"namespace", "ns_"}, {"configuration", "cfg_"},  {"service_account", "sa_"},
    {"secret", "sec_"},       {"agent", "agt_"},    {"agent_revision", "rev_"},
};

bool iam_is_resource_kind(const char *kind)
{
    size_t index;

    for (index = 0; index < COUNT_OF(prefixes); index++) {
        if (text_equal(prefixes[index].kind, kind))
            return true;
    }
    return false;
}

/* "read, create or delete": the actions of a kind, or the kinds where there is no such kind. */
static void list_choices(char *list, size_t size, const char *kind)
{
    size_t index, length = 0;

    list[0] = '\0';
    for (index = 0; index < (kind ? COUNT_OF(iam_permissions) : COUNT_OF(prefixes)); index++) {
        const char *item = kind ? iam_permissions[index].action : prefixes[index].kind;

        if (kind && !text_equal(iam_permissions[index].resource_kind, kind))
            continue;
        (void)snprintf(list + length, size - length, "%s%s", length ? ", " : "", item);
        length = strlen(list);
    }
}

bool iam_permission_parse(const char *text, const struct iam_permission **permission, struct fault *fault)
{
    const char *colon = strchr(text, ':');
    char kind[32] = "", choices[256];
    size_t index;

    if (colon && (size_t)(colon - text) < sizeof kind) {
        memcpy(kind, text, (size_t)(colon - text));
        for (index = 0; index < COUNT_OF(iam_permissions); index++) {
            if (text_equal(iam_permissions[index].resource_kind, kind) &&
                text_equal(iam_permissions[index].action, colon + 1)) {
                *permission = &iam_permissions[index];
                return true;
            }
        }
    }
    if (!iam_is_resource_kind(kind)) {
        list_choices(choices, sizeof choices, NULL);
        return fault_set(fault, FAULT_INVALID, "PERMISSION_UNKNOWN",
                         "There is no permission \"%.100s\": one is KIND:ACTION, with the kinds %s.", text,
                         choices);
    }
    list_choices(choices, sizeof choices, kind);
    return fault_set(fault, FAULT_INVALID, "PERMISSION_UNKNOWN",
                     "There is no permission \"%.100s\": the actions on a resource of kind %s are %s.", text,
                     kind, choices);
}

bool iam_resource_parse(const char *text, const char **kind, const char **id, struct fault *fault)
{
    const char *colon = strchr(text, ':');
    size_t index;

    for (index = 0; colon && index < COUNT_OF(prefixes); index++) {
        if (strlen(prefixes[index].kind) == (size_t)(colon - text) &&
            strncmp(prefixes[index].kind, text, (size_t)(colon - text)) == 0 &&
            identifier_is(colon + 1, prefixes[index].prefix)) {
            *kind = prefixes[index].kind;
            *id = colon + 1;
            return true;
        }
    }
    return fault_set(
        fault, FAULT_INVALID, "RESOURCE_INVALID",
        "\"%.200s\" names no resource: one is KIND:ID, such as namespace:ns_… with its whole identifier.",
        text);
}
