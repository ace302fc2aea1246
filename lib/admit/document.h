/* SPDX-License-Identifier: MIT
 *
 * Which texts are taken for an Agent's native document. The text is only looked at, never rewritten.
 *
 * A document is one JSON object of RFC 8259 and at most CONFIGURATION_DOCUMENT_LIMIT bytes of UTF-8, at most
 * 64 levels deep, which PostgreSQL's jsonb takes as it is: no member is there twice, no text holds \u0000 or
 * half of a surrogate pair, and numbers are in the range of PostgreSQL's numeric (documentation, "Numeric
 * Types": up to 131072 digits before the decimal point and 16383 after it); written without exponents they
 * make the document at most as much longer as it may be long. "logging", where it is there, is an object,
 * since each deployment sets its level.
 *
 * It holds no credential in plain text: a text that is not empty, under a key one of whose words is password,
 * token, secret or key (schema_key_means_credential), unless it is "${NAME}", or of an object that is a
 * reference: {"source":…,"id":…} with a "provider" at most, or {"kind":"secret","namespaceId":…,"id":…}; and
 * no URL with user information, in any name or text.
 */
#ifndef OCC_ADMIT_DOCUMENT_H
#define OCC_ADMIT_DOCUMENT_H

#include "lib/base/fault.h"

/* Fault: FAULT_INVALID DOCUMENT_TOO_LARGE, DOCUMENT_SYNTAX, DOCUMENT_ENCODING, DOCUMENT_ZERO_CHARACTER,
 * DOCUMENT_TOO_DEEP, DOCUMENT_NOT_AN_OBJECT, DOCUMENT_DUPLICATE_MEMBER, DOCUMENT_NUMBER_RANGE,
 * DOCUMENT_CREDENTIAL, DOCUMENT_LOGGING_INVALID. The message has the JSON pointer (RFC 6901) with line and
 * column, and never a value. */
bool document_check(const char *text, size_t length, struct fault *fault) MUST_USE;

/* Whether PostgreSQL's numeric takes a number of RFC 8259; *digits is its length without an exponent, at
 * most. */
bool document_number_fits(const char *number, size_t length, size_t *digits) MUST_USE;

#endif
