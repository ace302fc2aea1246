/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/setting.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/io/json.h"

#define DEPTH_MOST 8
#define FIELDS_MOST 200
#define NAME_MOST 64
/* What a Driver reads back from JSON exactly. */
#define NUMBER_MOST 9007199254740991u

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char name_characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

static const char *convert_map(const void *context, const struct occ_setting *table, bool credential,
                               unsigned depth, struct schema *schema);

static bool is_name(const char *name)
{
    size_t length = strnlen(name, NAME_MOST + 1);

    return length >= 1 && length <= NAME_MOST && strchr(letters, name[0]) &&
           strspn(name, name_characters) == length;
}

/* `credential`: its name, or one above it, means one. */
static const char *convert(const void *context, const struct occ_setting *setting, bool credential,
                           unsigned depth, struct schema *schema)
{
    struct schema *item;

    switch (setting->type) {
    case OCC_SETTING_TEXT:
        *schema = (struct schema){.type = SCHEMA_TEXT, .choices = setting->choices};
        schema->reference = credential && !setting->choices;
        return NULL;
    case OCC_SETTING_NUMBER:
        *schema = (struct schema){.type = SCHEMA_NUMBER, .least = setting->least, .most = setting->most};
        if (!schema->most)
            schema->most = NUMBER_MOST;
        return schema->least <= schema->most && schema->most <= NUMBER_MOST
                   ? NULL
                   : "a number's limits contradict each other or lie beyond 2^53";
    case OCC_SETTING_BOOLEAN:
        *schema = (struct schema){.type = SCHEMA_BOOLEAN};
        return NULL;
    case OCC_SETTING_MAP:
        return convert_map(context, setting->settings, credential, depth + 1, schema);
    case OCC_SETTING_TEXTS:
        item = mem_new(context, struct schema);
        *item = (struct schema){.type = SCHEMA_TEXT, .choices = setting->choices};
        item->reference = credential && !setting->choices;
        *schema = (struct schema){
            .type = SCHEMA_LIST, .item = item, .least = setting->least, .most = setting->most};
        return !setting->most || setting->least <= setting->most ? NULL
                                                                 : "a list's limits contradict each other";
    }
    return "a type that there is not";
}

static const char *convert_map(const void *context, const struct occ_setting *table, bool credential,
                               unsigned depth, struct schema *schema)
{
    struct schema_field *fields;
    const char *problem;
    size_t count = 0, index, other;

    if (depth > DEPTH_MOST)
        return "more than 8 levels";
    while (table && table[count].name) {
        if (++count > FIELDS_MOST)
            return "more than 200 settings in one mapping, or no end of the list";
    }
    fields = mem_array(context, struct schema_field, count + 1);
    for (index = 0; index < count; index++) {
        const struct occ_setting *setting = &table[index];

        if (!is_name(setting->name))
            return "a name that is none: at most 64 letters, digits, _ and -, beginning with a letter";
        for (other = 0; other < index; other++)
            if (text_equal(table[other].name, setting->name))
                return mem_format(context, "%s stands twice", setting->name);
        problem = convert(context, setting, credential || schema_key_means_credential(setting->name), depth,
                          &fields[index].schema);
        if (problem)
            return mem_format(context, "%s: %s", setting->name, problem);
        fields[index].name = setting->name;
        fields[index].required = setting->required;
    }
    *schema = (struct schema){.type = SCHEMA_MAP, .fields = fields, .count = count};
    return NULL;
}

const char *setting_schema(const void *context, const struct occ_setting *table, const struct schema **schema)
{
    struct schema *made = mem_new(context, struct schema);
    const char *problem = convert_map(made, table, false, 1, made);

    *schema = made;
    return problem;
}

static void add(cJSON *object, const char *name, const struct yaml_node *node)
{
    uint64_t number;
    cJSON *list;
    size_t index;

    switch (node->kind) {
    case YAML_KIND_MAP:
        list = json_add_object(object, name);
        for (index = 0; index < node->count; index++)
            add(list, node->keys[index]->text, node->items[index]);
        break;
    case YAML_KIND_LIST:
        list = json_add_array(object, name);
        for (index = 0; index < node->count; index++)
            json_append_text(list, node->items[index]->text);
        break;
    case YAML_KIND_NUMBER:
        if (text_to_number(node->text, NUMBER_MOST, &number))
            json_add_number(object, name, (int64_t)number);
        break;
    case YAML_KIND_BOOLEAN:
        json_add_boolean(object, name, strchr("tT", node->text[0]) != NULL);
        break;
    case YAML_KIND_TEXT:
        json_add_text(object, name, node->text);
        break;
    case YAML_KIND_NULL:
    case YAML_KIND_BROKEN:
        break;
    }
}

const char *setting_json(const void *context, const struct yaml_node *node)
{
    TALLOC_CTX *scratch = talloc_new(NULL);
    cJSON *object = json_new_object(scratch);
    const char *text;
    size_t index;

    for (index = 0; node && index < node->count; index++)
        add(object, node->keys[index]->text, node->items[index]);
    text = json_write(context, object);
    talloc_free(scratch);
    return text;
}
