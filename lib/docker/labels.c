/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/docker/labels.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/http.h"

static const char managed_value[] = "true";
static const char driver_value[] = "docker";

void docker_labels_add(cJSON *labels, const struct docker_owner *owner)
{
    json_add_text(labels, DOCKER_LABEL_MANAGED, managed_value);
    json_add_text(labels, DOCKER_LABEL_COMPUTE_DRIVER, driver_value);
    json_add_text(labels, DOCKER_LABEL_NAMESPACE_ID, owner->namespace_id);
    if (!text_is_empty(owner->installation_id))
        json_add_text(labels, DOCKER_LABEL_INSTALLATION_ID, owner->installation_id);
}

static bool says(const cJSON *labels, const char *name, const char *value)
{
    const char *found = json_text(labels, name);

    return found != NULL && text_equal(found, value);
}

const char *docker_labels_mismatch(const cJSON *labels, const struct docker_owner *owner)
{
    if (!says(labels, DOCKER_LABEL_MANAGED, managed_value))
        return DOCKER_LABEL_MANAGED;
    if (!says(labels, DOCKER_LABEL_COMPUTE_DRIVER, driver_value))
        return DOCKER_LABEL_COMPUTE_DRIVER;
    if (!says(labels, DOCKER_LABEL_NAMESPACE_ID, owner->namespace_id))
        return DOCKER_LABEL_NAMESPACE_ID;
    if (json_member(labels, DOCKER_LABEL_INSTALLATION_ID) != NULL &&
        !says(labels, DOCKER_LABEL_INSTALLATION_ID, owner->installation_id))
        return DOCKER_LABEL_INSTALLATION_ID;
    return NULL;
}

const char *docker_labels_filter(const void *context, const struct docker_owner *owner)
{
    TALLOC_CTX *scratch = talloc_new(NULL);
    cJSON *filters = json_new_object(scratch);
    cJSON *wanted = json_add_array(filters, "label");
    const char *value;

    json_append_text(wanted, mem_format(scratch, "%s=%s", DOCKER_LABEL_MANAGED, managed_value));
    json_append_text(wanted, mem_format(scratch, "%s=%s", DOCKER_LABEL_COMPUTE_DRIVER, driver_value));
    json_append_text(wanted, mem_format(scratch, "%s=%s", DOCKER_LABEL_NAMESPACE_ID, owner->namespace_id));
    value = http_escape(context, json_write(scratch, filters));
    talloc_free(scratch);
    return value;
}
