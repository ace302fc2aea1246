/* SPDX-License-Identifier: MIT
 *
 * The scripted Driver's folder: its files, its lock and its journal.
 */
#include "lib/base/build.h"

#include "tests/drivers/scripted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define JOURNAL_LINE 4000

void folder_failed(const char *path)
{
    (void)dprintf(STDERR_FILENO, "the scripted Driver cannot use %s: %s\n", path, strerror(errno));
    _exit(70);
}

const char *folder_path(const struct act *act, const char *name)
{
    return act->host->format(act->call, "%s/%s", act->self->folder, name);
}

/* Whatever user and umask the program has, the test may write it too. */
static int open_file(const char *path, int flags)
{
    int descriptor = open(path, flags | O_CLOEXEC, 0666);

    if (descriptor >= 0 && (flags & O_CREAT))
        (void)fchmod(descriptor, 0666);
    return descriptor;
}

static void write_all(int descriptor, const char *path, const char *bytes, size_t length)
{
    ssize_t written;

    while (length) {
        written = write(descriptor, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            folder_failed(path);
        bytes += written;
        length -= (size_t)written;
    }
}

int folder_lock(const struct act *act)
{
    const char *path = folder_path(act, "lock");
    int descriptor = open_file(path, O_RDWR | O_CREAT);

    if (descriptor < 0 || flock(descriptor, LOCK_EX) != 0)
        folder_failed(path);
    return descriptor;
}

void folder_unlock(int descriptor)
{
    (void)close(descriptor);
}

const char *folder_read(const struct act *act, const char *name, size_t *length)
{
    const char *path = folder_path(act, name);
    int descriptor = open_file(path, O_RDONLY);
    struct stat status;
    ssize_t count;
    char *bytes;

    if (descriptor < 0 && errno == ENOENT)
        return NULL;
    if (descriptor < 0 || fstat(descriptor, &status) != 0)
        folder_failed(path);
    bytes = act->host->allocate(act->call, (size_t)status.st_size + 1);
    *length = 0;
    while (*length < (size_t)status.st_size) {
        count = read(descriptor, bytes + *length, (size_t)status.st_size - *length);
        if (count < 0)
            folder_failed(path);
        if (count == 0)
            break;
        *length += (size_t)count;
    }
    (void)close(descriptor);
    return bytes;
}

/* Makes the folders above a file, as far as they are the Driver's. */
static void make_folders(const struct act *act, const char *name)
{
    const char *slash;

    for (slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *path = folder_path(act, act->host->format(act->call, "%.*s", (int)(slash - name), name));

        if (mkdir(path, 0777) == 0)
            (void)chmod(path, 0777);
        else if (errno != EEXIST)
            folder_failed(path);
    }
}

void folder_write(const struct act *act, const char *name, const char *bytes, size_t length)
{
    const char *path = folder_path(act, name);
    const char *beside = act->host->format(act->call, "%s.%ld", path, (long)getpid());
    int descriptor;

    make_folders(act, name);
    descriptor = open_file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (descriptor < 0)
        folder_failed(beside);
    write_all(descriptor, beside, bytes, length);
    (void)close(descriptor);
    if (rename(beside, path) != 0)
        folder_failed(path);
}

int folder_remove(const struct act *act, const char *name)
{
    const char *path = folder_path(act, name);

    if (unlink(path) == 0)
        return 1;
    if (errno != ENOENT)
        folder_failed(path);
    return 0;
}

int folder_has(const struct act *act, const char *name)
{
    return access(folder_path(act, name), F_OK) == 0;
}

static const char *member(const struct act *act, const char *name, const char *value)
{
    return value ? act->host->format(act->call, ",\"%s\":%s", name, act->host->json_quote(act->call, value))
                 : "";
}

/* One line by one write to an appending descriptor, so that lines of several processes never mix. */
void journal(struct act *act, const char *what, const char *format, ...)
{
    const char *path = folder_path(act, "journal");
    char more[JOURNAL_LINE];
    const char *line;
    struct timespec now;
    va_list arguments;
    int descriptor;

    va_start(arguments, format);
    (void)vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    line = act->host->format(
        act->call, "{\"what\":\"%s\",\"operation\":\"%s\",\"pid\":%ld,\"atMs\":%lld%s%s%s%s%s%s%s%s}\n", what,
        act->operation, (long)getpid(), (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000,
        member(act, "namespaceId", act->namespace_id), member(act, "agentId", act->agent_id),
        member(act, "revisionId", act->revision_id),
        act->number ? act->host->format(act->call, ",\"number\":%lld", (long long)act->number) : "",
        member(act, "subject", act->other), act->call->observe_only ? ",\"observeOnly\":true" : "",
        more[0] ? "," : "", more);
    descriptor = open_file(path, O_WRONLY | O_CREAT | O_APPEND);
    if (descriptor < 0 || write(descriptor, line, strlen(line)) != (ssize_t)strlen(line))
        folder_failed(path);
    (void)close(descriptor);
}
