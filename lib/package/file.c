/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/package/file.h"

#include "lib/base/memory.h"
#include "lib/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".so"
#define NAME_MOST 64

/* With an access list the group's bits are its mask, so that nobody but the owner may write where they and
 * the others' are clear. */
#define WRITABLE_BY_OTHERS (S_IWGRP | S_IWOTH)

static bool is_name(const char *name)
{
    size_t length = strlen(name);

    return length >= 1 && length <= NAME_MOST && name[0] != '-' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static int compare(const struct dirent **one, const struct dirent **other)
{
    return strcmp((*one)->d_name, (*other)->d_name);
}

/* The names of the packages in the folder, for the message that one is not there. */
static const char *installed(const void *context, int folder)
{
    char *list = mem_text(context, "");
    struct dirent **entries;
    int count = scandirat(folder, ".", &entries, NULL, compare), index;

    for (index = 0; index < count; index++) {
        const char *entry = entries[index]->d_name;
        size_t length = strlen(entry), suffix = sizeof SUFFIX - 1;
        char *name = mem_text_part(context, entry, length > suffix ? length - suffix : 0);

        if (length > suffix && strcmp(entry + length - suffix, SUFFIX) == 0 && is_name(name))
            list = mem_append(list, "%s%s", *list ? ", " : "", name);
        free(entries[index]);
    }
    if (count >= 0)
        free(entries);
    return *list ? list : "none";
}

static bool open_folder(const char *path, const char *name, int *descriptor, struct fault *fault)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (folder < 0 && errno == ENOENT)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_FOLDER_MISSING",
                         "The package %s cannot be loaded: the Driver folder %s does not exist", name, path);
    if (folder < 0 && (errno == ENOTDIR || errno == ELOOP))
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_FOLDER_NOT_DIRECTORY",
                         "The package %s cannot be loaded: the Driver folder %s is a link or no folder", name,
                         path);
    if (folder < 0 || fstat(folder, &status) != 0) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DRIVER_FOLDER_UNREADABLE",
                        "The package %s cannot be loaded: the Driver folder %s cannot be opened: %s", name,
                        path, strerror(errno));
        goto refused;
    }
    if (status.st_uid != 0) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DRIVER_FOLDER_OWNER",
                        "The package %s is not loaded: the Driver folder %s is owned by user %lu, not root",
                        name, path, (unsigned long)status.st_uid);
        goto refused;
    }
    if (status.st_mode & WRITABLE_BY_OTHERS) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DRIVER_FOLDER_WRITABLE",
                        "The package %s is not loaded: the Driver folder %s is writable by others than root "
                        "(mode %04o)",
                        name, path, (unsigned)status.st_mode & 07777u);
        goto refused;
    }
    *descriptor = folder;
    return true;

refused:
    if (folder >= 0)
        (void)close(folder);
    return false;
}

static bool missing(int folder, const char *path, const char *name, struct fault *fault)
{
    TALLOC_CTX *scratch = talloc_new(NULL);

    (void)fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_MISSING",
                    "The package %s is not installed: there is no %s/%s" SUFFIX "; installed: %s", name, path,
                    name, installed(scratch, folder));
    talloc_free(scratch);
    return false;
}

static bool check_file(const struct stat *status, const char *path, const char *name, struct fault *fault)
{
    if (!S_ISREG(status->st_mode))
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_NOT_REGULAR",
                         "The package %s is not loaded: %s/%s" SUFFIX " is no regular file", name, path,
                         name);
    if (status->st_uid != 0)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_OWNER",
                         "The package %s is not loaded: %s/%s" SUFFIX " is owned by user %lu, not root", name,
                         path, name, (unsigned long)status->st_uid);
    if (status->st_mode & WRITABLE_BY_OTHERS)
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_WRITABLE",
                         "The package %s is not loaded: %s/%s" SUFFIX " is writable by others than root "
                         "(mode %04o)",
                         name, path, name, (unsigned)status->st_mode & 07777u);
    return true;
}

static bool open_file(int folder, const char *path, const char *name, int *descriptor, struct fault *fault)
{
    char entry[NAME_MOST + sizeof SUFFIX];
    struct stat status;
    int file;

    (void)snprintf(entry, sizeof entry, "%s" SUFFIX, name);
    /* A pipe of this name must not be waited for. */
    file = openat(folder, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        return missing(folder, path, name, fault);
    if (file < 0 && (errno == ELOOP || errno == ENXIO))
        return fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_NOT_REGULAR",
                         "The package %s is not loaded: %s/%s is %s", name, path, entry,
                         errno == ELOOP ? "a link, not a regular file" : "no regular file");
    if (file < 0 || fstat(file, &status) != 0) {
        (void)fault_set(fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_UNREADABLE",
                        "The package %s cannot be loaded: %s/%s cannot be opened: %s", name, path, entry,
                        strerror(errno));
        if (file >= 0)
            (void)close(file);
        return false;
    }
    if (!check_file(&status, path, name, fault)) {
        (void)close(file);
        return false;
    }
    *descriptor = file;
    return true;
}

bool package_file_open(const char *path, const char *name, int *descriptor, struct fault *fault)
{
    int folder = -1;
    bool done;

    if (!is_name(name)) {
        char shown[NAME_MOST + 1];

        (void)text_copy(shown, sizeof shown, name);
        return fault_set(
            fault, FAULT_CONFIGURATION, "DRIVER_PACKAGE_NAME_INVALID",
            "\"%s\" is no package's name: at most 64 of a-z, 0-9 and -, beginning with a letter or "
            "digit; packages are loaded from %s only",
            shown, path);
    }
    if (!open_folder(path, name, &folder, fault))
        return false;
    done = open_file(folder, path, name, descriptor, fault);
    (void)close(folder);
    return done;
}
