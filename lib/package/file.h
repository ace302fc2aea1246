/* SPDX-License-Identifier: MIT
 *
 * A package's file: found in the folder and checked on the descriptor that it is loaded from. For lib/package
 * only.
 */
#ifndef OCC_PACKAGE_FILE_H
#define OCC_PACKAGE_FILE_H

#include "lib/package/package.h"

/* Opens the checked file of a package in `folder`; the caller owns the descriptor. Faults: those of
 * package_load() that speak of the name, the folder and the file. */
bool package_file_open(const char *folder, const char *name, int *descriptor, struct fault *fault) MUST_USE;

#endif
