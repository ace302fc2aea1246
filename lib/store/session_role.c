/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/session_role.h"

#include "lib/base/memory.h"

/* One row for each way in which the session has too much, the gravest first; none: all is well. A member of a
 * role can become it with SET ROLE, and a session whose role was set can go back to the one that logged in.
 */
static const struct pg_statement find_excess = {
    .name = "role_excess",
    .sql = "with who as (select distinct name from (values (current_user::text), (session_user::text)) as "
           "v (name)),"
           " excess as ("
           " select 1 as rank, who.name, 'is a superuser' as reason from who"
           "  join pg_catalog.pg_roles r on r.rolname = who.name where r.rolsuper"
           " union all"
           " select 2, who.name, 'owns the schema occ' from who"
           "  join pg_catalog.pg_namespace n on n.nspname = 'occ'"
           "  join pg_catalog.pg_roles r on r.oid = n.nspowner and r.rolname = who.name"
           " union all"
           " select 3, who.name, 'is a member of the superuser ' || r.rolname from who"
           "  join pg_catalog.pg_roles r on r.rolsuper and r.rolname <> who.name"
           "   and pg_catalog.pg_has_role(who.name::name, r.oid, 'MEMBER')"
           " union all"
           " select 4, who.name, 'is a member of ' || r.rolname || ', which owns the schema occ' from who"
           "  join pg_catalog.pg_namespace n on n.nspname = 'occ'"
           "  join pg_catalog.pg_roles r on r.oid = n.nspowner and r.rolname <> who.name"
           "   and pg_catalog.pg_has_role(who.name::name, r.oid, 'MEMBER')"
           " union all"
           " select 5, who.name, case when r.rolname = who.name then 'is the migrator role'"
           "   else 'is a member of the migrator role ' || r.rolname end from who"
           "  join pg_catalog.pg_roles r on r.rolname = 'occ_migrator'"
           "   and pg_catalog.pg_has_role(who.name::name, r.oid, 'MEMBER'))"
           " select current_user::text,"
           "  (select name from excess order by rank, name limit 1),"
           "  (select reason from excess order by rank, name limit 1)",
    .parameters = 0,
};

bool session_role_check(struct pg *connection, const void *context, const struct watch *watch,
                        const char **role, struct fault *fault)
{
    void *scratch = talloc_new(context);
    const struct pg_result *result;
    bool done = false;

    if (pg_query(connection, scratch, &find_excess, NULL, watch, &result, fault)) {
        if (pg_text(result, 0, 1)) {
            (void)fault_set(
                fault, FAULT_CONFIGURATION, "DATABASE_ROLE_REFUSED",
                "the database role \"%s\" %s; use the application's role (occ_app), which can do no "
                "more than it needs",
                pg_text(result, 0, 1), pg_text(result, 0, 2));
        } else {
            *role = mem_text(context, pg_text(result, 0, 0));
            done = true;
        }
    }
    talloc_free(scratch);
    return done;
}
