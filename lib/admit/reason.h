/* SPDX-License-Identifier: MIT
 *
 * What the codes of work mean, in words. A Driver has codes of its own, whose message says what they mean.
 */
#ifndef OCC_ADMIT_REASON_H
#define OCC_ADMIT_REASON_H

#include "lib/base/build.h"

/* One sentence; NULL for a code that is not in the table (and for NULL). */
const char *reason_text(const char *code);

#endif
