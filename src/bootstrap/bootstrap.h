/* SPDX-License-Identifier: MIT
 *
 * The creation of the one Installation, or the proof that it was created.
 */
#ifndef OCC_BOOTSTRAP_BOOTSTRAP_H
#define OCC_BOOTSTRAP_BOOTSTRAP_H

#include "lib/base/identifier.h"
#include "lib/io/pg.h"

struct bootstrap_request {
    const char *email;
    const char *installation_name;
    const char *password_path;
    const char *key_path;
    /* Names of the two settings, as the user gave them, for messages. */
    const char *password_setting;
    const char *key_setting;
};

struct bootstrap_report {
    bool already; /* was bootstrapped before, and verified now */
    const char *installation_id;
    const char *namespace_id;         /* NULL when already */
    const char *service_principal_id; /* NULL when already */
    const char *key_id;               /* NULL when already */
    const char *key_expires_at;       /* NULL when already */
    bool wrote_password, wrote_key;   /* files that this run has left behind, also when it failed */
};

/* On a database without an Installation: makes everything in one transaction, with the two files written
 * before its commit. On a database with one: verifies it and changes nothing. The report hangs on `context`;
 * wrote_* are set also on failure, as files are never taken back.
 *
 * Faults: FAULT_CONFLICT (exit 4) INSTALLATION_HALF_DONE, INSTALLATION_INCOMPLETE,
 * INSTALLATION_NAME_MISMATCH, ADMINISTRATOR_MISMATCH, SERVICE_KEY_MISMATCH, or a code of lib/iam/soundness.h;
 * FAULT_CONFIGURATION OUTPUT_FILE_REFUSED; FAULT_UNAVAILABLE BOOTSTRAP_OUTCOME_UNKNOWN when the connection
 * broke during the commit; the database's faults. */
bool bootstrap_run(struct pg *connection, const void *context, const struct bootstrap_request *request,
                   struct bootstrap_report *report, struct fault *fault) MUST_USE;

#endif
