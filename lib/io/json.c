/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/json.h"

#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/io/json_scan.h"

#define LARGEST_INTEGER 9007199254740992.0 /* 2^53: beyond it a double skips integers */

/* ---- Ownership: a tree is cJSON's own memory; a holder on the context deletes its root. */

struct holder {
    cJSON *root;
    bool secret;
};

/* What is read is at most 64 levels deep, and what is built is flatter. */
static void wipe_texts(const cJSON *value)
{
    const cJSON *child;

    if (cJSON_IsString(value))
        secret_wipe(value->valuestring, strlen(value->valuestring));
    cJSON_ArrayForEach(child, value)
    {
        wipe_texts(child);
    }
}

static int holder_free(struct holder *holder)
{
    if (holder->secret)
        wipe_texts(holder->root);
    cJSON_Delete(holder->root);
    return 0;
}

static cJSON *hold(const void *context, cJSON *root, bool secret)
{
    struct holder *holder;

    if (!root)
        mem_exhausted();
    holder = mem_new(context, struct holder);
    holder->root = root;
    holder->secret = secret;
    talloc_set_destructor(holder, holder_free);
    return root;
}

/* ---- Reading */

static int compare_names(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* Sorted, so that a hostile answer with very many members costs no square of them. */
static bool has_duplicate(const cJSON *object)
{
    size_t count = (size_t)cJSON_GetArraySize(object);
    const char **names;
    const cJSON *member;
    size_t filled = 0;
    bool duplicate = false;

    if (count < 2)
        return false;
    names = mem_array(NULL, const char *, count);
    cJSON_ArrayForEach(member, object)
    {
        names[filled++] = member->string;
    }
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count && !duplicate; i++)
        duplicate = strcmp(names[i - 1], names[i]) == 0;
    talloc_free(names);
    return duplicate;
}

/* The scan has bounded the depth of this recursion. */
static bool any_duplicate(const cJSON *value)
{
    const cJSON *child;

    if (cJSON_IsObject(value) && has_duplicate(value))
        return true;
    cJSON_ArrayForEach(child, value)
    {
        if (any_duplicate(child))
            return true;
    }
    return false;
}

static const cJSON *read_tree(const void *context, const char *text, size_t length, bool secret)
{
    cJSON *root;

    if (!text || !json_scan(text, length))
        return NULL;
    root = cJSON_ParseWithLength(text, length);
    if (!root)
        return NULL;
    if (any_duplicate(root)) {
        if (secret)
            wipe_texts(root);
        cJSON_Delete(root);
        return NULL;
    }
    return hold(context, root, secret);
}

const cJSON *json_read(const void *context, const char *text, size_t length)
{
    return read_tree(context, text, length, false);
}

const cJSON *json_read_secret(const void *context, const char *text, size_t length)
{
    return read_tree(context, text, length, true);
}

const cJSON *json_member(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const char *json_text(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(json_member(object, name));
}

const cJSON *json_object(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);

    return cJSON_IsObject(member) ? member : NULL;
}

const cJSON *json_array(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);

    return cJSON_IsArray(member) ? member : NULL;
}

bool json_number(const cJSON *object, const char *name, int64_t *number)
{
    const cJSON *member = json_member(object, name);
    double value;

    if (!cJSON_IsNumber(member))
        return false;
    value = member->valuedouble;
    if (!(value >= -LARGEST_INTEGER && value <= LARGEST_INTEGER) || (double)(int64_t)value < value ||
        (double)(int64_t)value > value)
        return false;
    *number = (int64_t)value;
    return true;
}

bool json_boolean(const cJSON *object, const char *name, bool *value)
{
    const cJSON *member = json_member(object, name);

    if (!cJSON_IsBool(member))
        return false;
    *value = cJSON_IsTrue(member);
    return true;
}

/* ---- Building */

cJSON *json_new_object(const void *context)
{
    return hold(context, cJSON_CreateObject(), false);
}

cJSON *json_new_secret_object(const void *context)
{
    return hold(context, cJSON_CreateObject(), true);
}

cJSON *json_new_secret_array(const void *context)
{
    return hold(context, cJSON_CreateArray(), true);
}

cJSON *json_new_array(const void *context)
{
    return hold(context, cJSON_CreateArray(), false);
}

/* A member set twice has its last value. */
static cJSON *put(cJSON *object, const char *name, cJSON *value)
{
    if (!value)
        mem_exhausted();
    cJSON_DeleteItemFromObjectCaseSensitive(object, name);
    if (!cJSON_AddItemToObject(object, name, value))
        mem_exhausted();
    return value;
}

static cJSON *append(cJSON *array, cJSON *value)
{
    if (!value || !cJSON_AddItemToArray(array, value))
        mem_exhausted();
    return value;
}

void json_add_text(cJSON *object, const char *name, const char *text)
{
    (void)put(object, name, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void json_add_number(cJSON *object, const char *name, int64_t number)
{
    (void)put(object, name, cJSON_CreateNumber((double)number));
}

void json_add_boolean(cJSON *object, const char *name, bool value)
{
    (void)put(object, name, cJSON_CreateBool(value));
}

void json_add_copy(cJSON *object, const char *name, const cJSON *value)
{
    (void)put(object, name, value ? cJSON_Duplicate(value, true) : cJSON_CreateNull());
}

cJSON *json_add_object(cJSON *object, const char *name)
{
    return put(object, name, cJSON_CreateObject());
}

cJSON *json_add_array(cJSON *object, const char *name)
{
    return put(object, name, cJSON_CreateArray());
}

void json_append_text(cJSON *array, const char *text)
{
    (void)append(array, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void json_append_copy(cJSON *array, const cJSON *value)
{
    (void)append(array, value ? cJSON_Duplicate(value, true) : cJSON_CreateNull());
}

cJSON *json_append_object(cJSON *array)
{
    return append(array, cJSON_CreateObject());
}
