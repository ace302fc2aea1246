/* SPDX-License-Identifier: MIT
 *
 * A strict reader of YAML, on libyaml's events: one document, each node with its line and column.
 *
 * Bounded: 1 MiB of text, 64 levels, 10000 nodes. Refused, each with line, column and path: more than one
 * document, anchors, aliases, tags, merge keys, keys that are not plain text, duplicate keys, zero bytes.
 * What can be read on is read on, so that one run tells everything; a syntax error ends the reading where it
 * stands. Plain scalars are typed by the core schema of YAML 1.2 (section 10.3): null, true, false, numbers;
 * everything else is text.
 */
#ifndef OCC_CONFIG_YAML_H
#define OCC_CONFIG_YAML_H

#include "lib/config/finding.h"

#define YAML_SIZE_MOST 1048576
#define YAML_DEPTH_MOST 64
#define YAML_NODES_MOST 10000

enum yaml_kind {
    YAML_KIND_MAP,
    YAML_KIND_LIST,
    YAML_KIND_TEXT,
    YAML_KIND_NUMBER, /* plain, decimal or not, with or without a fraction */
    YAML_KIND_BOOLEAN,
    YAML_KIND_NULL,
    YAML_KIND_BROKEN, /* has its finding already: say nothing more about it */
};

struct yaml_node {
    enum yaml_kind kind;
    size_t line, column;      /* of its start, counted from 1 */
    const char *text;         /* scalars: as written, without quotes */
    size_t count;             /* of items, or of a map's fields */
    struct yaml_node **items; /* a list's, or a map's values */
    struct yaml_node **keys;  /* a map's, beside its items; each a scalar with its own place */
};

/* Reads `length` bytes. `file` stands before line and column in findings. Returns the root (of any kind), or
 * NULL when nothing could be read; look at the findings, too, when there is a root. Hangs on `context`; texts
 * are wiped when freed, as a file may hold secrets. */
struct yaml_node *yaml_read(const void *context, const char *file, const char *bytes, size_t length,
                            struct findings *findings) MUST_USE;

/* "file:12:7 path", or "file:12:7" for an empty path. */
char *yaml_where(const void *context, const char *file, const struct yaml_node *node, const char *path)
    __attribute__((returns_nonnull)) MUST_USE;

/* `path` and the key in it: "drivers.compute". A key that is no name is not shown, as it may be anything. */
char *yaml_path(const void *context, const char *path, const char *key)
    __attribute__((returns_nonnull)) MUST_USE;

/* The kind of a plain scalar by the core schema. */
enum yaml_kind yaml_plain_kind(const char *text);

/* The value of a map's field; NULL when `node` is NULL, no map, or has no such field. */
const struct yaml_node *yaml_field(const struct yaml_node *node, const char *name);

/* The node at a path of field names: yaml_at(root, "drivers.compute.configuration"). */
const struct yaml_node *yaml_at(const struct yaml_node *node, const char *path);

/* A scalar's text; NULL for NULL, null and what is no scalar. */
const char *yaml_text(const struct yaml_node *node);

#endif
