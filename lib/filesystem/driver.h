/* SPDX-License-Identifier: MIT
 *
 * The bundled filesystem Configuration Driver, config-filesystem, for development: each document is the file
 * <root>/<Namespace's ID>/<Configuration's ID>.json, mode 0600 in folders of mode 0700.
 *
 * The root must be there, belong to root or our user, and be writable by no one else; it may itself be
 * reached through links. Below it nothing is: a link, or anything else that is not what it should be, is
 * refused where it stands. A text is replaced by rename after it was synced, so that whoever reads finds the
 * former or the new one whole. What a crash left of a write is removed by the next write or removal in the
 * same folder; a Namespace's folder goes with its last document.
 *
 * Faults: FAULT_PERMANENT CONFIGURATION_DOCUMENT_MISSING, CONFIGURATION_DOCUMENT_TOO_LARGE,
 * CONFIGURATION_IDENTIFIER_INVALID, CONFIGURATION_PATH_REFUSED (something else stands in the place, or others
 * can write it); FAULT_RETRYABLE CONFIGURATION_STORAGE_UNAVAILABLE (no space, read-only, not permitted, …);
 * CONFIGURATION_ROOT_UNUSABLE, which is FAULT_CONFIGURATION in preflight and FAULT_RETRYABLE in operations;
 * with call->observe_only, FAULT_PENDING CONFIGURATION_NOT_STORED or CONFIGURATION_NOT_REMOVED. All name the
 * path and the reason.
 */
#ifndef OCC_FILESYSTEM_DRIVER_H
#define OCC_FILESYSTEM_DRIVER_H

#include "lib/driver/configuration.h"

#define FILESYSTEM_CONFIGURATION_ID "config-filesystem"
#define FILESYSTEM_ROOT_VARIABLE "OCC_DEVELOPMENT_CONFIGURATION_ROOT"

/* Makes a Driver that hangs on `context`, without touching anything. `root` is the absolute path that
 * OCC_DEVELOPMENT_CONFIGURATION_ROOT names, and is copied. Fault: FAULT_CONFIGURATION
 * CONFIGURATION_ROOT_REQUIRED where it is NULL. */
bool filesystem_open_configuration(const void *context, const char *root,
                                   const struct configuration_driver **driver, struct fault *fault) MUST_USE;

#endif
