/* SPDX-License-Identifier: MIT
 *
 * Whether bytes are one JSON document by RFC 8259: well-formed UTF-8, at most JSON_DEPTH objects and arrays
 * in each other, no \u0000 in any text.
 */
#ifndef OCC_IO_JSON_SCAN_H
#define OCC_IO_JSON_SCAN_H

#include "lib/base/build.h"

#define JSON_DEPTH 64

bool json_scan(const char *text, size_t length) MUST_USE;

#endif
