/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/base/clock.h"

#include <time.h>

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        abort(); /* cannot fail for the clocks that we name */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_now_ms(void)
{
    return clock_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_now_us(void)
{
    return clock_us(CLOCK_BOOTTIME);
}

int64_t clock_epoch_ms(void)
{
    return clock_us(CLOCK_REALTIME) / 1000;
}

/* The last millisecond of the year 9999, which is the last that fits. */
#define LAST_MS 253402300799999

void clock_text_of(int64_t epoch_ms, char text[CLOCK_TEXT_SIZE])
{
    int64_t shown_ms = epoch_ms < 0 ? 0 : epoch_ms > LAST_MS ? LAST_MS : epoch_ms;
    time_t seconds = (time_t)(shown_ms / 1000);
    struct tm parts;
    size_t length;

    if (!gmtime_r(&seconds, &parts))
        memset(&parts, 0, sizeof parts);
    length = strftime(text, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text + length, CLOCK_TEXT_SIZE - length, ".%03uZ", (unsigned)(shown_ms % 1000) % 1000u);
}

void clock_text(char text[CLOCK_TEXT_SIZE])
{
    clock_text_of(clock_epoch_ms(), text);
}

int clock_poll_timeout(int64_t deadline_ms)
{
    int64_t left;

    if (deadline_ms == CLOCK_NEVER)
        return -1;
    left = deadline_ms - clock_now_ms();
    if (left <= 0)
        return 0;
    return left > 3600000 ? 3600000 : (int)left;
}
