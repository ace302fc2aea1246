/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 512

int files_make_folder(int folder, const char *path)
{
    return mkdirat(folder, path, 0700) == 0 || errno == EEXIST ? 0 : errno;
}

/* What a crash left under the name beside the real one is simply replaced. */
static int beside(char *name, const char *path)
{
    return snprintf(name, PATH_SIZE, "%s.new", path) < PATH_SIZE ? 0 : ENAMETOOLONG;
}

static int write_and_close(int descriptor, const char *text)
{
    size_t left = strlen(text);
    int error = 0;

    while (left && !error) {
        ssize_t count = write(descriptor, text, left);

        if (count < 0 && errno != EINTR)
            error = errno;
        if (count > 0) {
            text += count;
            left -= (size_t)count;
        }
    }
    /* A rename may reach the disk before what was written. */
    if (!error && fsync(descriptor) != 0)
        error = errno;
    if (close(descriptor) != 0 && !error)
        error = errno;
    return error;
}

int files_write(int folder, const char *path, const char *text)
{
    char name[PATH_SIZE];
    int descriptor, error = beside(name, path);

    if (error)
        return error;
    descriptor = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return errno;
    error = write_and_close(descriptor, text);
    if (!error && renameat(folder, name, folder, path) != 0)
        error = errno;
    return error;
}

int files_link(int folder, const char *path, const char *target)
{
    char name[PATH_SIZE];
    int error = beside(name, path);

    if (!error)
        error = files_remove(folder, name);
    if (!error && symlinkat(target, folder, name) != 0)
        error = errno;
    /* rename() is what makes it one step: there is always the old link or the new one. */
    if (!error && renameat(folder, name, folder, path) != 0)
        error = errno;
    return error;
}

int files_remove(int folder, const char *path)
{
    return unlinkat(folder, path, 0) == 0 || errno == ENOENT ? 0 : errno;
}

static int remove_entry(int folder, const char *name, int (*go_on)(const void *subject), const void *subject)
{
    int error;

    if (!go_on(subject))
        return ECANCELED;
    error = files_remove(folder, name);
    return error == EISDIR || error == EPERM ? files_remove_tree(folder, name, go_on, subject) : error;
}

int files_remove_tree(int folder, const char *path, int (*go_on)(const void *subject), const void *subject)
{
    int descriptor = openat(folder, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = descriptor < 0 ? NULL : fdopendir(descriptor);
    const struct dirent *entry;
    int error = listing ? 0 : errno;

    if (!listing) {
        if (descriptor >= 0)
            close(descriptor);
        return error == ENOENT ? 0 : error;
    }
    while (!error && (entry = readdir(listing))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            error = remove_entry(descriptor, entry->d_name, go_on, subject);
    }
    closedir(listing);
    if (!error && unlinkat(folder, path, AT_REMOVEDIR) != 0 && errno != ENOENT)
        error = errno;
    return error;
}

int files_read(int folder, const char *path, char *text, size_t size)
{
    int descriptor = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t count;
    int error;

    if (descriptor < 0)
        return errno;
    count = read(descriptor, text, size - 1);
    error = count < 0 ? errno : 0;
    close(descriptor);
    text[count < 0 ? 0 : count] = '\0';
    return error;
}

int files_read_link(int folder, const char *path, char *target, size_t size)
{
    ssize_t count = readlinkat(folder, path, target, size - 1);
    int error = count < 0 ? errno : 0;

    target[count < 0 ? 0 : count] = '\0';
    return error;
}
