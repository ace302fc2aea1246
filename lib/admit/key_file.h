/* SPDX-License-Identifier: MIT
 *
 * The service key file: who a program is, and the key that proves it.
 *
 *     {"data":{"id","servicePrincipalId","name","expiresAt","key"},"meta":{"installationId"}}
 *
 * All are strings; expiresAt is RFC 3339. Members that are not known are ignored, so that a newer writer's
 * file is read. What counts is the database's: the file's own words about expiry are for people.
 */
#ifndef OCC_ADMIT_KEY_FILE_H
#define OCC_ADMIT_KEY_FILE_H

#include "lib/base/fault.h"
#include "lib/base/secret.h"

#define KEY_FILE_LIMIT 16384 /* bytes */

struct key_file {
    const char *id;
    const char *service_principal_id;
    const char *name;
    const char *expires_at;
    const char *installation_id;
    const struct secret *key;
};

/* Reads the file that `setting` names; all of it hangs on `context`. Faults: FAULT_DENIED
 * SERVICE_KEY_FILE_UNREADABLE (missing, readable by others, …) or SERVICE_KEY_FILE_INVALID (not such a
 * document). */
bool key_file_read(const void *context, const char *setting, const char *path, struct key_file **file,
                   struct fault *fault) MUST_USE;

/* Writes it to a path that must not exist, mode 0600. Fault: FAULT_CONFIGURATION OUTPUT_FILE_REFUSED. */
bool key_file_write(const char *setting, const char *path, const struct key_file *file,
                    struct fault *fault) MUST_USE;

#endif
