/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/driver/registry.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

static const char *available(const void *context, const struct compute_registry *registry)
{
    char *list = mem_text(context, "");
    size_t index;

    for (index = 0; index < registry->count; index++)
        list = mem_append(list, "%s%s", index == 0 ? "" : ", ", registry->entries[index].id);
    return text_is_empty(list) ? "none" : list;
}

static bool find(const struct compute_registry *registry, const struct compute_selection *selection,
                 const struct compute_entry **entry, struct fault *fault)
{
    TALLOC_CTX *scratch;
    size_t index;

    if (text_is_empty(selection->package)) {
        for (index = 0; index < registry->count; index++) {
            if (!text_equal(registry->entries[index].id, selection->id))
                continue;
            *entry = &registry->entries[index];
            return true;
        }
    }
    scratch = talloc_new(NULL);
    if (!text_is_empty(selection->package))
        (void)fault_set(fault, FAULT_CONFIGURATION, "COMPUTE_DRIVER_UNAVAILABLE",
                        "The Compute Driver %s asks for the installed package %s, but this build loads no "
                        "packages; available: %s",
                        selection->id, selection->package, available(scratch, registry));
    else
        (void)fault_set(fault, FAULT_CONFIGURATION, "COMPUTE_DRIVER_UNAVAILABLE",
                        "The Compute Driver %s is not part of this build; available: %s",
                        text_is_empty(selection->id) ? "(none selected)" : selection->id,
                        available(scratch, registry));
    talloc_free(scratch);
    return false;
}

bool registry_select_compute(const struct compute_registry *registry,
                             const struct compute_selection *selection,
                             const struct compute_settings *settings, const struct compute_entry **entry,
                             struct fault *fault)
{
    const struct compute_entry *found;

    if (!find(registry, selection, &found, fault))
        return false;
    if (found->development_only && settings->production)
        return fault_set(fault, FAULT_CONFIGURATION, "COMPUTE_DRIVER_REFUSED",
                         "The Compute Driver %s is for development only and cannot be selected in production",
                         found->id);
    if (!found->validate(settings, fault))
        return false;
    *entry = found;
    return true;
}

bool registry_open_compute(const void *context, const struct compute_registry *registry,
                           const struct compute_selection *selection, const struct compute_settings *settings,
                           const struct compute_driver **driver, struct fault *fault)
{
    const struct compute_entry *entry;

    return registry_select_compute(registry, selection, settings, &entry, fault) &&
           entry->open(context, settings, driver, fault);
}
