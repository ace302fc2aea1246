/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/backoff.h"

struct backoff backoff_for_children(void)
{
    return (struct backoff){.least_ms = 100, .most_ms = 30000, .healthy_ms = 60000};
}

struct backoff backoff_for_database(void)
{
    return (struct backoff){.least_ms = 100, .most_ms = 5000, .healthy_ms = 10000};
}

static int64_t delay(const struct backoff *backoff)
{
    int64_t wait = backoff->least_ms;
    unsigned index;

    for (index = 1; index < backoff->failures && wait < backoff->most_ms; index++)
        wait *= 2;
    return wait < backoff->most_ms ? wait : backoff->most_ms;
}

int64_t backoff_failed(struct backoff *backoff, int64_t lived_ms)
{
    if (lived_ms >= backoff->healthy_ms)
        backoff->failures = 0;
    if (!backoff_is_exhausted(backoff))
        backoff->failures++;
    return delay(backoff);
}

void backoff_reset(struct backoff *backoff)
{
    backoff->failures = 0;
}

void backoff_worked(struct backoff *backoff)
{
    if (backoff->failures > BACKOFF_BRIEF)
        backoff->failures = BACKOFF_BRIEF;
}

bool backoff_is_exhausted(const struct backoff *backoff)
{
    return backoff->failures > 0 && delay(backoff) >= backoff->most_ms;
}

static void rate_refill(struct rate *rate, int64_t now_ms)
{
    int64_t earned;

    if (!rate->refilled_ms) {
        rate->left = rate->burst;
        rate->refilled_ms = now_ms;
        return;
    }
    earned = (now_ms - rate->refilled_ms) / rate->interval_ms;
    if (earned <= 0)
        return;
    if (earned >= (int64_t)(rate->burst - rate->left)) {
        rate->left = rate->burst;
        rate->refilled_ms = now_ms;
    } else {
        rate->left += (unsigned)earned;
        rate->refilled_ms += earned * rate->interval_ms;
    }
}

bool rate_take(struct rate *rate, int64_t now_ms)
{
    rate_refill(rate, now_ms);
    if (!rate->left)
        return false;
    rate->left--;
    return true;
}

int64_t rate_next_ms(const struct rate *rate, int64_t now_ms)
{
    struct rate then = *rate;

    rate_refill(&then, now_ms);
    return then.left ? now_ms : then.refilled_ms + then.interval_ms;
}
