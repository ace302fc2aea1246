/* SPDX-License-Identifier: MIT
 *
 * Whether bytes are one JSON document by RFC 8259: well-formed UTF-8, at most JSON_DEPTH objects and arrays
 * in each other, no \u0000 and no half of a surrogate pair in any text; and what is in it, in its order, for
 * whoever must look at a document without changing a byte of it.
 */
#ifndef OCC_IO_JSON_SCAN_H
#define OCC_IO_JSON_SCAN_H

#include "lib/base/build.h"

#define JSON_DEPTH 64

bool json_scan(const char *text, size_t length) MUST_USE;

enum json_event {
    JSON_BEGIN_OBJECT,
    JSON_END_OBJECT,
    JSON_BEGIN_ARRAY,
    JSON_END_ARRAY,
    JSON_ITEM, /* an array's next value follows */
    JSON_NAME, /* of a member, whose value follows */
    JSON_TEXT,
    JSON_NUMBER,
    JSON_WORD, /* true, false, null */
};

struct json_visitor {
    void *subject;
    /* `bytes` lie in the document: of a name or text what is between its quotation marks, escapes and all.
     * Returning false ends the visit. */
    bool (*event)(void *subject, enum json_event event, const char *bytes, size_t length);
};

enum json_trouble {
    JSON_SOUND,
    JSON_SYNTAX,
    JSON_ENCODING,  /* no well-formed UTF-8 */
    JSON_SURROGATE, /* half of a pair as an escape */
    JSON_ZERO,      /* \u0000 */
    JSON_DEEP,
    JSON_STOPPED, /* by the visitor */
};

/* Visits the document up to its end or to the first trouble, which is at *offset. */
enum json_trouble json_visit(const char *text, size_t length, const struct json_visitor *visitor,
                             size_t *offset) MUST_USE;

/* Line and column of an offset, in characters, from 1. */
void json_locate(const char *text, size_t offset, size_t *line, size_t *column);

/* What a visited name or text means: without its escapes, as UTF-8. */
char *json_unescape(const void *context, const char *bytes, size_t length)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
