/* SPDX-License-Identifier: MIT
 *
 * The schema's migrations, which are built into the programs, and the state of a database against them.
 *
 * A database records number, name and hash (SHA-256 of the file) of each migration it received, in
 * occ.schema_migrations, in the transaction of that migration. Nothing here changes a database;
 * lib/store/migrate.h does.
 */
#ifndef OCC_STORE_MIGRATION_H
#define OCC_STORE_MIGRATION_H

#include "lib/io/pg.h"

/* One file of lib/store/migrations. */
struct migration {
    unsigned number;
    const char *name; /* "0001_foundation" */
    const char *sql;
};

/* In order, numbered from 1 without a gap. */
extern const struct migration migration_list[];
extern const size_t migration_list_length;

#define MIGRATION_HASH_SIZE 65 /* 64 hexadecimal digits and the zero */

/* The SHA-256 of a migration's text, in lower-case hexadecimal digits. */
void migration_hash(const struct migration *migration, char hash[MIGRATION_HASH_SIZE]);

enum migration_state {
    MIGRATION_EMPTY,       /* nothing of OCC is there */
    MIGRATION_BEHIND,      /* a proper beginning of our list was applied */
    MIGRATION_CURRENT,     /* our whole list was applied */
    MIGRATION_UNSUPPORTED, /* something else was: edited, unknown, with a gap, or newer than this program */
};

/* "empty", "behind", "current", "unsupported" */
const char *migration_state_name(enum migration_state state);

/* One row of a database's history. */
struct migration_record {
    unsigned number;
    const char *name;
    const char *hash;
};

struct migration_status {
    enum migration_state state;
    size_t applied;      /* migrations of our list that the database has; 0 where unsupported */
    const char *finding; /* one sentence on what is wrong where unsupported; else NULL */
};

/* Compares a history, ordered by number, with our list. The finding hangs on `context`. A history of no rows
 * is MIGRATION_EMPTY. */
struct migration_status migration_compare(const void *context, const struct migration_record *history,
                                          size_t length);

/* The state of the connected database. Any of OCC's roles may ask, also on a database that is half migrated
 * or not migrated at all. Faults: pg_query's. */
bool migration_check(struct pg *connection, const void *context, const struct watch *watch,
                     struct migration_status *status, struct fault *fault) MUST_USE;

/* Fails unless the schema is current: FAULT_CONFIGURATION with code SCHEMA_EMPTY, SCHEMA_BEHIND or
 * SCHEMA_UNSUPPORTED and what to do about it. Other faults: pg_query's. */
bool migration_require_current(struct pg *connection, const struct watch *watch,
                               struct fault *fault) MUST_USE;

#endif
