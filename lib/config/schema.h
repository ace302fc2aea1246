/* SPDX-License-Identifier: MIT
 *
 * Closed schemas for YAML: tables of what may stand where, checked with every finding told.
 *
 * A map knows all its fields: any other is refused. A finding never shows a value. A literal under a key
 * whose words include password, token, secret or key is taken for a credential wherever the schema does not
 * declare that key (free maps, unknown fields, sections of somebody else); a URL with user information
 * everywhere.
 */
#ifndef OCC_CONFIG_SCHEMA_H
#define OCC_CONFIG_SCHEMA_H

#include "lib/config/yaml.h"

enum schema_type {
    SCHEMA_TEXT,     /* not empty unless `may_be_empty`; `choices`, `check` */
    SCHEMA_NUMBER,   /* a plain decimal integer from `least` to `most` */
    SCHEMA_BOOLEAN,  /* true or false */
    SCHEMA_MAP,      /* of known `fields` */
    SCHEMA_FREE_MAP, /* of text: keys by `check_key`, values by `check`; at least `least` of them */
    SCHEMA_LIST,     /* of `item`; at least `least`, at most `most` (0: 1000) of them */
    SCHEMA_OTHERS,   /* a map or list of somebody else: only searched for credentials */
    SCHEMA_RULES,    /* a map that the rules of what is around it check */
    SCHEMA_REFUSED,  /* may not stand here, unless it is empty: `choices` says why */
};

struct startup_packages;

struct schema_run {
    const void *context;
    const char *file;
    struct findings *findings;
    bool production;
    const struct startup_packages *packages; /* of lib/config/startup.h; NULL: none is looked up */
};

struct schema {
    const struct schema *like; /* the same as another one; nothing else counts then */
    enum schema_type type;
    const struct schema_field *fields;
    size_t count;
    const struct schema *item;
    uint64_t least, most;
    bool may_be_empty;
    /* SCHEMA_TEXT that means a credential, SCHEMA_OTHERS below a key that means one: an absolute path or a
     * Secret's id alone. */
    bool reference;
    const char *choices; /* "debug|info"; SCHEMA_REFUSED: the sentence for the finding */
    /* NULL when good, else what is expected: "must be …" */
    const char *(*check)(const char *text);
    const char *(*check_key)(const char *key);
    /* What holds between fields; called after them, also when some of them have findings. */
    void (*rules)(const struct schema_run *run, const struct yaml_node *node, const char *path);
};

struct schema_field {
    const char *name;
    bool required;
    struct schema schema;
};

#define SCHEMA_FIELDS(list) .type = SCHEMA_MAP, .fields = (list), .count = COUNT_OF(list)

/* Checks a node and all below it; credentials in URLs are schema_check_urls()'s. */
void schema_check(const struct schema_run *run, const struct schema *schema, const struct yaml_node *node,
                  const char *path);

/* Looks for URLs with user information in every key and value. */
void schema_check_urls(const struct schema_run *run, const struct yaml_node *node, const char *path);

/* Adds a problem at a node. */
void schema_problem(const struct schema_run *run, const struct yaml_node *node, const char *path,
                    const char *code, const char *format, ...) PRINTF_LIKE(5, 6);

/* Adds the problem that a field is missing in the map `node`. */
void schema_missing(const struct schema_run *run, const struct yaml_node *node, const char *path,
                    const char *field);

/* True when one of the key's words (of camelCase, kebab-case, snake_case, dotted) is password, token, secret
 * or key. */
bool schema_key_means_credential(const char *key);

/* True when the text holds a URL with user information before its host. */
bool schema_has_user_info(const char *text);

#endif
