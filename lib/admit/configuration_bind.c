/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/configuration_change.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/store/stored_secret.h"

#define BINDINGS_MOST 100
#define NAME_MOST 200

struct binding {
    const char *name;
    const char *secret_id;
};

struct bindings {
    struct binding *all;
    size_t count;
};

static void read_bindings(const void *memory, const char *json, size_t room, struct bindings *bindings)
{
    const cJSON *list = json_read(memory, json, strlen(json)), *item;

    bindings->all = mem_array(memory, struct binding, (size_t)cJSON_GetArraySize(list) + room + 1);
    bindings->count = 0;
    cJSON_ArrayForEach(item, list)
    {
        bindings->all[bindings->count++] =
            (struct binding){json_text(item, "name"), json_text(json_object(item, "source"), "id")};
    }
}

static struct binding *find_binding(const struct bindings *bindings, const char *name)
{
    size_t index;

    for (index = 0; index < bindings->count; index++) {
        if (text_equal(bindings->all[index].name, name))
            return &bindings->all[index];
    }
    return NULL;
}

/* The name becomes a variable's, a key's or a file's, wherever the runtime finds the value. */
static bool check_name(const char *text, const char *name, struct fault *fault)
{
    const size_t length = strlen(name);

    if (length >= 1 && length <= NAME_MOST &&
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.") == length &&
        name[0] != '.' && name[0] != '-')
        return true;
    return fault_set(
        fault, FAULT_INVALID, "BINDING_INVALID",
        "A binding is NAME=SECRET, and its name has 1 to %d letters, digits, \"_\", \"-\" and \".\", "
        "the first of them none of the last two: \"%s\" has not.",
        NAME_MOST, text);
}

/* The row is held until the commit: no foreign key keeps a Secret that is bound from being deleted meanwhile.
 */
static bool find_secret(struct admission *admission, const char *namespace_id, const char *text,
                        const char **id, struct fault *fault)
{
    struct iam_question question = {
        .action = "read", .resource_kind = "secret", .namespace_id = namespace_id};
    struct stored_secret_row *found;

    if (!stored_secret_find(admission->connection, admission->memory, namespace_id, text, true,
                            admission->watch, &found, fault))
        return false;
    if (!found)
        return fault_set(fault, FAULT_NOT_FOUND, "SECRET_NOT_FOUND",
                         "There is no Secret with the ID or exact name \"%s\" in the Namespace %s.", text,
                         namespace_id);
    question.resource_id = *id = found->id;
    return admission_authorize(admission, &question, fault);
}

static bool add(struct admission *admission, const char *namespace_id, const char *text,
                struct bindings *bindings, struct fault *fault)
{
    const char *equals = strchr(text, '=');
    const char *name, *secret_id = NULL;
    struct binding *binding;

    name = equals ? mem_text_part(admission->memory, text, (size_t)(equals - text)) : "";
    if (!check_name(text, name, fault) ||
        !find_secret(admission, namespace_id, equals + 1, &secret_id, fault))
        return false;
    binding = find_binding(bindings, name);
    if (!binding)
        binding = &bindings->all[bindings->count++];
    *binding = (struct binding){name, secret_id};
    return true;
}

static bool take_away(const char *name, struct bindings *bindings, struct fault *fault)
{
    struct binding *binding = find_binding(bindings, name);

    if (!binding)
        return fault_set(fault, FAULT_NOT_FOUND, "BINDING_NOT_FOUND",
                         "The Configuration binds no Secret as \"%s\".", name);
    *binding = bindings->all[--bindings->count];
    return true;
}

static int compare_bindings(const void *one, const void *other)
{
    return strcmp(((const struct binding *)one)->name, ((const struct binding *)other)->name);
}

static const char *write_bindings(const void *memory, const char *namespace_id,
                                  const struct bindings *bindings)
{
    cJSON *list = json_new_array(memory);
    size_t index;

    qsort(bindings->all, bindings->count, sizeof *bindings->all, compare_bindings);
    for (index = 0; index < bindings->count; index++) {
        cJSON *item = json_append_object(list), *source;

        json_add_text(item, "name", bindings->all[index].name);
        source = json_add_object(item, "source");
        json_add_text(source, "kind", "secret");
        json_add_text(source, "namespaceId", namespace_id);
        json_add_text(source, "id", bindings->all[index].secret_id);
    }
    return json_write(memory, list);
}

bool configuration_bind(struct admission *admission, const char *namespace_id, const char *bindings,
                        const struct configuration_request *request, const char **changed,
                        struct fault *fault)
{
    struct bindings list;
    size_t index;

    read_bindings(admission->memory, bindings, request->binding_count, &list);
    for (index = 0; index < request->unbound_count; index++) {
        if (!take_away(request->unbound[index], &list, fault))
            return false;
    }
    for (index = 0; index < request->binding_count; index++) {
        if (!add(admission, namespace_id, request->bindings[index], &list, fault))
            return false;
    }
    if (list.count > BINDINGS_MOST)
        return fault_set(fault, FAULT_INVALID, "BINDING_INVALID",
                         "A Configuration binds at most %d Secrets; these would be %zu.", BINDINGS_MOST,
                         list.count);
    *changed = write_bindings(admission->memory, namespace_id, &list);
    return true;
}
