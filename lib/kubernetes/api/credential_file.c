/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/kubernetes/api/credential_file.h"

#include "lib/base/memory.h"

#define CODE "KUBERNETES_AUTHENTICATION_INVALID"

static bool is(const struct credential_file *file, const struct stat *status)
{
    return file->device == status->st_dev && file->inode == status->st_ino && file->size == status->st_size &&
           file->modified.tv_sec == status->st_mtim.tv_sec &&
           file->modified.tv_nsec == status->st_mtim.tv_nsec;
}

/* The file is looked at before it is read: one that changes in between looks changed afterwards, and is read
 * once too often rather than once too seldom. */
bool credential_files_read(struct credential_files *files, const void *context, const char *setting,
                           const char *path, enum file_trust trust, size_t limit, struct secret **content,
                           struct fault *fault)
{
    struct credential_file *file = &files->files[files->count];
    struct stat status = {0};

    if (files->count == CREDENTIAL_FILES_MOST)
        return fault_set(fault, FAULT_BUG, CODE, "%s: more files than there are kinds of them", setting);
    (void)stat(path, &status); /* where it fails, reading tells why */
    if (!file_read(context, setting, CODE, path, trust, limit, content, fault))
        return false;
    *file = (struct credential_file){
        .path = mem_text(files, path),
        .device = status.st_dev,
        .inode = status.st_ino,
        .size = status.st_size,
        .modified = status.st_mtim,
    };
    files->count++;
    return true;
}

bool credential_files_have_changed(const struct credential_files *files)
{
    struct stat status;

    for (size_t index = 0; index < files->count; index++) {
        if (stat(files->files[index].path, &status) != 0 || !is(&files->files[index], &status))
            return true;
    }
    return false;
}
