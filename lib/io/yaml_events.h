/* SPDX-License-Identifier: MIT
 *
 * The events of a YAML text (libyaml), one after another, each with its place. Knows the grammar only: what
 * the events mean, and which of them are welcome, is the reader's business. What libyaml keeps of the text is
 * wiped, but for what it left behind when a long value made it move.
 */
#ifndef OCC_IO_YAML_EVENTS_H
#define OCC_IO_YAML_EVENTS_H

#include "lib/base/build.h"

enum yaml_event_kind {
    YAML_EVENT_DOCUMENT, /* a document starts; its end is no event */
    YAML_EVENT_SCALAR,
    YAML_EVENT_ALIAS,
    YAML_EVENT_LIST,
    YAML_EVENT_LIST_END,
    YAML_EVENT_MAP,
    YAML_EVENT_MAP_END,
    YAML_EVENT_END,   /* of the text */
    YAML_EVENT_ERROR, /* of syntax; nothing follows */
};

struct yaml_event {
    enum yaml_event_kind kind;
    size_t line, column; /* where it starts, counted from 1, columns in characters */
    const char *text;    /* a scalar's value or an error's message; valid until the next event */
    size_t length;       /* of the value, which may hold zero bytes */
    bool plain;          /* a scalar without quotes */
    bool anchored, tagged;
};

struct yaml_events;

/* Starts on `length` bytes of UTF-8, which must stay as long as the events are read. Hangs on `context`. */
struct yaml_events *yaml_events_open(const void *context, const char *bytes, size_t length)
    __attribute__((returns_nonnull)) MUST_USE;

/* The next event; after YAML_EVENT_END and YAML_EVENT_ERROR the same again. Messages show nothing of the
 * text. */
const struct yaml_event *yaml_events_next(struct yaml_events *events) __attribute__((returns_nonnull));

#endif
