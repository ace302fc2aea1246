/* SPDX-License-Identifier: MIT
 *
 * Where a document is: the root and the Namespace's folder as open descriptors, so that no path is followed a
 * second time.
 */
#ifndef OCC_FILESYSTEM_PLACE_H
#define OCC_FILESYSTEM_PLACE_H

#include "lib/driver/configuration.h"

#define PLACE_NAME_SIZE (IDENTIFIER_SIZE + 8)

#define STORAGE_UNAVAILABLE "CONFIGURATION_STORAGE_UNAVAILABLE"

struct place {
    const char *root_path;
    const char *folder_name; /* the Namespace's ID */
    const char *folder_path;
    const char *path; /* the document's, for messages */
    char name[PLACE_NAME_SIZE];
    char temporary[PLACE_NAME_SIZE];
    int root;
    int folder; /* -1: it is not there */
};

/* What is to be done there. */
enum place_use {
    PLACE_LOOK,   /* nothing is changed */
    PLACE_EMPTY,  /* the folder is locked, if it is there */
    PLACE_FURNISH /* the folder is made if need be, and locked */
};

/* The root alone. Fault: FAULT_RETRYABLE CONFIGURATION_ROOT_UNUSABLE. */
bool place_open_root(const char *root_path, int *root, struct fault *fault) MUST_USE;

/* Opens a document's place; it hangs on call->memory and closes with it, and its lock ends then. Whoever
 * writes holds the lock of the folder, so that a temporary file that is there under the lock is a crashed
 * writer's: these are removed at once. Faults: see lib/filesystem/driver.h. */
bool place_open_document(const struct driver_call *call, const char *root_path,
                         const struct subject_namespace *owner, const char *configuration_id,
                         enum place_use use, struct place **place, struct fault *fault) MUST_USE;

/* Whether a regular file has the document's name; anything else there is a fault. */
bool place_has_document(const struct place *place, bool *has, struct fault *fault) MUST_USE;

/* Removes the folder if it is empty. */
void place_clear(const struct place *place);

#endif
