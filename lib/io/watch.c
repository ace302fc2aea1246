/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/watch.h"

#include "lib/base/clock.h"

#include <errno.h>

size_t watch_prepare(const struct watch *watch, struct pollfd *room, int64_t *wake_ms)
{
    size_t count;

    if (!watch || !watch->prepare)
        return 0;
    count = watch->prepare(watch->subject, room, wake_ms);
    if (count > WATCH_DESCRIPTORS)
        abort(); /* it wrote over our stack */
    for (size_t i = 0; i < count; i++)
        room[i].revents = 0;
    return count;
}

bool watch_turn(const struct watch *watch, const struct pollfd *ready, size_t count, struct fault *fault)
{
    if (!watch || !watch->turn)
        return true;
    return watch->turn(watch->subject, ready, count, fault);
}

bool watch_wait(const struct watch *watch, struct pollfd *own, size_t count, int64_t deadline_ms, bool *ready,
                struct fault *fault)
{
    struct pollfd all[WATCH_OWN_DESCRIPTORS + WATCH_DESCRIPTORS];

    if (count > WATCH_OWN_DESCRIPTORS)
        return fault_set(fault, FAULT_BUG, "WATCH_TOO_MANY", "a wait on %zu descriptors", count);
    for (;;) {
        int64_t wake_ms = deadline_ms;
        size_t watched = watch_prepare(watch, all + count, &wake_ms);
        bool any = false;
        int events;

        for (size_t i = 0; i < count; i++)
            all[i] = (struct pollfd){.fd = own[i].fd, .events = own[i].events};
        events = poll(all, (nfds_t)(count + watched), clock_poll_timeout(wake_ms));
        if (events < 0 && errno != EINTR && errno != EAGAIN)
            return fault_set(fault, FAULT_BUG, "WATCH_POLL_FAILED", "poll failed: errno %d", errno);
        for (size_t i = 0; i < count; i++) {
            own[i].revents = events > 0 ? all[i].revents : 0;
            any = any || own[i].revents;
        }
        for (size_t i = 0; events <= 0 && i < watched; i++)
            all[count + i].revents = 0;
        if (!watch_turn(watch, all + count, watched, fault))
            return false;
        if (any || clock_now_ms() >= deadline_ms) {
            *ready = any;
            return true;
        }
    }
}
