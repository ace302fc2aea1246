/* SPDX-License-Identifier: MIT
 *
 * Files that operators name in settings, and files that programs hand to operators. All checks are made on
 * the opened descriptor, never on the path.
 */
#ifndef OCC_IO_FILES_H
#define OCC_IO_FILES_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"

#include <sys/stat.h>

/* Who may have written a file, and who may read it. */
enum file_trust {
    FILE_TRUSTED, /* regular, owned by root or our user, writable by no one else; anybody may read */
    FILE_GROUP,   /* the same, and readable by whom its owner has let in: its group, an access list */
    FILE_PRIVATE, /* the same, and readable by no one else */
};

/* Reads a regular file of at most `limit` bytes. The path must be absolute; links are followed. `setting`
 * names where the path comes from ("OCC_CONFIG_PATH") and stands in every message with the path. Fault:
 * FAULT_CONFIGURATION with `code`, one message for each reason: relative, missing, not readable, a folder or
 * otherwise not regular, wrong owner, writable by others, readable by others, too large, empty. */
bool file_read(const void *context, const char *setting, const char *code, const char *path,
               enum file_trust trust, size_t limit, struct secret **content, struct fault *fault) MUST_USE;

/* Creates a file that must not exist, with mode 0600, writes and syncs it and its folder. The folder must be
 * owned by root or our user and not writable by others (a sticky one is refused too). Fault:
 * FAULT_CONFIGURATION with `code`. */
bool file_create_private(const char *setting, const char *code, const char *path, const char *bytes,
                         size_t length, struct fault *fault) MUST_USE;

/* Replaces `path` by rename with a file of mode 0600 that holds `text`. Fault: FAULT_RETRYABLE with `code`.
 */
bool file_replace(const char *path, const char *code, const char *text, struct fault *fault) MUST_USE;

/* Whether somebody else than the file's owner, root and our user has one of the `asked` rights (S_IWGRP |
 * S_IWOTH, or the same of R) on an open file of this mode; looks into its access list where it has one. */
bool file_is_open_to_others(int fd, mode_t mode, mode_t asked) MUST_USE;

/* ---- What the above is made of, for Drivers that keep files */

bool file_owner_is_trusted(const struct stat *status) MUST_USE; /* root or our user */

/* Reads to the end or one byte beyond `limit`, for which `bytes` has room; -1 with errno. */
ssize_t file_read_whole(int fd, char *bytes, size_t limit) MUST_USE;

/* Makes a file of mode 0600 with these bytes in an open folder, where nothing of that name may be, and syncs
 * it if asked (not the folder). Nothing is left where it fails. False with errno. */
bool file_fill(int folder, const char *name, const char *bytes, size_t length, bool sync) MUST_USE;

/* Why a path could not be opened or written, as the rest of a sentence about it: "does not exist". */
const char *file_why_not_opened(int error) __attribute__((returns_nonnull));
const char *file_why_not_written(int error) __attribute__((returns_nonnull));

#endif
