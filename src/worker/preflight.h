/* SPDX-License-Identifier: MIT
 *
 * Preflight's report on its way to the supervisor: what its files share.
 */
#ifndef OCC_WORKER_PREFLIGHT_H
#define OCC_WORKER_PREFLIGHT_H

#include "src/worker/child.h"

struct preflight {
    struct child *child;
    uint32_t problems, warnings;
    const char *installation_id; /* NULL: not known */
};

void preflight_fact(struct preflight *preflight, const char *name, const char *value);
void preflight_finding(struct preflight *preflight, enum report_level level, const struct fault *fault);
void preflight_problem(struct preflight *preflight, const struct fault *fault);

/* ---- preflight_drivers.c */

/* Opens every Driver that the startup YAML selects and lets it look around. */
void preflight_drivers(struct preflight *preflight);
/* Tells which Harnesses this version knows. */
void preflight_harnesses(struct preflight *preflight);

#endif
