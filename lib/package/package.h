/* SPDX-License-Identifier: MIT
 *
 * Packages of installed Drivers: shared objects in the packaged Driver folder (occ-driver(7)).
 *
 * Loading one runs its code in this process, with all that this process may do. So a package is taken only
 * from the one folder that was set when this program was built, and only where nobody but root could have put
 * it there; what was checked is what is loaded, as both happen through one open descriptor. A package stays
 * loaded until the process ends. Only processes that need Drivers load any: never the supervisor.
 */
#ifndef OCC_PACKAGE_PACKAGE_H
#define OCC_PACKAGE_PACKAGE_H

#include "lib/base/fault.h"

enum package_capability {
    PACKAGE_COMPUTE,
    PACKAGE_IAM,
    PACKAGE_CONFIGURATION,
    PACKAGE_SECRET,
    PACKAGE_SANDBOX,
};
#define PACKAGE_CAPABILITIES 5

struct package {
    const char *name;    /* "example": example.so in the folder */
    const char *path;    /* of the shared object, for messages */
    const char *version; /* one line, at most 64 bytes; "" where it names none */
    /* Its tables as it gave them, by capability; NULL: it offers none. */
    const void *tables[PACKAGE_CAPABILITIES];
};

/* "compute", "iam" …, as in drivers.* of the startup YAML; and back, false for anything else. */
const char *package_capability_name(enum package_capability capability);
bool package_capability_from_name(const char *name, enum package_capability *capability) MUST_USE;

/* The packaged Driver folder: absolute, set when this program was built. */
extern const char package_folder[];

/* Finds, checks and loads a package, or finds it loaded. The package lives as long as the process.
 *
 * Faults, all FAULT_CONFIGURATION, each message with the package, the path and what was found:
 * DRIVER_PACKAGE_NAME_INVALID; of the folder DRIVER_FOLDER_MISSING, DRIVER_FOLDER_NOT_DIRECTORY,
 * DRIVER_FOLDER_OWNER, DRIVER_FOLDER_WRITABLE; of the file DRIVER_PACKAGE_MISSING (tells which there are),
 * DRIVER_PACKAGE_UNREADABLE, DRIVER_PACKAGE_NOT_REGULAR, DRIVER_PACKAGE_OWNER, DRIVER_PACKAGE_WRITABLE,
 * DRIVER_PACKAGE_NOT_LOADABLE (with the loader's reason); of what is in it DRIVER_PACKAGE_SYMBOL_MISSING,
 * DRIVER_PACKAGE_INTERFACE, DRIVER_PACKAGE_SIZE, DRIVER_PACKAGE_NAME_MISMATCH. */
bool package_load(const char *name, const struct package **package, struct fault *fault) MUST_USE;

/* The version of a package that was loaded; NULL when none of this name was. */
const char *package_version(const char *name);

/* "compute, secret": what it offers. Hangs on `context`. */
const char *package_offers(const void *context, const struct package *package)
    __attribute__((returns_nonnull)) MUST_USE;

#endif
