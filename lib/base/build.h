/* SPDX-License-Identifier: MIT
 *
 * The first header of every source file: the build's configuration, compiler attributes, and a ban on calls
 * that have no safe use. Nothing else belongs here.
 */
#ifndef OCC_BASE_BUILD_H
#define OCC_BASE_BUILD_H

#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* The headers which declare what is banned below must be read before the ban. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_argument)                                                            \
    __attribute__((format(printf, format_index, first_argument)))
#define NORETURN __attribute__((noreturn))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* With _FORTIFY_SOURCE glibc makes macros of these for clang, which warns of the ban of a macro. */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets atoi atol system popen

#endif
