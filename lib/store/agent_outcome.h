/* SPDX-License-Identifier: MIT
 *
 * The end of an Agent's stop: what lib/store/outcome.h promises, for OUTCOME_DONE of that kind. For outcome.c
 * only.
 */
#ifndef OCC_STORE_AGENT_OUTCOME_H
#define OCC_STORE_AGENT_OUTCOME_H

#include "lib/store/outcome.h"

size_t agent_outcome_add(struct pg_batch *batch, const struct outcome *outcome);

#endif
