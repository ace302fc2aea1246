/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "src/worker/notify.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STATUS_SIZE 400

struct notify {
    int socket; /* -1: no service manager */
    struct sockaddr_un address;
    socklen_t length;
    int64_t watchdog_ms;
    char status[STATUS_SIZE]; /* the latest that was sent */
    char owed[96];            /* the latest phase, if there was no room for it */
};

static int close_socket(struct notify *notify)
{
    if (notify->socket >= 0)
        (void)close(notify->socket);
    return 0;
}

/* The watchdog is for this process only when WATCHDOG_PID is absent or names it (sd_watchdog_enabled(3)). */
static int64_t watchdog_interval(void)
{
    const char *interval = getenv("WATCHDOG_USEC"), *owner = getenv("WATCHDOG_PID");
    uint64_t microseconds = 0, process = 0;

    if (!interval || !text_to_number(interval, INT64_MAX, &microseconds))
        return 0;
    if (owner && (!text_to_number(owner, INT32_MAX, &process) || process != (uint64_t)getpid()))
        return 0;
    return (int64_t)(microseconds / 1000);
}

struct notify *notify_open(const void *context)
{
    struct notify *notify = mem_new(context, struct notify);
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;

    notify->socket = -1;
    notify->watchdog_ms = watchdog_interval();
    talloc_set_destructor(notify, close_socket);
    /* A path, or "@" and an abstract name. */
    if (length > 1 && length < sizeof notify->address.sun_path && (path[0] == '/' || path[0] == '@')) {
        notify->address.sun_family = AF_UNIX;
        memcpy(notify->address.sun_path, path, length);
        if (path[0] == '@')
            notify->address.sun_path[0] = '\0';
        notify->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
        notify->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
    return notify;
}

int64_t notify_watchdog_ms(const struct notify *notify)
{
    return notify->watchdog_ms;
}

/* False: there is no room now. */
static bool put(struct notify *notify, const char *lines)
{
    return notify->socket < 0 ||
           sendto(notify->socket, lines, strlen(lines), MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)&notify->address, notify->length) >= 0 ||
           (errno != EAGAIN && errno != ENOBUFS);
}

void notify_send(struct notify *notify, const char *lines)
{
    (void)put(notify, lines);
}

void notify_phase(struct notify *notify, const char *lines)
{
    notify->owed[0] = '\0';
    if (!put(notify, lines))
        (void)text_copy(notify->owed, sizeof notify->owed, lines);
}

void notify_owed(struct notify *notify)
{
    if (notify->owed[0] && put(notify, notify->owed))
        notify->owed[0] = '\0';
}

void notify_status(struct notify *notify, const char *format, ...)
{
    char status[STATUS_SIZE], line[STATUS_SIZE + 8];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(status, sizeof status, format, arguments);
    va_end(arguments);
    text_make_line(status);
    if (text_equal(status, notify->status))
        return;
    (void)snprintf(line, sizeof line, "STATUS=%s", status);
    if (put(notify, line))
        (void)text_copy(notify->status, sizeof notify->status, status);
}

void notify_extend(struct notify *notify, int64_t more_ms)
{
    char line[64];

    (void)snprintf(line, sizeof line, "EXTEND_TIMEOUT_USEC=%" PRId64, more_ms * 1000);
    notify_send(notify, line);
}

void notify_reloading(struct notify *notify)
{
    struct timespec now;
    char lines[96];

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    notify_phase(notify, lines);
}
