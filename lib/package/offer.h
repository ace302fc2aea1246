/* SPDX-License-Identifier: MIT
 *
 * What a package offers for a capability, checked: the table that an adapter works with. For lib/package
 * only.
 */
#ifndef OCC_PACKAGE_OFFER_H
#define OCC_PACKAGE_OFFER_H

#include "include/occ/driver.h"
#include "lib/package/host.h"
#include "lib/package/installed.h"

struct package_offer {
    const struct package *package;
    enum package_capability capability;
    const struct occ_setting *settings; /* NULL: it takes none */
    /* A copy, in which everything is NULL that the package's own does not reach to. */
    union {
        struct occ_compute compute;
        struct occ_iam iam;
        struct occ_configuration configuration;
        struct occ_secret secret;
        struct occ_sandbox sandbox;
    } table;
};

/* Loads the selected package and checks what it offers. Faults: package_load()'s, and those of
 * lib/package/installed.h that speak of the offer. */
bool package_offer_find(const struct package_selection *selection, enum package_capability capability,
                        struct package_offer *offer, struct fault *fault) MUST_USE;

/* Opens a Driver: calls its open() with the configuration. `driver` is filled; its resources hang on
 * `context`. */
bool package_offer_open(const void *context, const struct package_offer *offer,
                        const struct package_selection *selection, const struct driver_call *call,
                        struct package_driver *driver, struct fault *fault) MUST_USE;

#endif
