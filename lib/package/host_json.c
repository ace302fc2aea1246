/* SPDX-License-Identifier: MIT
 *
 * A value of the interface is cJSON's own; a Driver has no way to look into it.
 */
#include "lib/base/build.h"

#include "lib/package/host.h"

#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/io/json.h"

#define LARGEST_INTEGER 9007199254740992.0

static const cJSON *inner(const struct occ_json *value)
{
    return (const cJSON *)(const void *)value;
}

static const struct occ_json *outer(const cJSON *value)
{
    return (const struct occ_json *)(const void *)value;
}

/* A tree hangs on this, which wipes its texts before the tree goes. */
struct read {
    const cJSON *root;
};

/* What was read is at most 64 levels deep. */
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

static int read_free(struct read *read)
{
    wipe_texts(read->root);
    return 0;
}

static const struct occ_json *host_json_read(const struct occ_call *call, const char *text, size_t length)
{
    struct read *read = mem_new(host_of(call)->memory, struct read);

    read->root = json_read(read, text, length);
    talloc_set_destructor(read, read_free);
    return outer(read->root);
}

static enum occ_json_kind host_json_kind(const struct occ_json *value)
{
    const cJSON *json = inner(value);

    if (!json)
        return OCC_JSON_NONE;
    if (cJSON_IsObject(json))
        return OCC_JSON_OBJECT;
    if (cJSON_IsArray(json))
        return OCC_JSON_LIST;
    if (cJSON_IsString(json))
        return OCC_JSON_TEXT;
    if (cJSON_IsNumber(json))
        return OCC_JSON_NUMBER;
    return cJSON_IsBool(json) ? OCC_JSON_BOOLEAN : OCC_JSON_NULL;
}

static const struct occ_json *host_json_member(const struct occ_json *object, const char *name)
{
    return cJSON_IsObject(inner(object)) ? outer(json_member(inner(object), name)) : NULL;
}

/* A list is a chain, which a Driver walks by index: where it was last is remembered, so that a walk costs no
 * square of the list's length, for as many lists at once as loops are in each other. */
#define CURSORS 8

struct cursor {
    const cJSON *list; /* NULL: none */
    const cJSON *item;
    size_t index, count;
    uint64_t used;
};

static struct cursor cursors[CURSORS];
static uint64_t uses;

void host_forget_json(void)
{
    memset(cursors, 0, sizeof cursors);
}

static struct cursor *cursor_of(const cJSON *list)
{
    struct cursor *oldest = cursors;
    size_t index;

    for (index = 0; index < CURSORS && cursors[index].list != list; index++)
        if (cursors[index].used < oldest->used)
            oldest = &cursors[index];
    if (index == CURSORS)
        *oldest =
            (struct cursor){.list = list, .item = list->child, .count = (size_t)cJSON_GetArraySize(list)};
    else
        oldest = &cursors[index];
    oldest->used = ++uses;
    return oldest;
}

static size_t host_json_count(const struct occ_json *list)
{
    return cJSON_IsArray(inner(list)) ? cursor_of(inner(list))->count : 0;
}

static const struct occ_json *host_json_item(const struct occ_json *list, size_t index)
{
    struct cursor *cursor = cJSON_IsArray(inner(list)) ? cursor_of(inner(list)) : NULL;

    if (!cursor || index >= cursor->count)
        return NULL;
    if (index < cursor->index) {
        cursor->item = cursor->list->child;
        cursor->index = 0;
    }
    for (; cursor->index < index; cursor->index++)
        cursor->item = cursor->item->next;
    return outer(cursor->item);
}

static const char *host_json_text(const struct occ_json *value, const char *fallback)
{
    return cJSON_IsString(inner(value)) ? inner(value)->valuestring : fallback;
}

static int64_t host_json_number(const struct occ_json *value, int64_t fallback)
{
    double number;

    if (!cJSON_IsNumber(inner(value)))
        return fallback;
    number = inner(value)->valuedouble;
    if (!(number >= -LARGEST_INTEGER && number <= LARGEST_INTEGER) || (double)(int64_t)number < number ||
        (double)(int64_t)number > number)
        return 0;
    return (int64_t)number;
}

static int host_json_boolean(const struct occ_json *value, int fallback)
{
    return cJSON_IsBool(inner(value)) ? cJSON_IsTrue(inner(value)) : fallback;
}

static const char *host_json_quote(const struct occ_call *call, const char *text)
{
    const cJSON value = {.type = cJSON_String, .valuestring = (char *)text};

    return host_wiped((char *)(uintptr_t)json_write(host_of(call)->memory, &value));
}

void host_add_json(struct occ_host *table)
{
    table->json_read = host_json_read;
    table->json_kind = host_json_kind;
    table->json_member = host_json_member;
    table->json_item = host_json_item;
    table->json_count = host_json_count;
    table->json_text = host_json_text;
    table->json_number = host_json_number;
    table->json_boolean = host_json_boolean;
    table->json_quote = host_json_quote;
}
