/* SPDX-License-Identifier: MIT
 *
 * Memory: talloc, with every allocation checked. Out of memory ends the process at once (exit status 70 and
 * one line on stderr), so that no caller needs a path for it; a supervised process is started again and its
 * work is recovered by its lease.
 *
 * A pass owns one context and everything hangs on it; freeing the context is the clean-up. Foreign handles
 * hang on a context by a destructor (talloc_set_destructor).
 */
#ifndef OCC_BASE_MEMORY_H
#define OCC_BASE_MEMORY_H

#include "lib/base/build.h"

#include <stdarg.h>
#include <talloc.h>

/* A zeroed object or array of `type` that hangs on `context`. */
#define mem_new(context, type) ((type *)mem_zeroed((context), sizeof(type), 1, #type))
#define mem_array(context, type, count) ((type *)mem_zeroed((context), sizeof(type), (count), #type))

/* An empty context that hangs on another one, for what is freed together and earlier. */
TALLOC_CTX *mem_context(const void *context) __attribute__((returns_nonnull)) MUST_USE;

/* Resizes an array that mem_array made (or NULL); new elements are not zeroed. */
#define mem_grow(context, array, type, count)                                                                \
    ((type *)mem_resized((context), (array), sizeof(type), (count), #type))

void *mem_zeroed(const void *context, size_t size, size_t count, const char *name)
    __attribute__((returns_nonnull)) MUST_USE;
void *mem_resized(const void *context, void *old, size_t size, size_t count, const char *name)
    __attribute__((returns_nonnull)) MUST_USE;

/* A copy of a text, of its first `length` bytes, or a formatted text, hanging on `context`. */
char *mem_text(const void *context, const char *text) __attribute__((returns_nonnull)) MUST_USE;
char *mem_text_part(const void *context, const char *text, size_t length)
    __attribute__((returns_nonnull)) MUST_USE;
char *mem_format(const void *context, const char *format, ...) PRINTF_LIKE(2, 3)
    __attribute__((returns_nonnull)) MUST_USE;
char *mem_format_list(const void *context, const char *format, va_list arguments) PRINTF_LIKE(2, 0)
    __attribute__((returns_nonnull)) MUST_USE;

/* Appends to a text that one of the above made; returns the text, which may have moved. */
char *mem_append(char *text, const char *format, ...) PRINTF_LIKE(2, 3)
    __attribute__((returns_nonnull)) MUST_USE;

/* Ends the process for want of memory. For libraries' own allocations that fail. */
void mem_exhausted(void) NORETURN;

#endif
