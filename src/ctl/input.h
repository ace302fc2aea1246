/* SPDX-License-Identifier: MIT
 *
 * What a user hands to occctl beside the command line.
 */
#ifndef OCC_CTL_INPUT_H
#define OCC_CTL_INPUT_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"

/* Reads the file that an operand names, or standard input for "-", to its end: bytes as they are, followed by
 * a zero, on `context`. Faults: FAULT_INVALID INPUT_UNREADABLE, INPUT_TOO_LARGE beyond `limit` bytes. */
bool input_read(const void *context, const char *operand, size_t limit, const char **bytes, size_t *length,
                struct fault *fault) MUST_USE;

/* The same for a secret: not from a terminal, and not from a file that others can read. */
bool input_read_secret(const void *context, const char *operand, size_t limit, const struct secret **content,
                       struct fault *fault) MUST_USE;

#endif
