/* SPDX-License-Identifier: MIT
 *
 * Applies the built-in migrations: each in one transaction together with its row of history, all of them
 * under one advisory lock. The lock is the session's, so the connection must be a direct one and should be
 * freed when this is done.
 */
#ifndef OCC_STORE_MIGRATE_H
#define OCC_STORE_MIGRATE_H

#include "lib/store/migration.h"

/* Whether this connection may migrate: direct (no pooler), the roles of contrib/postgresql/roles.sql exist,
 * and it is occ_migrator, or a role that may become it, which it then does; never a superuser. Faults:
 * FAULT_CONFIGURATION DATABASE_CONNECTION_POOLED, DATABASE_ROLE_MISSING, DATABASE_ROLE_REFUSED; pg_query's.
 */
bool migrate_verify(struct pg *connection, struct fault *fault) MUST_USE;

/* Brings the schema up to date. *before tells the state that was found, so that what was applied is
 * migration_list from before->applied on. After a failure the migrations before the one that is named have
 * been applied, and nothing of that one.
 *
 * Faults: FAULT_CONFLICT SCHEMA_UNSUPPORTED (before any change); FAULT_UNAVAILABLE MIGRATION_LOCK_HELD
 * (another run did not end in time); FAULT_CONFIGURATION DATABASE_PERMISSION_DENIED; FAULT_PERMANENT
 * MIGRATION_FAILED (the database refused a statement); FAULT_UNAVAILABLE PERSISTENCE_UNAVAILABLE (the
 * connection broke: the named migration may have been applied). */
bool migrate_apply(struct pg *connection, const void *context, struct migration_status *before,
                   struct fault *fault) MUST_USE;

#endif
