/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/io/pg_private.h"

/* Settings go by set_config, never by the startup packet's "options", which poolers refuse. The third
 * argument of set_config is_local: behind a pooler a setting lasts for one transaction and would otherwise
 * stay with somebody else's session.
 *
 * No statement of ours runs long enough to be worth compiling; but one whose plan looks expensive, as each
 * does that finds no index where sequential scans are discouraged, is compiled for seconds. */

/* The limits that a session keeps. Behind a pooler (the session that answers is not the one that greeted us)
 * they hold for this transaction only, which harms nobody. READ ONLY is never switched off: an administrator
 * may have set it for the role. */
static const struct pg_statement open_statement = {
    .name = NULL,
    .parameters = 6,
    .sql = "with seen as (select pg_catalog.pg_backend_pid() <> $1::int as pooled)"
           " select seen.pooled,"
           " pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', seen.pooled),"
           " pg_catalog.set_config('statement_timeout', $2::text, seen.pooled),"
           " pg_catalog.set_config('lock_timeout', $3::text, seen.pooled),"
           " pg_catalog.set_config('idle_in_transaction_session_timeout', $2::text, seen.pooled),"
           " pg_catalog.set_config('client_connection_check_interval', $4::text, seen.pooled),"
           " pg_catalog.set_config('jit', 'off', seen.pooled),"
           " case when $5::text = 'on'"
           "   then pg_catalog.set_config('default_transaction_read_only', 'on', seen.pooled) end,"
           " case when $6::text = 'on' and not seen.pooled"
           "   then pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false)"
           "     || pg_catalog.set_config('enable_seqscan', 'off', false)"
           "     || pg_catalog.set_config('enable_bitmapscan', 'off', false) end"
           " from seen",
};

/* The same for one transaction. */
static const char local_sql[] =
    "select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),"
    " pg_catalog.set_config('statement_timeout', $1::text, true),"
    " pg_catalog.set_config('lock_timeout', $2::text, true),"
    " pg_catalog.set_config('idle_in_transaction_session_timeout', $1::text, true),"
    " pg_catalog.set_config('client_connection_check_interval', $3::text, true),"
    " pg_catalog.set_config('jit', 'off', true),"
    " case when $4::text = 'on' then pg_catalog.set_config('transaction_read_only', 'on', true) end";

bool pg_session_open(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    const char *parameters[6];
    const struct pg_result *result;

    connection->limits[0] = mem_format(connection, "%dms", connection->limit_ms - connection->limit_ms / 10);
    connection->limits[1] = mem_format(connection, "%dms", connection->limit_ms / 2 + 1);
    connection->limits[2] = "10s";
    connection->limits[3] = connection->read_only ? "on" : "off";
    parameters[0] = mem_format(connection, "%d", PQbackendPID(connection->raw));
    for (size_t i = 0; i < 4; i++)
        parameters[i + 1] = connection->limits[i];
    parameters[5] = connection->steady_plans ? "on" : "off";
    if (!pg_query(connection, connection, &open_statement, parameters, watch, &result, fault))
        return false;
    connection->pooled = pg_true(result, 0, 0);
    return true;
}

bool pg_session_send_local(struct pg *connection)
{
    return PQsendQueryParams(connection->raw, local_sql, 4, NULL, connection->limits, NULL, NULL, 0) == 1;
}
