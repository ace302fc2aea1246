/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/driver/harness.h"

#include "lib/base/text.h"

const struct harness harness_list[] = {
    {"openclaw", "embedded", "1", false},
    {"codex", "dedicated", "1", false},
    {"openclaw", "dedicated", "1", true},
};
const size_t harness_count = COUNT_OF(harness_list);

const struct harness *harness_find(const char *id, const char *mode)
{
    size_t index;

    for (index = 0; index < harness_count; index++)
        if (text_equal(harness_list[index].id, id) && text_equal(harness_list[index].mode, mode))
            return &harness_list[index];
    return NULL;
}
