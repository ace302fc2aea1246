/* SPDX-License-Identifier: MIT
 *
 * The Configuration contract: who keeps Agents' native documents, as they are, byte by byte.
 */
#ifndef OCC_DRIVER_CONFIGURATION_H
#define OCC_DRIVER_CONFIGURATION_H

#include "lib/driver/subject.h"

#define CONFIGURATION_DOCUMENT_LIMIT ((size_t)1024 * 1024) /* bytes */

struct configuration_operations {
    /* Credentials and reachability, without changing anything. May be NULL. */
    bool (*preflight)(void *self, const struct driver_call *call, struct fault *fault) MUST_USE;
    /* Keeps a document, or replaces it, at once or not at all. */
    bool (*store)(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                  const char *configuration_id, const char *document, size_t length,
                  struct fault *fault) MUST_USE;
    /* The document hangs on the call's memory and ends with a zero. FAULT_PERMANENT
     * CONFIGURATION_DOCUMENT_MISSING where there is none. */
    bool (*read)(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                 const char *configuration_id, const char **document, size_t *length,
                 struct fault *fault) MUST_USE;
    /* One that is not there is removed. */
    bool (*remove)(void *self, const struct driver_call *call, const struct subject_namespace *owner,
                   const char *configuration_id, struct fault *fault) MUST_USE;
};

struct configuration_driver {
    const char *id; /* "config-filesystem" */
    const struct configuration_operations *operations;
    void *self;
};

#endif
