/* SPDX-License-Identifier: MIT
 *
 * cJSON takes more than RFC 8259 allows: raw control characters, "01", "1.", invalid UTF-8, and a \u0000 that
 * cuts a text short, so that two names look alike. A document is therefore checked by this scanner, which
 * builds nothing, before cJSON sees it.
 */
#include "lib/base/build.h"

#include "lib/io/json_scan.h"

struct scan {
    const unsigned char *at;
    const unsigned char *end;
    int depth;
};

static bool scan_value(struct scan *scan);

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
    return true;
}

static bool take_digits(struct scan *scan)
{
    const unsigned char *start = scan->at;

    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at > start;
}

/* RFC 8259 section 6. */
static bool scan_number(struct scan *scan)
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

/* One character of well-formed UTF-8 (RFC 3629 section 4). */
static bool scan_character(struct scan *scan)
{
    unsigned char first = *scan->at++;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    int more;

    if (first < 0x80)
        return first >= 0x20;
    if (first >= 0xc2 && first <= 0xdf)
        more = 1;
    else if (first >= 0xe0 && first <= 0xef)
        more = 2;
    else if (first >= 0xf0 && first <= 0xf4)
        more = 3;
    else
        return false;
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
            return false;
        scan->at++;
        low = 0x80;
        high = 0xbf;
    }
    return true;
}

static bool scan_escape(struct scan *scan)
{
    bool zero = true;

    if (scan->at == scan->end)
        return false;
    if (*scan->at != 'u')
        return strchr("\"\\/bfnrt", *scan->at) && *scan->at++ != '\0';
    scan->at++;
    for (int i = 0; i < 4; i++) {
        unsigned char c = scan->at < scan->end ? *scan->at : 0;

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return false;
        zero = zero && c == '0';
        scan->at++;
    }
    return !zero; /* a text with a zero inside has no place in a C string */
}

static bool scan_text(struct scan *scan)
{
    if (!take(scan, '"'))
        return false;
    while (scan->at < scan->end) {
        if (take(scan, '"'))
            return true;
        if (take(scan, '\\')) {
            if (!scan_escape(scan))
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
    if (!scan_text(scan))
        return false;
    skip_space(scan);
    return take(scan, ':') && scan_value(scan);
}

static bool scan_list(struct scan *scan, unsigned char close, bool (*element)(struct scan *))
{
    scan->at++;
    if (++scan->depth > JSON_DEPTH)
        return false;
    skip_space(scan);
    if (take(scan, close)) {
        scan->depth--;
        return true;
    }
    do {
        if (!element(scan))
            return false;
        skip_space(scan);
    } while (take(scan, ','));
    scan->depth--;
    return take(scan, close);
}

static bool scan_value(struct scan *scan)
{
    skip_space(scan);
    if (scan->at == scan->end)
        return false;
    switch (*scan->at) {
    case '{':
        return scan_list(scan, '}', scan_member);
    case '[':
        return scan_list(scan, ']', scan_value);
    case '"':
        return scan_text(scan);
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

bool json_scan(const char *text, size_t length)
{
    struct scan scan = {.at = (const unsigned char *)text, .end = (const unsigned char *)text + length};

    if (!scan_value(&scan))
        return false;
    skip_space(&scan);
    return scan.at == scan.end;
}
