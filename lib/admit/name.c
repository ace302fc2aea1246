/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/admit/name.h"

#include "lib/base/text.h"

#define LABEL_LENGTH 63

/* What Unicode calls white space beyond ASCII, and the byte order mark; controls are refused before. */
static const char *const spaces[] = {
    " ",
    "\u00a0",
    "\u1680",
    "\u2000",
    "\u2001",
    "\u2002",
    "\u2003",
    "\u2004",
    "\u2005",
    "\u2006",
    "\u2007",
    "\u2008",
    "\u2009",
    "\u200a",
    "\xe2\x80\xa8",
    "\xe2\x80\xa9",
    "\xe2\x80\xaf",
    "\xe2\x81\x9f",
    "\xe3\x80\x80",
    "\xef\xbb\xbf",
};

static bool has_space_at_an_end(const char *name)
{
    size_t length = strlen(name), index;

    for (index = 0; index < COUNT_OF(spaces); index++) {
        size_t size = strlen(spaces[index]);

        if (size <= length && (memcmp(name, spaces[index], size) == 0 ||
                               memcmp(name + length - size, spaces[index], size) == 0))
            return true;
    }
    return false;
}

bool name_check(const char *what, const char *name, struct fault *fault)
{
    static const char code[] = "NAME_INVALID";

    if (text_is_empty(name))
        return fault_set(fault, FAULT_INVALID, code, "%s must not be empty.", what);
    if (!text_is_printable(name))
        return fault_set(fault, FAULT_INVALID, code, "%s must be UTF-8 without control characters.", what);
    if (text_characters(name) > NAME_CHARACTERS)
        return fault_set(fault, FAULT_INVALID, code, "%s must have at most %d characters; it has %zu.", what,
                         NAME_CHARACTERS, text_characters(name));
    if (has_space_at_an_end(name))
        return fault_set(fault, FAULT_INVALID, code, "%s must not begin or end with white space.", what);
    return true;
}

bool name_check_label(const char *what, const char *name, struct fault *fault)
{
    size_t length = strlen(name);

    if (length >= 1 && length <= LABEL_LENGTH &&
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && name[0] != '-' &&
        name[length - 1] != '-')
        return true;
    return fault_set(
        fault, FAULT_INVALID, "NAME_INVALID",
        "%s must be 1 to %d lower-case letters, digits and hyphens, without a hyphen at either end.", what,
        LABEL_LENGTH);
}
