/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/yaml_events.h"

#include "lib/base/memory.h"
#include "lib/base/secret.h"

#include <yaml.h>

struct yaml_events {
    const char *bytes;
    size_t length;
    yaml_parser_t parser;
    yaml_event_t native;
    struct yaml_event event;
};

/* A file may hold secrets. */
static void forget_event(struct yaml_events *events)
{
    if (events->native.type == YAML_SCALAR_EVENT)
        secret_wipe(events->native.data.scalar.value, events->native.data.scalar.length);
    yaml_event_delete(&events->native);
}

static int destroy(struct yaml_events *events)
{
    yaml_parser_t *parser = &events->parser;

    forget_event(events);
    secret_wipe(parser->raw_buffer.start, (size_t)(parser->raw_buffer.end - parser->raw_buffer.start));
    secret_wipe(parser->buffer.start, (size_t)(parser->buffer.end - parser->buffer.start));
    yaml_parser_delete(&events->parser);
    return 0;
}

struct yaml_events *yaml_events_open(const void *context, const char *bytes, size_t length)
{
    struct yaml_events *events = mem_new(context, struct yaml_events);

    if (length >= 3 &&
        memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark, which some editors write */
        bytes += 3;
        length -= 3;
    }
    events->bytes = bytes;
    events->length = length;
    if (!yaml_parser_initialize(&events->parser))
        mem_exhausted();
    talloc_set_destructor(events, destroy);
    yaml_parser_set_encoding(&events->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&events->parser, (const unsigned char *)bytes, length);
    return events;
}

/* The place of a byte of the text. */
static yaml_mark_t mark_of(const struct yaml_events *events, size_t offset)
{
    yaml_mark_t mark = {0};
    size_t index;

    for (index = 0; index < offset && index < events->length; index++) {
        bool starts = ((unsigned char)events->bytes[index] & 0xc0) != 0x80;

        mark.column = events->bytes[index] == '\n' ? 0 : mark.column + starts;
        mark.line += events->bytes[index] == '\n';
    }
    return mark;
}

/* libyaml's messages are about the grammar only. */
static const char *syntax_message(struct yaml_events *events)
{
    const yaml_parser_t *parser = &events->parser;
    char *text;

    if (parser->error == YAML_READER_ERROR)
        return "must be UTF-8 without control characters";
    if (parser->problem && strstr(parser->problem, "cannot start any token") &&
        parser->buffer.pointer < parser->buffer.last && *parser->buffer.pointer == '\t')
        return "a tab stands where only spaces may indent";
    text = mem_format(events, "not valid YAML: %s", parser->problem ? parser->problem : "syntax");
    if (parser->context)
        text = mem_append(text, " %s that starts at line %zu, column %zu", parser->context,
                          parser->context_mark.line + 1, parser->context_mark.column + 1);
    return text;
}

static void tell_error(struct yaml_events *events)
{
    const yaml_mark_t end = mark_of(events, events->length);
    yaml_mark_t mark = events->parser.problem_mark;

    if (events->parser.error == YAML_MEMORY_ERROR)
        mem_exhausted();
    if (events->parser.error == YAML_READER_ERROR) /* the reader runs ahead of the marks */
        mark = mark_of(events, events->parser.problem_offset);
    else if (mark.line > end.line) /* libyaml ends the last line itself */
        mark = end;
    events->event = (struct yaml_event){.kind = YAML_EVENT_ERROR,
                                        .line = mark.line + 1,
                                        .column = mark.column + 1,
                                        .text = syntax_message(events)};
}

/* Fills the event from libyaml's; false for those which are not told. */
static bool translate(struct yaml_events *events)
{
    const yaml_event_t *native = &events->native;
    struct yaml_event *event = &events->event;

    *event =
        (struct yaml_event){.line = native->start_mark.line + 1, .column = native->start_mark.column + 1};
    switch (native->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return false;
    case YAML_STREAM_END_EVENT:
        event->kind = YAML_EVENT_END;
        break;
    case YAML_DOCUMENT_START_EVENT:
        event->kind = YAML_EVENT_DOCUMENT;
        break;
    case YAML_ALIAS_EVENT:
        event->kind = YAML_EVENT_ALIAS;
        break;
    case YAML_SCALAR_EVENT:
        event->kind = YAML_EVENT_SCALAR;
        event->text = (const char *)native->data.scalar.value;
        event->length = native->data.scalar.length;
        event->plain = native->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        event->anchored = native->data.scalar.anchor;
        event->tagged = native->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        event->kind = YAML_EVENT_LIST;
        event->anchored = native->data.sequence_start.anchor;
        event->tagged = native->data.sequence_start.tag;
        break;
    case YAML_SEQUENCE_END_EVENT:
        event->kind = YAML_EVENT_LIST_END;
        break;
    case YAML_MAPPING_START_EVENT:
        event->kind = YAML_EVENT_MAP;
        event->anchored = native->data.mapping_start.anchor;
        event->tagged = native->data.mapping_start.tag;
        break;
    case YAML_MAPPING_END_EVENT:
        event->kind = YAML_EVENT_MAP_END;
        break;
    }
    return true;
}

const struct yaml_event *yaml_events_next(struct yaml_events *events)
{
    if (events->native.type == YAML_STREAM_END_EVENT || events->event.kind == YAML_EVENT_ERROR)
        return &events->event;
    do {
        forget_event(events);
        if (!yaml_parser_parse(&events->parser, &events->native)) {
            memset(&events->native, 0, sizeof events->native);
            tell_error(events);
            return &events->event;
        }
    } while (!translate(events));
    return &events->event;
}
