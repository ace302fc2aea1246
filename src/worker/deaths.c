/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/deaths.h"

#include "lib/base/text.h"

static void drop(struct deaths *deaths, size_t index)
{
    deaths->count--;
    memmove(&deaths->list[index], &deaths->list[index + 1], (deaths->count - index) * sizeof deaths->list[0]);
}

void deaths_add(struct deaths *deaths, const struct message_release *release, int64_t died_ms,
                int64_t duration_ms)
{
    struct death *death;

    if (deaths->count == DEATHS_MOST)
        drop(deaths, 0);
    death = &deaths->list[deaths->count++];
    *death = (struct death){.release = *release, .died_ms = died_ms, .duration_ms = duration_ms};
}

struct death *deaths_unsent(struct deaths *deaths)
{
    size_t index;

    for (index = 0; index < deaths->count; index++) {
        if (!deaths->list[index].sent)
            return &deaths->list[index];
    }
    return NULL;
}

const struct death *deaths_find(const struct deaths *deaths, const char *token)
{
    size_t index;

    for (index = 0; index < deaths->count; index++) {
        if (text_equal(deaths->list[index].release.token, token))
            return &deaths->list[index];
    }
    return NULL;
}

void deaths_remove(struct deaths *deaths, const char *token)
{
    const struct death *death = deaths_find(deaths, token);

    if (death)
        drop(deaths, (size_t)(death - deaths->list));
}

void deaths_rewind(struct deaths *deaths)
{
    size_t index;

    for (index = 0; index < deaths->count; index++)
        deaths->list[index].sent = false;
}
