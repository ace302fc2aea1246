/* SPDX-License-Identifier: MIT
 *
 * Who we are in the database. The platform's programs work as occ_app, which can change data and nothing
 * else; a program that runs as more than that would make every mistake of it a disaster.
 */
#ifndef OCC_STORE_SESSION_ROLE_H
#define OCC_STORE_SESSION_ROLE_H

#include "lib/io/pg.h"

/* Checks that neither the role which logged in nor the role in force is a superuser, owns schema `occ`, or is
 * (directly or not) a member of a superuser, of the schema's owner or of occ_migrator. Gives the name of the
 * role in force, hanging on `context`.
 *
 * Faults: FAULT_CONFIGURATION DATABASE_ROLE_REFUSED, which names the role and the reason; pg_query's. */
bool session_role_check(struct pg *connection, const void *context, const struct watch *watch,
                        const char **role, struct fault *fault) MUST_USE;

#endif
