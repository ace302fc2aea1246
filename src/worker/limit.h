/* SPDX-License-Identifier: MIT
 *
 * A limit on repeated events: in an outage each process finds the same thing wrong again and again, and a log
 * that is flooded loses lines. The first few of a kind in a window are written; the others are counted, and
 * the next one that is written tells their number.
 */
#ifndef OCC_WORKER_LIMIT_H
#define OCC_WORKER_LIMIT_H

#include "lib/base/build.h"

#define LIMIT_KINDS 32
#define LIMIT_WINDOW_MS 30000
#define LIMIT_BURST 10

struct limit {
    struct limit_kind {
        char name[96];
        int64_t since_ms;
        unsigned written;
        unsigned suppressed;
    } kinds[LIMIT_KINDS];
};

/* Whether an event of the kind `name` may be written now. Then *suppressed is how many were not since the
 * last that was. With more kinds than there is room for, the one used longest ago is forgotten. */
bool limit_allows(struct limit *limit, const char *name, int64_t now_ms, unsigned *suppressed);

#endif
