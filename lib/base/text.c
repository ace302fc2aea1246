/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/text.h"

/* The length of the well-formed UTF-8 sequence at `at` (RFC 3629, table of section 4), or 0. */
static size_t sequence_length(const unsigned char *at)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t length, index;

    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xc2 && at[0] <= 0xdf)
        length = 2;
    else if (at[0] >= 0xe0 && at[0] <= 0xef)
        length = 3;
    else if (at[0] >= 0xf0 && at[0] <= 0xf4)
        length = 4;
    else
        return 0;
    if (at[0] == 0xe0)
        low = 0xa0; /* overlong */
    else if (at[0] == 0xed)
        high = 0x9f; /* surrogates */
    else if (at[0] == 0xf0)
        low = 0x90; /* overlong */
    else if (at[0] == 0xf4)
        high = 0x8f; /* above U+10FFFF */
    for (index = 1; index < length; index++) {
        if (at[index] < low || at[index] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

static bool is_control(const unsigned char *at)
{
    return at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0);
}

bool text_copy(char *target, size_t size, const char *source)
{
    size_t length = source ? strlen(source) : 0, end;

    if (length < size) {
        if (length)
            memcpy(target, source, length);
        target[length] = '\0';
        return true;
    }
    end = size - 1;
    while (end > 0 && ((unsigned char)source[end] & 0xc0) == 0x80)
        end--;
    memcpy(target, source, end);
    target[end] = '\0';
    return false;
}

void text_make_line(char *text)
{
    unsigned char *at = (unsigned char *)text;
    size_t length;

    while (*at) {
        length = sequence_length(at);
        if (length == 0) {
            /* A sequence that the end of the buffer cut in half is dropped; any other bad byte is shown. */
            if (*at >= 0xc2 && strlen((char *)at) < 4) {
                unsigned char *rest = at + 1;

                while ((*rest & 0xc0) == 0x80)
                    rest++;
                if (!*rest) {
                    *at = '\0';
                    break;
                }
            }
            *at++ = '?';
        } else {
            if (is_control(at)) {
                memset(at, ' ', length);
            }
            at += length;
        }
    }
    while (at > (unsigned char *)text && at[-1] == ' ')
        *--at = '\0';
}

bool text_is_empty(const char *text)
{
    return !text || !*text;
}

bool text_equal(const char *one, const char *other)
{
    return one && other && strcmp(one, other) == 0;
}

bool text_is_printable(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        size_t length = sequence_length(at);

        if (length == 0 || is_control(at))
            return false;
        at += length;
    }
    return true;
}

size_t text_characters(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

bool text_to_number(const char *text, uint64_t largest, uint64_t *number)
{
    uint64_t value = 0;

    if (!text || !*text || (text[0] == '0' && text[1]))
        return false;
    for (; *text; text++) {
        unsigned int digit = (unsigned int)(unsigned char)*text - '0';

        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (value > largest)
        return false;
    *number = value;
    return true;
}
