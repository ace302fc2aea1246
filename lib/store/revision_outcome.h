/* SPDX-License-Identifier: MIT
 *
 * The end of a claim of revision work: what lib/store/outcome.h promises, for items about a revision. For
 * outcome.c only.
 */
#ifndef OCC_STORE_REVISION_OUTCOME_H
#define OCC_STORE_REVISION_OUTCOME_H

#include "lib/store/outcome.h"

size_t revision_outcome_add(struct pg_batch *batch, const struct outcome *outcome);

#endif
