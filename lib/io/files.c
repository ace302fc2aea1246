/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/files.h"

#include "lib/base/identifier.h"
#include "lib/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse(struct fault *fault, const char *setting, const char *code, const char *path,
                   const char *why)
{
    return fault_set(fault, FAULT_CONFIGURATION, code, "%s: %s %s", setting, path, why);
}

const char *file_why_not_opened(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "does not exist";
    case EACCES:
    case EPERM:
        return "cannot be read by this user";
    case ELOOP:
        return "is a loop of links";
    case ENAMETOOLONG:
        return "is too long a path";
    case ENXIO:
        return "is not a regular file";
    default:
        return "cannot be opened";
    }
}

bool file_owner_is_trusted(const struct stat *status)
{
    return status->st_uid == 0 || status->st_uid == geteuid();
}

static const char *why_not_trusted(int fd, const struct stat *status, enum file_trust trust)
{
    if (S_ISDIR(status->st_mode))
        return "is a folder";
    if (!S_ISREG(status->st_mode))
        return "is not a regular file";
    if (!file_owner_is_trusted(status))
        return "is owned by neither root nor this user";
    if (file_is_open_to_others(fd, status->st_mode, S_IWGRP | S_IWOTH))
        return "is writable by other users";
    if (trust == FILE_GROUP && file_is_open_to_others(fd, status->st_mode, S_IROTH))
        return "is readable by all users";
    if (trust == FILE_PRIVATE && file_is_open_to_others(fd, status->st_mode, S_IRGRP | S_IROTH))
        return "is readable by other users";
    return NULL;
}

ssize_t file_read_whole(int fd, char *bytes, size_t limit)
{
    size_t filled = 0;

    while (filled <= limit) {
        ssize_t got = read(fd, bytes + filled, limit + 1 - filled);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        filled += (size_t)got;
    }
    return (ssize_t)filled;
}

static const char *read_checked(int fd, const void *context, enum file_trust trust, size_t limit,
                                struct secret **content)
{
    struct stat status;
    const char *why;
    size_t room = limit + 1;
    ssize_t length;
    char *bytes;

    if (fstat(fd, &status) != 0)
        return "cannot be examined";
    why = why_not_trusted(fd, &status, trust);
    if (why)
        return why;
    if (status.st_size > (off_t)limit)
        return "is too large";
    bytes = mem_array(NULL, char, room);
    length = file_read_whole(fd, bytes, limit);
    if (length > 0 && (size_t)length <= limit)
        *content = secret_new(context, bytes, (size_t)length);
    secret_wipe(bytes, room);
    talloc_free(bytes);
    if (length < 0)
        return "cannot be read";
    if (length == 0)
        return "is empty";
    return (size_t)length > limit ? "is too large" : NULL;
}

bool file_read(const void *context, const char *setting, const char *code, const char *path,
               enum file_trust trust, size_t limit, struct secret **content, struct fault *fault)
{
    const char *why;
    int fd;

    if (!path || path[0] == '\0')
        return fault_set(fault, FAULT_CONFIGURATION, code, "%s: the path is empty", setting);
    if (path[0] != '/')
        return refuse(fault, setting, code, path, "is not an absolute path");
    /* O_NONBLOCK: a pipe in the file's place must not stop us. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return refuse(fault, setting, code, path, file_why_not_opened(errno));
    why = read_checked(fd, context, trust, limit, content);
    (void)close(fd);
    return why ? refuse(fault, setting, code, path, why) : true;
}

/* ---- Writing */

/* Splits a path into an opened folder and a name within it. -1 with errno. */
static int open_folder(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *folder;
    int fd;

    *name = slash ? slash + 1 : path;
    if (**name == '\0' || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) {
        errno = EISDIR;
        return -1;
    }
    if (!slash)
        folder = mem_text(NULL, ".");
    else
        folder = mem_text_part(NULL, path, slash == path ? 1 : (size_t)(slash - path));
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    talloc_free(folder);
    return fd;
}

static bool write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* The mode is set on the descriptor, as the umask may take bits away. */
bool file_fill(int folder, const char *name, const char *bytes, size_t length, bool sync)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool filled;
    int error;

    if (fd < 0)
        return false;
    filled = fchmod(fd, 0600) == 0 && write_all(fd, bytes, length) && (!sync || fsync(fd) == 0);
    error = errno;
    if (close(fd) != 0 && filled) {
        error = errno;
        filled = false;
    }
    if (!filled)
        (void)unlinkat(folder, name, 0); /* ours: O_EXCL made it */
    errno = error;
    return filled;
}

static const char *why_folder_not_trusted(int folder)
{
    struct stat status;

    if (fstat(folder, &status) != 0)
        return "is in a folder that cannot be examined";
    if (!file_owner_is_trusted(&status))
        return "is in a folder that is owned by neither root nor this user";
    if (file_is_open_to_others(folder, status.st_mode, S_IWGRP | S_IWOTH))
        return "is in a folder that other users can write";
    return NULL;
}

const char *file_why_not_written(int error)
{
    switch (error) {
    case EEXIST:
        return "exists already";
    case EISDIR:
        return "does not name a file";
    case ENOENT:
    case ENOTDIR:
        return "is in a folder that does not exist";
    case EACCES:
    case EPERM:
        return "cannot be written by this user";
    case EROFS:
        return "is on a read-only file system";
    case ENOSPC:
    case EDQUOT:
        return "does not fit: the disk is full";
    default:
        return "cannot be written";
    }
}

bool file_create_private(const char *setting, const char *code, const char *path, const char *bytes,
                         size_t length, struct fault *fault)
{
    const char *why = NULL;
    const char *name;
    int folder;

    if (!path || path[0] == '\0')
        return fault_set(fault, FAULT_CONFIGURATION, code, "%s: the path is empty", setting);
    folder = open_folder(path, &name);
    if (folder < 0)
        return refuse(fault, setting, code, path, file_why_not_written(errno));
    why = why_folder_not_trusted(folder);
    if (!why && !file_fill(folder, name, bytes, length, true)) {
        why = file_why_not_written(errno);
    } else if (!why && fsync(folder) != 0) {
        why = file_why_not_written(errno);
        (void)unlinkat(folder, name, 0); /* ours: it was made with O_EXCL */
    }
    (void)close(folder);
    return why ? refuse(fault, setting, code, path, why) : true;
}

bool file_replace(const char *path, const char *code, const char *text, struct fault *fault)
{
    char temporary[8 + UUID_SIZE] = ".occ-";
    const char *why = NULL;
    const char *name;
    int folder = open_folder(path, &name);

    if (folder < 0)
        return fault_set(fault, FAULT_RETRYABLE, code, "%s %s", path, file_why_not_written(errno));
    uuid_new(temporary + strlen(temporary));
    if (!file_fill(folder, temporary, text, strlen(text), false)) {
        why = file_why_not_written(errno);
    } else if (renameat(folder, temporary, folder, name) != 0) {
        why = file_why_not_written(errno);
        (void)unlinkat(folder, temporary, 0);
    }
    (void)close(folder);
    return why ? fault_set(fault, FAULT_RETRYABLE, code, "%s %s", path, why) : true;
}
