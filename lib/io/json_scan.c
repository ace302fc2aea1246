/* SPDX-License-Identifier: MIT
 *
 * cJSON takes more than RFC 8259 allows: raw control characters, "01", "1.", invalid UTF-8, and a \u0000 that
 * cuts a text short, so that two names look alike. A document is therefore checked by this scanner, which
 * builds nothing, before cJSON sees it.
 */
#include "lib/base/build.h"

#include "lib/io/json_scan.h"

#include "lib/base/memory.h"

struct scan {
    const unsigned char *at;
    const unsigned char *end;
    int depth;
    const struct json_visitor *visitor;
    enum json_trouble trouble; /* what `at` points to, where it is more than the syntax */
};

static bool scan_value(struct scan *scan);

static bool fail(struct scan *scan, enum json_trouble trouble, const unsigned char *at)
{
    scan->trouble = trouble;
    scan->at = at;
    return false;
}

static bool tell(struct scan *scan, enum json_event event, const unsigned char *start,
                 const unsigned char *end)
{
    if (!scan->visitor ||
        scan->visitor->event(scan->visitor->subject, event, (const char *)start, (size_t)(end - start)))
        return true;
    return fail(scan, JSON_STOPPED, start);
}

static void skip_space(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

static bool take(struct scan *scan, unsigned char c)
{
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static bool take_word(struct scan *scan, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return tell(scan, JSON_WORD, scan->at - length, scan->at);
}

static bool take_digits(struct scan *scan)
{
    const unsigned char *start = scan->at;

    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at > start;
}

/* RFC 8259 section 6. */
static bool take_number(struct scan *scan)
{
    (void)take(scan, '-');
    if (!take(scan, '0') && !take_digits(scan))
        return false;
    if (take(scan, '.') && !take_digits(scan))
        return false;
    if (take(scan, 'e') || take(scan, 'E')) {
        if (!take(scan, '+'))
            (void)take(scan, '-');
        return take_digits(scan);
    }
    return true;
}

static bool scan_number(struct scan *scan)
{
    const unsigned char *start = scan->at;

    return take_number(scan) && tell(scan, JSON_NUMBER, start, scan->at);
}

/* One character of well-formed UTF-8 (RFC 3629 section 4). */
static bool scan_character(struct scan *scan)
{
    const unsigned char *start = scan->at;
    unsigned char first = *scan->at++;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    int more;

    if (first < 0x20)
        return fail(scan, JSON_SYNTAX, start);
    if (first < 0x80)
        return true;
    if (first >= 0xc2 && first <= 0xdf)
        more = 1;
    else if (first >= 0xe0 && first <= 0xef)
        more = 2;
    else if (first >= 0xf0 && first <= 0xf4)
        more = 3;
    else
        return fail(scan, JSON_ENCODING, start);
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    for (; more > 0; more--) {
        if (scan->at == scan->end || *scan->at < low || *scan->at > high)
            return fail(scan, JSON_ENCODING, start);
        scan->at++;
        low = 0x80;
        high = 0xbf;
    }
    return true;
}

/* The four digits after "\u". */
static bool take_unit(struct scan *scan, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, scan->at++) {
        unsigned char c = scan->at < scan->end ? *scan->at : 0;

        if (c >= '0' && c <= '9')
            *unit = *unit * 16 + (unsigned)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            *unit = *unit * 16 + 10 + (unsigned)((c | 0x20) - 'a');
        else
            return false;
    }
    return true;
}

static bool is_high(unsigned unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(unsigned unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* What follows the backslash at `start`. */
static bool scan_escape(struct scan *scan, const unsigned char *start)
{
    unsigned unit, second;

    if (scan->at == scan->end)
        return false;
    if (*scan->at != 'u')
        return *scan->at && strchr("\"\\/bfnrt", *scan->at) && *scan->at++;
    scan->at++;
    if (!take_unit(scan, &unit))
        return false;
    if (unit == 0) /* a text with a zero inside has no place in a C string */
        return fail(scan, JSON_ZERO, start);
    if (is_low(unit))
        return fail(scan, JSON_SURROGATE, start);
    if (!is_high(unit))
        return true;
    if (!take(scan, '\\') || !take(scan, 'u') || !take_unit(scan, &second) || !is_low(second))
        return fail(scan, JSON_SURROGATE, start);
    return true;
}

static bool scan_text(struct scan *scan, enum json_event event)
{
    const unsigned char *start = scan->at + 1;

    if (!take(scan, '"'))
        return false;
    while (scan->at < scan->end) {
        if (take(scan, '"'))
            return tell(scan, event, start, scan->at - 1);
        if (take(scan, '\\')) {
            if (!scan_escape(scan, scan->at - 1))
                return false;
        } else if (!scan_character(scan)) {
            return false;
        }
    }
    return false;
}

static bool scan_member(struct scan *scan)
{
    skip_space(scan);
    if (!scan_text(scan, JSON_NAME))
        return false;
    skip_space(scan);
    return take(scan, ':') && scan_value(scan);
}

static bool scan_item(struct scan *scan)
{
    skip_space(scan);
    return tell(scan, JSON_ITEM, scan->at, scan->at) && scan_value(scan);
}

static bool take_end(struct scan *scan, unsigned char close)
{
    if (!take(scan, close))
        return false;
    scan->depth--;
    return tell(scan, close == '}' ? JSON_END_OBJECT : JSON_END_ARRAY, scan->at - 1, scan->at);
}

static bool scan_list(struct scan *scan, unsigned char close)
{
    const bool object = close == '}';

    if (scan->depth == JSON_DEPTH)
        return fail(scan, JSON_DEEP, scan->at);
    scan->depth++;
    if (!tell(scan, object ? JSON_BEGIN_OBJECT : JSON_BEGIN_ARRAY, scan->at, scan->at + 1))
        return false;
    scan->at++;
    skip_space(scan);
    if (scan->at < scan->end && *scan->at == close)
        return take_end(scan, close);
    do {
        if (!(object ? scan_member(scan) : scan_item(scan)))
            return false;
        skip_space(scan);
    } while (take(scan, ','));
    return take_end(scan, close);
}

static bool scan_value(struct scan *scan)
{
    skip_space(scan);
    if (scan->at == scan->end)
        return false;
    switch (*scan->at) {
    case '{':
        return scan_list(scan, '}');
    case '[':
        return scan_list(scan, ']');
    case '"':
        return scan_text(scan, JSON_TEXT);
    case 't':
        return take_word(scan, "true");
    case 'f':
        return take_word(scan, "false");
    case 'n':
        return take_word(scan, "null");
    default:
        return scan_number(scan);
    }
}

enum json_trouble json_visit(const char *text, size_t length, const struct json_visitor *visitor,
                             size_t *offset)
{
    struct scan scan = {
        .at = (const unsigned char *)text,
        .end = (const unsigned char *)text + length,
        .visitor = visitor,
    };

    if (scan_value(&scan)) {
        skip_space(&scan);
        if (scan.at == scan.end)
            return JSON_SOUND;
    }
    *offset = (size_t)(scan.at - (const unsigned char *)text);
    return scan.trouble ? scan.trouble : JSON_SYNTAX;
}

bool json_scan(const char *text, size_t length)
{
    size_t offset;

    return json_visit(text, length, NULL, &offset) == JSON_SOUND;
}

void json_locate(const char *text, size_t offset, size_t *line, size_t *column)
{
    size_t at;

    *line = *column = 1;
    for (at = 0; at < offset; at++) {
        if (text[at] == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)text[at] & 0xc0) != 0x80) {
            ++*column;
        }
    }
}

/* ---- What a text means */

static char *put_character(char *to, unsigned character)
{
    if (character < 0x80) {
        *to++ = (char)character;
        return to;
    }
    if (character < 0x800) {
        *to++ = (char)(0xc0 | character >> 6);
    } else {
        if (character < 0x10000) {
            *to++ = (char)(0xe0 | character >> 12);
        } else {
            *to++ = (char)(0xf0 | character >> 18);
            *to++ = (char)(0x80 | (character >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
    }
    *to++ = (char)(0x80 | (character & 0x3f));
    return to;
}

/* The visit has checked the escape. */
static char *put_escape(char *to, struct scan *scan)
{
    static const char named[] = "b\bf\fn\nr\rt\t";
    const char c = (char)*scan->at++;
    unsigned unit = 0, second = 0;
    size_t index;

    if (c == 'u') {
        (void)take_unit(scan, &unit);
        if (is_high(unit)) {
            scan->at += 2;
            (void)take_unit(scan, &second);
            unit = 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
        }
        return put_character(to, unit);
    }
    for (index = 0; named[index]; index += 2) {
        if (named[index] == c) {
            *to++ = named[index + 1];
            return to;
        }
    }
    *to++ = c;
    return to;
}

char *json_unescape(const void *context, const char *bytes, size_t length)
{
    struct scan scan = {.at = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + length};
    char *made, *to;

    if (!memchr(bytes, '\\', length))
        return mem_text_part(context, bytes, length);
    to = made = mem_array(context, char, length + 1); /* no escape is shorter than what it means */
    while (scan.at < scan.end) {
        if (take(&scan, '\\'))
            to = put_escape(to, &scan);
        else
            *to++ = (char)*scan.at++;
    }
    return made;
}
