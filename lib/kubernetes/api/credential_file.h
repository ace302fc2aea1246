/* SPDX-License-Identifier: MIT
 *
 * The files that one set of credentials was read from, and whether one of them is another by now.
 *
 * A file is known by device, inode, size and modification time, through all links: Kubernetes changes a
 * mounted Secret by pointing the link `..data` to another folder.
 */
#ifndef OCC_KUBERNETES_API_CREDENTIAL_FILE_H
#define OCC_KUBERNETES_API_CREDENTIAL_FILE_H

#include "lib/io/files.h"

#define CREDENTIAL_FILES_MOST 5 /* kubeconfig, CA, certificate, key, token */

struct credential_file {
    char *path;
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
};

struct credential_files {
    size_t count;
    struct credential_file files[CREDENTIAL_FILES_MOST];
};

/* Reads a file as file_read() does and remembers what it was. `files` is a talloc object, on which its paths
 * hang. */
bool credential_files_read(struct credential_files *files, const void *context, const char *setting,
                           const char *path, enum file_trust trust, size_t limit, struct secret **content,
                           struct fault *fault) MUST_USE;

/* Whether one of the files is another now, or is gone. */
bool credential_files_have_changed(const struct credential_files *files);

#endif
