/* SPDX-License-Identifier: MIT
 *
 * Bounded text. Sizes count the terminating zero; a text that does not fit is cut at a character's border, so
 * that what was valid UTF-8 stays valid.
 */
#ifndef OCC_BASE_TEXT_H
#define OCC_BASE_TEXT_H

#include "lib/base/build.h"

/* Copies `source` (NULL counts as empty) into `target` of `size` bytes. Returns false when it was cut. */
bool text_copy(char *target, size_t size, const char *source);

/* Makes one line of valid UTF-8 of `text`, in place: control characters become spaces, invalid bytes become
 * "?", spaces at the end go, and a character that was cut in half at the end goes too. */
void text_make_line(char *text);

/* True for NULL and "". */
bool text_is_empty(const char *text);

bool text_equal(const char *one, const char *other);

/* True when `text` is well-formed UTF-8 (RFC 3629) without control characters (C0, DEL, C1). */
bool text_is_printable(const char *text);

/* The number of characters (code points) of well-formed UTF-8. */
size_t text_characters(const char *text);

/* Reads a plain decimal integer: digits only, no sign, no leading zero (but "0" itself), no space. Returns
 * false for anything else and for a number above `largest`. */
bool text_to_number(const char *text, uint64_t largest, uint64_t *number) MUST_USE;

#endif
