/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/filesystem/place.h"

#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/text.h"
#include "lib/filesystem/driver.h"
#include "lib/io/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PAUSE_MS 10

static bool unavailable(struct fault *fault, const char *path, const char *why)
{
    return fault_set(fault, FAULT_RETRYABLE, STORAGE_UNAVAILABLE, "%s %s.", path, why);
}

static bool refused(struct fault *fault, const char *path, const char *why)
{
    return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_PATH_REFUSED", "%s %s.", path, why);
}

/* ---- The root */

static const char *why_not_trusted(int folder)
{
    struct stat status;

    if (fstat(folder, &status) != 0)
        return "cannot be examined";
    if (!file_owner_is_trusted(&status))
        return "is owned by neither root nor this user";
    if (file_is_open_to_others(folder, status.st_mode, S_IWGRP | S_IWOTH))
        return "can be written by other users";
    return NULL;
}

bool place_open_root(const char *root_path, int *root, struct fault *fault)
{
    int fd = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *why = fd >= 0            ? why_not_trusted(fd)
                      : errno == ENOTDIR ? "is not a folder, or is below something that is none"
                                         : file_why_not_opened(errno);

    if (why) {
        if (fd >= 0)
            (void)close(fd);
        return fault_set(fault, FAULT_RETRYABLE, "CONFIGURATION_ROOT_UNUSABLE",
                         FILESYSTEM_ROOT_VARIABLE ": %s %s.", root_path, why);
    }
    *root = fd;
    return true;
}

/* ---- The Namespace's folder */

static int close_place(struct place *place)
{
    if (place->folder >= 0)
        (void)close(place->folder);
    if (place->root >= 0)
        (void)close(place->root);
    return 0;
}

/* What stands in the folder's place, where it could not be opened as one. */
static bool explain_folder(const struct place *place, int error, struct fault *fault)
{
    struct stat status;

    if (fstatat(place->root, place->folder_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISLNK(status.st_mode))
            return refused(fault, place->folder_path, "is a link, and below the root no link is followed");
        if (!S_ISDIR(status.st_mode))
            return refused(fault, place->folder_path, "is not a folder");
    }
    return unavailable(fault, place->folder_path, file_why_not_opened(error));
}

/* The folder is opened if it is there. */
static bool open_folder(struct place *place, struct fault *fault)
{
    const char *why;

    place->folder = openat(place->root, place->folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place->folder < 0)
        return errno == ENOENT ? true : explain_folder(place, errno, fault);
    why = why_not_trusted(place->folder);
    return why ? refused(fault, place->folder_path, why) : true;
}

/* The mode is set on the descriptor, as the umask may take bits away. One that somebody else has made
 * meanwhile is as good. */
static bool make_folder(struct place *place, struct fault *fault)
{
    bool made = mkdirat(place->root, place->folder_name, 0700) == 0;

    if (!made && errno != EEXIST)
        return unavailable(fault, place->folder_path, file_why_not_written(errno));
    if (!open_folder(place, fault))
        return false;
    if (made && place->folder >= 0 && (fchmod(place->folder, 0700) != 0 || fsync(place->root) != 0))
        return unavailable(fault, place->folder_path, file_why_not_written(errno));
    return true;
}

static bool pause_before(const struct driver_call *call, const struct place *place, struct fault *fault)
{
    const int64_t now_ms = clock_now_ms();
    bool ready;

    if (now_ms >= call->deadline_ms)
        return unavailable(fault, place->folder_path, "is kept locked by another program");
    return watch_wait(call->watch, NULL, 0, now_ms + LOCK_PAUSE_MS, &ready, fault);
}

static bool lock_folder(const struct driver_call *call, const struct place *place, struct fault *fault)
{
    while (flock(place->folder, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return unavailable(fault, place->folder_path, "cannot be locked");
        if (!pause_before(call, place, fault))
            return false;
    }
    return true;
}

/* Whoever had the lock before may have removed the folder with its last document. */
static bool is_still_there(const struct place *place)
{
    struct stat ours, named;

    return fstat(place->folder, &ours) == 0 &&
           fstatat(place->root, place->folder_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* Opens the folder, makes it if that is wanted, and holds its lock. */
static bool take_folder(const struct driver_call *call, struct place *place, bool make, struct fault *fault)
{
    for (;;) {
        if (!open_folder(place, fault) || (place->folder < 0 && make && !make_folder(place, fault)))
            return false;
        if (place->folder < 0) {
            if (!make)
                return true;
        } else {
            if (!lock_folder(call, place, fault))
                return false;
            if (is_still_there(place))
                return true;
            (void)close(place->folder);
            place->folder = -1;
        }
        if (!pause_before(call, place, fault))
            return false;
    }
}

/* ".cfg_….tmp" */
static bool is_temporary(const char *name)
{
    char id[IDENTIFIER_SIZE];
    const size_t length = strlen(name), around = strlen(".") + strlen(".tmp");

    if (length <= around || length - around >= sizeof id || name[0] != '.' ||
        strcmp(name + length - 4, ".tmp") != 0)
        return false;
    memcpy(id, name + 1, length - around);
    id[length - around] = '\0';
    return identifier_is(id, "cfg_");
}

static bool remove_leftovers(const struct place *place, struct fault *fault)
{
    int fd = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!listing) {
        if (fd >= 0)
            (void)close(fd);
        return unavailable(fault, place->folder_path, "cannot be listed");
    }
    while ((entry = readdir(listing))) {
        if (is_temporary(entry->d_name))
            (void)unlinkat(place->folder, entry->d_name, 0); /* one that stays tells itself when it is made */
    }
    (void)closedir(listing);
    return true;
}

bool place_open_document(const struct driver_call *call, const char *root_path,
                         const struct subject_namespace *owner, const char *configuration_id,
                         enum place_use use, struct place **place, struct fault *fault)
{
    struct place *made;
    bool opened;

    /* They become parts of a path. */
    if (!identifier_is(owner->id, "ns_") || !identifier_is(configuration_id, "cfg_"))
        return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_IDENTIFIER_INVALID",
                         "What is asked for is not named by the ID of a Namespace and of a Configuration.");
    made = mem_new(call->memory, struct place);
    made->root = made->folder = -1;
    talloc_set_destructor(made, close_place);
    made->root_path = root_path;
    made->folder_name = mem_text(made, owner->id);
    made->folder_path = mem_format(made, "%s/%s", root_path, owner->id);
    made->path = mem_format(made, "%s/%s.json", made->folder_path, configuration_id);
    (void)snprintf(made->name, sizeof made->name, "%s.json", configuration_id);
    (void)snprintf(made->temporary, sizeof made->temporary, ".%s.tmp", configuration_id);
    opened = place_open_root(root_path, &made->root, fault) &&
             (use == PLACE_LOOK ? open_folder(made, fault)
                                : take_folder(call, made, use == PLACE_FURNISH, fault)) &&
             (use == PLACE_LOOK || made->folder < 0 || remove_leftovers(made, fault));
    if (!opened) {
        talloc_free(made);
        return false;
    }
    *place = made;
    return true;
}

bool place_has_document(const struct place *place, bool *has, struct fault *fault)
{
    struct stat status;

    if (place->folder < 0 || fstatat(place->folder, place->name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (place->folder >= 0 && errno != ENOENT)
            return unavailable(fault, place->path, file_why_not_opened(errno));
        *has = false;
        return true;
    }
    if (S_ISLNK(status.st_mode))
        return refused(fault, place->path, "is a link, and below the root no link is followed");
    if (!S_ISREG(status.st_mode))
        return refused(fault, place->path, "is not a regular file");
    *has = true;
    return true;
}

void place_clear(const struct place *place)
{
    if (unlinkat(place->root, place->folder_name, AT_REMOVEDIR) == 0)
        (void)fsync(place->root);
}
