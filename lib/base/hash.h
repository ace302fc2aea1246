/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4), as text.
 */
#ifndef OCC_BASE_HASH_H
#define OCC_BASE_HASH_H

#include "lib/base/build.h"

#define HASH_DIGITS 64

/* The first `digits` (at most HASH_DIGITS) lower-case hexadecimal digits of the SHA-256 of `length` bytes;
 * `hex` has room for them and a zero. */
void hash_hex(const void *bytes, size_t length, size_t digits, char *hex);

/* The same of a text. */
void hash_text(const char *text, size_t digits, char *hex);

#endif
