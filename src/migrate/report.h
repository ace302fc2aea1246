/* SPDX-License-Identifier: MIT
 *
 * What occ-migrate says: one JSON record of success on stdout, or events of failure on stderr.
 */
#ifndef OCC_MIGRATE_REPORT_H
#define OCC_MIGRATE_REPORT_H

#include "lib/config/finding.h"
#include "lib/store/migration.h"

/* {"event":"migration.applied",…}: what was applied on top of what was found. False when stdout cannot be
 * written: FAULT_UNAVAILABLE OUTPUT_FAILED. */
bool report_applied(const struct migration_status *before, struct fault *fault) MUST_USE;

/* {"event":"migration.checked",…}: the state, and what is pending. Faults as above. */
bool report_checked(const struct migration_status *status, struct fault *fault) MUST_USE;

/* A migration.failed event; returns the exit status that tells the fault. */
int report_fault(const struct fault *fault);

/* A migration.warning event for each finding that does not stop the program. */
void report_warnings(const struct findings *findings);

/* A migration.failed event for each finding that stops the program; returns the exit status. */
int report_findings(const struct findings *findings);

#endif
