/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/limit.h"

#include "lib/base/text.h"

static struct limit_kind *find(struct limit *limit, const char *name, int64_t now_ms)
{
    struct limit_kind *oldest = &limit->kinds[0];
    char cut[sizeof oldest->name];
    size_t index;

    (void)text_copy(cut, sizeof cut, name);
    for (index = 0; index < LIMIT_KINDS; index++) {
        struct limit_kind *kind = &limit->kinds[index];

        if (kind->name[0] && text_equal(kind->name, cut))
            return kind;
        if (oldest->name[0] && (!kind->name[0] || kind->since_ms < oldest->since_ms))
            oldest = kind;
    }
    *oldest = (struct limit_kind){.since_ms = now_ms};
    (void)text_copy(oldest->name, sizeof oldest->name, cut);
    return oldest;
}

bool limit_allows(struct limit *limit, const char *name, int64_t now_ms, unsigned *suppressed)
{
    struct limit_kind *kind = find(limit, name, now_ms);

    if (now_ms - kind->since_ms >= LIMIT_WINDOW_MS) {
        kind->since_ms = now_ms;
        kind->written = 0;
    }
    if (kind->written >= LIMIT_BURST) {
        kind->suppressed++;
        return false;
    }
    kind->written++;
    *suppressed = kind->suppressed;
    kind->suppressed = 0;
    return true;
}
