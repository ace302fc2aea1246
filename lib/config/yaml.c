/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/config/yaml.h"

#include "lib/base/memory.h"
#include "lib/base/secret.h"
#include "lib/base/text.h"
#include "lib/io/yaml_events.h"

#define CODE "STARTUP_YAML_SYNTAX"

struct reader {
    struct yaml_events *events;
    struct yaml_event event; /* the one to look at */
    const void *context;     /* nodes hang here */
    const void *scratch;     /* paths and messages, until the end of the reading */
    const char *file;
    struct findings *findings;
    size_t nodes;
    bool stopped; /* a finding made reading on senseless */
};

static struct yaml_node *read_node(struct reader *reader, const char *path, size_t depth);

/* A finding at a place that an event or a node has. */
static void complain(struct reader *reader, size_t line, size_t column, const char *path, const char *message)
{
    const struct yaml_node place = {.line = line, .column = column};

    findings_add(reader->findings, FINDING_PROBLEM, yaml_where(reader->scratch, reader->file, &place, path),
                 CODE, "%s", message);
}

/* The next event into reader->event; false when there is nothing more to read. */
static bool advance(struct reader *reader)
{
    if (reader->stopped)
        return false;
    reader->event = *yaml_events_next(reader->events);
    if (reader->event.kind != YAML_EVENT_ERROR)
        return true;
    complain(reader, reader->event.line, reader->event.column, "", reader->event.text);
    reader->stopped = true;
    return false;
}

static int wipe(struct yaml_node *node)
{
    if (node->text)
        secret_wipe((char *)(uintptr_t)node->text, strlen(node->text));
    return 0;
}

static void read_scalar(struct reader *reader, struct yaml_node *node, const char *path)
{
    const struct yaml_event *event = &reader->event;

    node->kind = YAML_KIND_BROKEN;
    if (event->anchored || event->tagged)
        complain(reader, node->line, node->column, path,
                 event->anchored ? "anchors are not allowed" : "tags are not allowed");
    else if (strlen(event->text) != event->length)
        complain(reader, node->line, node->column, path, "a zero byte is not allowed");
    else
        node->kind = event->plain ? yaml_plain_kind(event->text) : YAML_KIND_TEXT;
    node->text = mem_text(node, event->text);
    talloc_set_destructor(node, wipe);
}

static void append(struct yaml_node *node, struct yaml_node *key, struct yaml_node *item)
{
    node->items = mem_grow(node, node->items, struct yaml_node *, node->count + 1);
    node->keys = mem_grow(node, node->keys, struct yaml_node *, node->count + 1);
    node->keys[node->count] = key;
    node->items[node->count++] = item;
}

static const struct yaml_node *key_of(const struct yaml_node *map, const char *name)
{
    size_t index;

    for (index = 0; index < map->count; index++)
        if (strcmp(map->keys[index]->text, name) == 0)
            return map->keys[index];
    return NULL;
}

/* A key that may be looked for by its text; else a finding, and NULL. */
static const char *usable_key(struct reader *reader, const struct yaml_node *map, const struct yaml_node *key,
                              const char *path)
{
    const struct yaml_node *earlier;

    if (key->kind == YAML_KIND_BROKEN)
        return NULL;
    if (!key->text) {
        complain(reader, key->line, key->column, path, "a key must be text");
        return NULL;
    }
    if (key->kind != YAML_KIND_NULL && !text_is_printable(key->text)) {
        complain(reader, key->line, key->column, path, "a key must not hold control characters");
        return NULL;
    }
    if (!*key->text || strcmp(key->text, "<<") == 0) {
        complain(reader, key->line, key->column, path,
                 *key->text ? "merge keys are not allowed" : "a key must not be empty");
        return NULL;
    }
    earlier = key_of(map, key->text);
    if (earlier) {
        complain(reader, key->line, key->column, yaml_path(reader->scratch, path, key->text),
                 mem_format(reader->scratch, "this key stands twice, first at line %zu, column %zu",
                            earlier->line, earlier->column));
        return NULL;
    }
    return key->text;
}

static void read_map(struct reader *reader, struct yaml_node *node, const char *path, size_t depth)
{
    while (advance(reader) && reader->event.kind != YAML_EVENT_MAP_END) {
        struct yaml_node *key = read_node(reader, path, depth + 1), *item;
        const char *name;

        if (!key)
            return;
        name = usable_key(reader, node, key, path);
        if (!advance(reader))
            return;
        item = read_node(reader, name ? yaml_path(reader->scratch, path, name) : path, depth + 1);
        if (!item)
            return;
        if (name)
            append(node, key, item);
    }
}

static void read_list(struct reader *reader, struct yaml_node *node, const char *path, size_t depth)
{
    while (advance(reader) && reader->event.kind != YAML_EVENT_LIST_END) {
        struct yaml_node *item =
            read_node(reader, mem_format(reader->scratch, "%s[%zu]", path, node->count), depth + 1);

        if (!item)
            return;
        append(node, NULL, item);
    }
}

static void read_container(struct reader *reader, struct yaml_node *node, const char *path, size_t depth)
{
    if (reader->event.anchored || reader->event.tagged)
        complain(reader, node->line, node->column, path, "anchors and tags are not allowed");
    node->kind = reader->event.kind == YAML_EVENT_MAP ? YAML_KIND_MAP : YAML_KIND_LIST;
    if (node->kind == YAML_KIND_MAP)
        read_map(reader, node, path, depth);
    else
        read_list(reader, node, path, depth);
}

/* The node that starts at reader->event. NULL when nothing more can be read. */
static struct yaml_node *read_node(struct reader *reader, const char *path, size_t depth)
{
    struct yaml_node *node = mem_new(reader->context, struct yaml_node);

    node->line = reader->event.line;
    node->column = reader->event.column;
    if (depth >= YAML_DEPTH_MOST || reader->nodes++ >= YAML_NODES_MOST) {
        complain(reader, node->line, node->column, path,
                 depth >= YAML_DEPTH_MOST ? "nested too deeply (more than 64 levels)"
                                          : "too many values (more than 10000)");
        reader->stopped = true;
    } else if (reader->event.kind == YAML_EVENT_SCALAR) {
        read_scalar(reader, node, path);
    } else if (reader->event.kind == YAML_EVENT_ALIAS) {
        complain(reader, node->line, node->column, path, "aliases are not allowed");
        node->kind = YAML_KIND_BROKEN;
    } else {
        read_container(reader, node, path, depth);
    }
    return reader->stopped ? NULL : node;
}

struct yaml_node *yaml_read(const void *context, const char *file, const char *bytes, size_t length,
                            struct findings *findings)
{
    struct reader reader = {.context = context, .scratch = context, .file = file, .findings = findings};
    struct yaml_node *root = NULL;

    if (length > YAML_SIZE_MOST) {
        complain(&reader, 1, 1, "", "the file is larger than 1 MiB");
        return NULL;
    }
    reader.scratch = reader.events = yaml_events_open(context, bytes, length);
    if (!advance(&reader))
        root = NULL;
    else if (reader.event.kind != YAML_EVENT_DOCUMENT)
        complain(&reader, 1, 1, "", "the file is empty; it must hold one YAML mapping");
    else if (advance(&reader))
        root = read_node(&reader, "", 0);
    if (root && !advance(&reader))
        root = NULL;
    else if (root && reader.event.kind != YAML_EVENT_END)
        complain(&reader, reader.event.line, reader.event.column, "", "only one document is allowed");
    talloc_free(reader.events);
    return root;
}
