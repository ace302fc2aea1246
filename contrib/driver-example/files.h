/* SPDX-License-Identifier: MIT
 *
 * The example's files, below one open folder. Each call is done whole or not at all, and says whether it was
 * done already by succeeding all the same. They return 0, or an errno.
 */
#ifndef EXAMPLE_FILES_H
#define EXAMPLE_FILES_H

#include <stddef.h>

/* A folder that nobody else may enter. One that is there is left as it is. */
int files_make_folder(int folder, const char *path);
/* A file with this text, in place of one of that name; on the disk when the call returns. */
int files_write(int folder, const char *path, const char *text);
/* A link to `target`, in place of one of that name. */
int files_link(int folder, const char *path, const char *target);
/* One file or link. */
int files_remove(int folder, const char *path);
/* A folder with all that is in it. `go_on` is asked before each step; where it gives 0, ECANCELED. */
int files_remove_tree(int folder, const char *path, int (*go_on)(const void *subject), const void *subject);
/* What a file holds, or where a link leads: at most size - 1 bytes and a zero. */
int files_read(int folder, const char *path, char *text, size_t size);
int files_read_link(int folder, const char *path, char *target, size_t size);

#endif
