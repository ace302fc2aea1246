/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/schema.h"

#include "lib/base/identifier.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"

#define TEXT_MOST 1024
#define LIST_MOST 1000
#define INVALID "STARTUP_FIELD_INVALID"

void schema_problem(const struct schema_run *run, const struct yaml_node *node, const char *path,
                    const char *code, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = mem_format_list(run->context, format, arguments);
    va_end(arguments);
    findings_add(run->findings, FINDING_PROBLEM, yaml_where(run->context, run->file, node, path), code, "%s",
                 text);
}

void schema_missing(const struct schema_run *run, const struct yaml_node *node, const char *path,
                    const char *field)
{
    schema_problem(run, node, yaml_path(run->context, path, field), "STARTUP_FIELD_MISSING", "is required");
}

/* "a, b or c" of "a|b|c". */
static char *alternatives(const void *context, const char *choices)
{
    char *text = mem_text(context, "");

    while (*choices) {
        size_t length = strcspn(choices, "|");
        bool last = !choices[length];

        text = mem_append(text, "%s%.*s", !*text ? "" : last ? " or " : ", ", (int)length, choices);
        choices += length + !last;
    }
    return text;
}

static bool is_one_of(const char *choices, const char *text)
{
    size_t wanted = strlen(text);

    while (*choices) {
        size_t length = strcspn(choices, "|");

        if (length == wanted && memcmp(choices, text, length) == 0)
            return true;
        choices += length + (choices[length] == '|');
    }
    return false;
}

/* Literals below keys that the schema does not know. `tainted`: a key above means a credential. */
static bool is_reference(const char *text)
{
    return *text == '/' || identifier_is(text, "sec_");
}

/* `references`: they are taken where a credential is not. */
static void check_undeclared(const struct schema_run *run, const struct yaml_node *node, const char *path,
                             bool tainted, bool references)
{
    size_t index;

    if (tainted && *(node->text ? node->text : "") && !(references && is_reference(node->text)) &&
        (node->kind == YAML_KIND_TEXT || node->kind == YAML_KIND_NUMBER))
        schema_problem(run, node, path, "STARTUP_CREDENTIAL",
                       "looks like a credential by its name; credentials do not belong into this file");
    for (index = 0; index < node->count; index++) {
        const struct yaml_node *key = node->kind == YAML_KIND_MAP ? node->keys[index] : NULL;

        check_undeclared(run, node->items[index],
                         key ? yaml_path(run->context, path, key->text)
                             : mem_format(run->context, "%s[%zu]", path, index),
                         tainted || (key && schema_key_means_credential(key->text)), references);
    }
}

static void check_text(const struct schema_run *run, const struct schema *schema,
                       const struct yaml_node *node, const char *path)
{
    const char *expected = NULL;

    if (node->kind != YAML_KIND_TEXT)
        expected = node->kind == YAML_KIND_NUMBER || node->kind == YAML_KIND_BOOLEAN
                       ? "must be text; write it in quotes"
                       : "must be text";
    else if (!*node->text)
        expected = schema->may_be_empty ? NULL : "must not be empty";
    else if (strlen(node->text) > TEXT_MOST)
        expected = "must not be longer than 1024 bytes";
    else if (!text_is_printable(node->text))
        expected = "must not hold control characters";
    else if (schema->choices && !is_one_of(schema->choices, node->text))
        expected = mem_format(run->context, "must be %s", alternatives(run->context, schema->choices));
    else if (schema->check)
        expected = schema->check(node->text);
    if (!expected && schema->reference && !is_reference(node->text))
        schema_problem(run, node, path, "STARTUP_CREDENTIAL",
                       "looks like a credential by its name; it may be an absolute path or a Secret's id, as "
                       "credentials do not belong into this file");
    if (expected)
        schema_problem(run, node, path, INVALID, "%s", expected);
}

static void check_number(const struct schema_run *run, const struct schema *schema,
                         const struct yaml_node *node, const char *path)
{
    uint64_t number;

    if (node->kind != YAML_KIND_NUMBER || !text_to_number(node->text, schema->most, &number) ||
        number < schema->least)
        schema_problem(run, node, path, INVALID, "must be a plain decimal integer from %llu to %llu",
                       (unsigned long long)schema->least, (unsigned long long)schema->most);
}

static void check_boolean(const struct schema_run *run, const struct yaml_node *node, const char *path)
{
    if (node->kind != YAML_KIND_BOOLEAN)
        schema_problem(run, node, path, INVALID, "must be true or false");
}

static const struct schema_field *find_field(const struct schema *schema, const char *name)
{
    size_t index;

    for (index = 0; index < schema->count; index++)
        if (strcmp(schema->fields[index].name, name) == 0)
            return &schema->fields[index];
    return NULL;
}

static void refuse_unknown(const struct schema_run *run, const struct schema *schema,
                           const struct yaml_node *key, const char *path)
{
    char *known = mem_text(run->context, "");
    size_t index;

    for (index = 0; index < schema->count; index++)
        if (schema->fields[index].schema.type != SCHEMA_REFUSED)
            known = mem_append(known, "%s%s", *known ? ", " : "", schema->fields[index].name);
    schema_problem(run, key, path, "STARTUP_FIELD_UNKNOWN", "unknown field; %s%s",
                   *known ? "known here: " : "no field is known here", known);
}

static void check_map(const struct schema_run *run, const struct schema *schema, const struct yaml_node *node,
                      const char *path)
{
    size_t index;

    for (index = 0; index < node->count; index++) {
        const struct yaml_node *key = node->keys[index];
        const struct schema_field *field = find_field(schema, key->text);
        const char *below = yaml_path(run->context, path, key->text);

        if (field) {
            schema_check(run, &field->schema, node->items[index], below);
        } else {
            refuse_unknown(run, schema, key, below);
            check_undeclared(run, node->items[index], below, schema_key_means_credential(key->text), false);
        }
    }
    for (index = 0; index < schema->count; index++)
        if (schema->fields[index].required && !yaml_field(node, schema->fields[index].name))
            schema_missing(run, node, path, schema->fields[index].name);
}

static void check_free_map(const struct schema_run *run, const struct schema *schema,
                           const struct yaml_node *node, const char *path)
{
    const struct schema value = {
        .type = SCHEMA_TEXT, .check = schema->check, .may_be_empty = schema->may_be_empty};
    size_t index;

    if (node->count < schema->least)
        schema_problem(run, node, path, INVALID, "must hold at least %llu %s",
                       (unsigned long long)schema->least, schema->least == 1 ? "entry" : "entries");
    for (index = 0; index < node->count; index++) {
        const struct yaml_node *key = node->keys[index];
        const char *below = yaml_path(run->context, path, key->text);
        const char *expected = schema->check_key ? schema->check_key(key->text) : NULL;

        if (expected)
            schema_problem(run, key, below, INVALID, "its name %s", expected);
        schema_check(run, &value, node->items[index], below);
    }
    check_undeclared(run, node, path, false, false);
}

static void check_list(const struct schema_run *run, const struct schema *schema,
                       const struct yaml_node *node, const char *path)
{
    const uint64_t most = schema->most ? schema->most : LIST_MOST;
    size_t index;

    if (node->count < schema->least || node->count > most)
        schema_problem(run, node, path, INVALID, "must hold %llu to %llu items",
                       (unsigned long long)schema->least, (unsigned long long)most);
    for (index = 0; index < node->count; index++)
        schema_check(run, schema->item, node->items[index], mem_format(run->context, "%s[%zu]", path, index));
}

static bool is_empty(const struct yaml_node *node)
{
    return node->kind == YAML_KIND_NULL ||
           ((node->kind == YAML_KIND_MAP || node->kind == YAML_KIND_LIST) && node->count == 0);
}

/* True when the node has the kind that the schema's type needs; else a finding. */
static bool fits(const struct schema_run *run, const struct schema *schema, const struct yaml_node *node,
                 const char *path)
{
    const char *expected = NULL;

    switch (schema->type) {
    case SCHEMA_MAP:
    case SCHEMA_FREE_MAP:
    case SCHEMA_RULES:
        expected = node->kind == YAML_KIND_MAP ? NULL : "must be a mapping";
        break;
    case SCHEMA_LIST:
        expected = node->kind == YAML_KIND_LIST ? NULL : "must be a list";
        break;
    case SCHEMA_OTHERS:
        expected = is_empty(node) || node->count ? NULL : "must be a mapping or a list";
        break;
    case SCHEMA_TEXT:
    case SCHEMA_NUMBER:
    case SCHEMA_BOOLEAN:
    case SCHEMA_REFUSED:
        break;
    }
    if (expected) {
        schema_problem(run, node, path, INVALID, "%s", expected);
        check_undeclared(run, node, path, false, false);
    }
    return !expected;
}

void schema_check(const struct schema_run *run, const struct schema *schema, const struct yaml_node *node,
                  const char *path)
{
    if (schema->like)
        schema = schema->like;
    if (node->kind == YAML_KIND_BROKEN || !fits(run, schema, node, path))
        return;
    switch (schema->type) {
    case SCHEMA_TEXT:
        check_text(run, schema, node, path);
        break;
    case SCHEMA_NUMBER:
        check_number(run, schema, node, path);
        break;
    case SCHEMA_BOOLEAN:
        check_boolean(run, node, path);
        break;
    case SCHEMA_MAP:
        check_map(run, schema, node, path);
        break;
    case SCHEMA_FREE_MAP:
        check_free_map(run, schema, node, path);
        break;
    case SCHEMA_LIST:
        check_list(run, schema, node, path);
        break;
    case SCHEMA_REFUSED:
        if (!is_empty(node))
            schema_problem(run, node, path, "STARTUP_SECTION_UNSUPPORTED", "%s", schema->choices);
        check_undeclared(run, node, path, false, false);
        break;
    case SCHEMA_OTHERS:
        check_undeclared(run, node, path, false, schema->reference);
        break;
    case SCHEMA_RULES:
        break;
    }
    if (schema->type <= SCHEMA_BOOLEAN && node->count)
        check_undeclared(run, node, path, false, false);
    if (schema->rules)
        schema->rules(run, node, path);
}
