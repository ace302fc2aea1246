/* SPDX-License-Identifier: MIT
 *
 * The Harnesses that this version knows: which pairs of Harness and execution mode there are, and the version
 * that each has. A revision freezes the three; a worker whose table says otherwise refuses it
 * (HARNESS_DESCRIPTOR_MISMATCH).
 */
#ifndef OCC_DRIVER_HARNESS_H
#define OCC_DRIVER_HARNESS_H

#include "lib/base/build.h"

struct harness {
    const char *id;      /* "openclaw", "codex" */
    const char *mode;    /* "embedded", "dedicated" */
    const char *version; /* as revisions freeze it */
    bool sandboxed;      /* only with a Sandbox Driver that provisions and has all facets */
};

extern const struct harness harness_list[];
extern const size_t harness_count;

/* NULL: there is no such pair. */
const struct harness *harness_find(const char *id, const char *mode);

#endif
