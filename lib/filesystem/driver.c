/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/filesystem/driver.h"

#include "lib/base/memory.h"
#include "lib/filesystem/place.h"
#include "lib/io/files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define READ_ONLY_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct filesystem {
    struct configuration_driver driver;
    const char *root;
};

static bool unavailable(struct fault *fault, const char *path, const char *why)
{
    return fault_set(fault, FAULT_RETRYABLE, STORAGE_UNAVAILABLE, "%s %s.", path, why);
}

static bool too_large(struct fault *fault, const char *path)
{
    return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_TOO_LARGE",
                     "%s is larger than %zu bytes, which is the limit.", path, CONFIGURATION_DOCUMENT_LIMIT);
}

static bool missing(struct fault *fault, const char *path)
{
    return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_DOCUMENT_MISSING", "%s does not exist.", path);
}

static bool preflight(void *self, const struct driver_call *call, struct fault *fault)
{
    const struct filesystem *filesystem = self;
    bool writable;
    int root;

    (void)call;
    if (!place_open_root(filesystem->root, &root, fault)) {
        fault->class = FAULT_CONFIGURATION;
        return false;
    }
    writable = faccessat(root, ".", W_OK | X_OK, AT_EACCESS) == 0;
    if (!writable)
        (void)fault_set(fault, FAULT_CONFIGURATION, "CONFIGURATION_ROOT_UNUSABLE",
                        FILESYSTEM_ROOT_VARIABLE ": %s %s.", filesystem->root, file_why_not_written(errno));
    (void)close(root);
    return writable;
}

/* An open file stays what it was when another takes its name: what is read is one text, whole. */
static bool read_open(const struct place *place, int fd, const void *memory, const char **document,
                      size_t *length, struct fault *fault)
{
    struct stat status;
    ssize_t got;
    char *bytes;

    if (fstat(fd, &status) != 0)
        return unavailable(fault, place->path, "cannot be examined");
    if (!S_ISREG(status.st_mode) || !file_owner_is_trusted(&status) ||
        file_is_open_to_others(fd, status.st_mode, S_IWGRP | S_IWOTH))
        return fault_set(fault, FAULT_PERMANENT, "CONFIGURATION_PATH_REFUSED",
                         "%s is not a regular file that only root or this user can write.", place->path);
    if (status.st_size > (off_t)CONFIGURATION_DOCUMENT_LIMIT)
        return too_large(fault, place->path);
    bytes = mem_array(memory, char, (size_t)status.st_size + 2);
    got = file_read_whole(fd, bytes, (size_t)status.st_size);
    if (got != (ssize_t)status.st_size) {
        talloc_free(bytes);
        return unavailable(fault, place->path, "cannot be read to its end");
    }
    bytes[got] = '\0';
    *document = bytes;
    *length = (size_t)got;
    return true;
}

static bool read_at(const struct place *place, const void *memory, const char **document, size_t *length,
                    struct fault *fault)
{
    bool has, done;
    int fd;

    if (!place_has_document(place, &has, fault))
        return false;
    fd = has ? openat(place->folder, place->name, READ_ONLY_FLAGS) : -1;
    if (!has || (fd < 0 && errno == ENOENT))
        return missing(fault, place->path);
    if (fd < 0)
        return unavailable(fault, place->path, file_why_not_opened(errno));
    done = read_open(place, fd, memory, document, length, fault);
    (void)close(fd);
    return done;
}

static bool read_document(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                          const char *configuration_id, const char **document, size_t *length,
                          struct fault *fault)
{
    const struct filesystem *filesystem = self;
    struct place *place;
    bool done;

    if (!place_open_document(call, filesystem->root, owner, configuration_id, PLACE_LOOK, &place, fault))
        return false;
    done = read_at(place, call->memory, document, length, fault);
    talloc_free(place);
    return done;
}

/* The text is on the disk before it has the name, and the name before this returns. */
static bool write_at(const struct place *place, const char *document, size_t length, struct fault *fault)
{
    bool has;
    int error;

    if (!place_has_document(place, &has, fault))
        return false;
    if (!file_fill(place->folder, place->temporary, document, length, true))
        return unavailable(fault, place->path, file_why_not_written(errno));
    if (renameat(place->folder, place->temporary, place->folder, place->name) != 0) {
        error = errno;
        (void)unlinkat(place->folder, place->temporary, 0);
        return unavailable(fault, place->path, file_why_not_written(error));
    }
    if (fsync(place->folder) != 0)
        return unavailable(fault, place->path, file_why_not_written(errno));
    return true;
}

/* Whether exactly this is stored. */
static bool look_for(const struct filesystem *filesystem, const struct driver_call *call,
                     const struct subject_namespace *owner, const char *configuration_id,
                     const char *document, size_t length, struct fault *fault)
{
    struct place *place;
    const char *found;
    size_t found_length;
    bool done;

    if (!place_open_document(call, filesystem->root, owner, configuration_id, PLACE_LOOK, &place, fault))
        return false;
    done = read_at(place, place, &found, &found_length, fault);
    if (done ? found_length != length || memcmp(found, document, length) != 0
             : fault_is(fault, "CONFIGURATION_DOCUMENT_MISSING"))
        done = fault_set(fault, FAULT_PENDING, "CONFIGURATION_NOT_STORED", "%s does not hold this text.",
                         place->path);
    talloc_free(place);
    return done;
}

static bool store(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                  const char *configuration_id, const char *document, size_t length, struct fault *fault)
{
    const struct filesystem *filesystem = self;
    struct place *place;
    bool done;

    if (call->observe_only)
        return look_for(filesystem, call, owner, configuration_id, document, length, fault);
    if (!place_open_document(call, filesystem->root, owner, configuration_id, PLACE_FURNISH, &place, fault))
        return false;
    done = length > CONFIGURATION_DOCUMENT_LIMIT ? too_large(fault, place->path)
                                                 : write_at(place, document, length, fault);
    if (!done)
        place_clear(place); /* nothing of a first document that failed stays */
    talloc_free(place);
    return done;
}

static bool remove_at(const struct place *place, struct fault *fault)
{
    bool has;

    if (!place_has_document(place, &has, fault))
        return false;
    if (has && unlinkat(place->folder, place->name, 0) != 0 && errno != ENOENT)
        return unavailable(fault, place->path, file_why_not_written(errno));
    if (has && fsync(place->folder) != 0)
        return unavailable(fault, place->path, file_why_not_written(errno));
    if (place->folder >= 0)
        place_clear(place);
    return true;
}

static bool look_for_none(const struct place *place, struct fault *fault)
{
    bool has;

    if (!place_has_document(place, &has, fault))
        return false;
    if (has)
        return fault_set(fault, FAULT_PENDING, "CONFIGURATION_NOT_REMOVED", "%s exists.", place->path);
    return true;
}

static bool remove_document(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                            const char *configuration_id, struct fault *fault)
{
    const struct filesystem *filesystem = self;
    struct place *place;
    bool done;

    if (!place_open_document(call, filesystem->root, owner, configuration_id,
                             call->observe_only ? PLACE_LOOK : PLACE_EMPTY, &place, fault))
        return false;
    done = call->observe_only ? look_for_none(place, fault) : remove_at(place, fault);
    talloc_free(place);
    return done;
}

bool filesystem_open_configuration(const void *context, const char *root,
                                   const struct configuration_driver **driver, struct fault *fault)
{
    static const struct configuration_operations operations = {
        .preflight = preflight,
        .store = store,
        .read = read_document,
        .remove = remove_document,
    };
    struct filesystem *made;

    if (!root || root[0] != '/')
        return fault_set(fault, FAULT_CONFIGURATION, "CONFIGURATION_ROOT_REQUIRED",
                         FILESYSTEM_ROOT_VARIABLE " must name the absolute path of the folder in which the "
                                                  "Configuration Driver " FILESYSTEM_CONFIGURATION_ID
                                                  " keeps documents.");
    made = mem_new(context, struct filesystem);
    made->root = mem_text(made, root);
    made->driver.id = FILESYSTEM_CONFIGURATION_ID;
    made->driver.operations = &operations;
    made->driver.self = made;
    *driver = &made->driver;
    return true;
}
