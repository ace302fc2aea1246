/* SPDX-License-Identifier: MIT
 *
 * JSON by cJSON: reading answers with a depth limit and checked shapes, and building documents that hang on a
 * talloc context. Numbers pass through a double in cJSON: nothing here is for documents whose numbers must be
 * kept.
 */
#ifndef OCC_IO_JSON_H
#define OCC_IO_JSON_H

#include "lib/base/build.h"

#include <cjson/cJSON.h>

/* Parses `length` bytes, which must be one JSON value and nothing after it but space; NULL otherwise. The
 * tree hangs on `context`: never cJSON_Delete it. Also refused: an object with a duplicate member, more than
 * 64 levels, invalid UTF-8, a text with \u0000 in it. */
const cJSON *json_read(const void *context, const char *text, size_t length);

/* The same of what holds a secret: each text of the tree is overwritten before the tree goes. The caller
 * wipes `text`. */
const cJSON *json_read_secret(const void *context, const char *text, size_t length);

/* A member of an object by exact name, of the asked type; NULL when `object` is no object or has it not so.
 */
const char *json_text(const cJSON *object, const char *name);
const cJSON *json_object(const cJSON *object, const char *name);
const cJSON *json_array(const cJSON *object, const char *name);
const cJSON *json_member(const cJSON *object, const char *name); /* of any type, null included */
bool json_number(const cJSON *object, const char *name,
                 int64_t *number); /* an integral number within +-2^53 */
bool json_boolean(const cJSON *object, const char *name, bool *value);

/* Building: an object or array that hangs on `context` and owns what is added to it. A
 * member that is added again has its last value. */
cJSON *json_new_object(const void *context) __attribute__((returns_nonnull));
cJSON *json_new_array(const void *context) __attribute__((returns_nonnull));
/* The same for what will hold a secret: its texts are overwritten before it goes. */
cJSON *json_new_secret_object(const void *context) __attribute__((returns_nonnull));
cJSON *json_new_secret_array(const void *context) __attribute__((returns_nonnull));
void json_add_text(cJSON *object, const char *name, const char *text); /* NULL adds null */
void json_add_number(cJSON *object, const char *name, int64_t number);
void json_add_boolean(cJSON *object, const char *name, bool value);
void json_add_copy(cJSON *object, const char *name, const cJSON *value); /* a deep copy; NULL adds null */
cJSON *json_add_object(cJSON *object, const char *name) __attribute__((returns_nonnull));
cJSON *json_add_array(cJSON *object, const char *name) __attribute__((returns_nonnull));
void json_append_text(cJSON *array, const char *text);
void json_append_copy(cJSON *array, const cJSON *value); /* a deep copy; NULL appends null */
cJSON *json_append_object(cJSON *array) __attribute__((returns_nonnull));

/* The document as text that hangs on `context`, on one line or indented by two spaces. */
const char *json_write(const void *context, const cJSON *value) __attribute__((returns_nonnull));
const char *json_write_indented(const void *context, const cJSON *value) __attribute__((returns_nonnull));

#endif
