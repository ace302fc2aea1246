/* SPDX-License-Identifier: MIT
 *
 * Secrets have a type of their own, which no formatter and no logger accepts, and are wiped when freed.
 */
#ifndef OCC_BASE_SECRET_H
#define OCC_BASE_SECRET_H

#include "lib/base/build.h"

struct secret;

/* A secret of the first `length` bytes of `bytes`, hanging on `context`. The caller wipes its own copy. */
struct secret *secret_new(const void *context, const char *bytes, size_t length)
    __attribute__((returns_nonnull)) MUST_USE;

/* The bytes, followed by a zero; owned by the secret. Name of the call says what it does: look at each use.
 */
const char *secret_expose(const struct secret *secret) __attribute__((returns_nonnull));
size_t secret_length(const struct secret *secret);

/* Forbids this process, and those that it starts, a core file, in which its secrets would lie. For the start
 * of a program that reads any. */
void secret_forbid_core(void);

/* Overwrites memory in a way that the compiler keeps. */
void secret_wipe(void *memory, size_t length);

#endif
