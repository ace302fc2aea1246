/* SPDX-License-Identifier: MIT
 *
 * Names as people give them. The schema's occ.resource_name checks the same; here it is told precisely.
 */
#ifndef OCC_ADMIT_NAME_H
#define OCC_ADMIT_NAME_H

#include "lib/base/fault.h"

#define NAME_CHARACTERS 200

/* 1 to 200 characters of UTF-8 without control characters and without white space (Unicode's) at either end.
 * `what` is what the name is for ("The Namespace's name"). Fault: FAULT_INVALID NAME_INVALID. */
bool name_check(const char *what, const char *name, struct fault *fault) MUST_USE;

/* An RFC 1123 label, as Kubernetes names namespaces. Fault: FAULT_INVALID NAME_INVALID. */
bool name_check_label(const char *what, const char *name, struct fault *fault) MUST_USE;

#endif
