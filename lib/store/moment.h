/* SPDX-License-Identifier: MIT
 *
 * How moments leave the database: RFC 3339 in UTC with milliseconds, whatever the session's time zone and
 * date style are. They are for people and files; nothing computes with them on this side.
 */
#ifndef OCC_STORE_MOMENT_H
#define OCC_STORE_MOMENT_H

/* SQL that turns a timestamptz expression into such a text; NULL stays NULL. */
#define MOMENT_SQL(expression)                                                                               \
    "pg_catalog.to_char((" expression ") at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"

#endif
