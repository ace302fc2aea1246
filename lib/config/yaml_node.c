/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/yaml.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

static bool matches(const char *text, const char *const *words, size_t count)
{
    size_t index;

    for (index = 0; index < count; index++)
        if (text_equal(text, words[index]))
            return true;
    return false;
}

/* Numbers of the core schema: decimal integers, 0o and 0x, fractions and exponents, .inf and .nan. */
static bool is_number(const char *text)
{
    static const char *const special[] = {".inf", ".Inf", ".INF", "+.inf", "-.inf", ".nan", ".NaN", ".NAN"};
    size_t whole, fraction = 0;

    if (matches(text, special, COUNT_OF(special)))
        return true;
    if (text[0] == '0' && text[1] == 'o' && text[2])
        return strspn(text + 2, "01234567") == strlen(text + 2);
    if (text[0] == '0' && text[1] == 'x' && text[2])
        return strspn(text + 2, "0123456789abcdefABCDEF") == strlen(text + 2);
    text += *text == '-' || *text == '+';
    whole = strspn(text, "0123456789");
    text += whole;
    if (*text == '.') {
        fraction = strspn(++text, "0123456789");
        text += fraction;
    }
    if (!whole && !fraction)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        if (!*text)
            return false;
        text += strspn(text, "0123456789");
    }
    return !*text;
}

enum yaml_kind yaml_plain_kind(const char *text)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const booleans[] = {"true", "True", "TRUE", "false", "False", "FALSE"};

    if (matches(text, nulls, COUNT_OF(nulls)))
        return YAML_KIND_NULL;
    if (matches(text, booleans, COUNT_OF(booleans)))
        return YAML_KIND_BOOLEAN;
    return is_number(text) ? YAML_KIND_NUMBER : YAML_KIND_TEXT;
}

char *yaml_where(const void *context, const char *file, const struct yaml_node *node, const char *path)
{
    return mem_format(context, "%s:%zu:%zu%s%s", file, node->line, node->column, *path ? " " : "", path);
}

char *yaml_path(const void *context, const char *path, const char *key)
{
    static const char shown[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";

    if (strlen(key) > 64 || strspn(key, shown) != strlen(key))
        key = "(key)";
    return *path ? mem_format(context, "%s.%s", path, key) : mem_text(context, key);
}

const struct yaml_node *yaml_field(const struct yaml_node *node, const char *name)
{
    size_t index;

    if (!node || node->kind != YAML_KIND_MAP)
        return NULL;
    for (index = 0; index < node->count; index++)
        if (strcmp(node->keys[index]->text, name) == 0)
            return node->items[index];
    return NULL;
}

const struct yaml_node *yaml_at(const struct yaml_node *node, const char *path)
{
    char name[64];

    while (node && *path) {
        size_t length = strcspn(path, ".");

        if (length >= sizeof name)
            return NULL;
        memcpy(name, path, length);
        name[length] = '\0';
        node = yaml_field(node, name);
        path += length + (path[length] == '.');
    }
    return node;
}

const char *yaml_text(const struct yaml_node *node)
{
    if (!node || node->kind == YAML_KIND_MAP || node->kind == YAML_KIND_LIST ||
        node->kind == YAML_KIND_NULL || node->kind == YAML_KIND_BROKEN)
        return NULL;
    return node->text;
}
