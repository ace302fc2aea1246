/* SPDX-License-Identifier: MIT
 *
 * Identifiers: version-4 UUIDs (RFC 9562 section 5.4) in lower case, alone or behind a prefix ("ns_",
 * "aud_").
 */
#ifndef OCC_BASE_IDENTIFIER_H
#define OCC_BASE_IDENTIFIER_H

#include "lib/base/build.h"

#define UUID_SIZE 37       /* 36 characters and the zero */
#define IDENTIFIER_SIZE 48 /* room for a prefix of up to ten characters, a UUID and the zero */

/* A new random UUID, from the kernel's generator. */
void uuid_new(char uuid[UUID_SIZE]);

/* A new identifier: `prefix` (as "ns_", at most ten characters) and a random UUID. */
void identifier_new(char identifier[IDENTIFIER_SIZE], const char *prefix);

/* True when `text` is `prefix` followed by a lower-case version-4 UUID and nothing more. */
bool identifier_is(const char *text, const char *prefix);

#endif
