/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/group.h"

#include "lib/store/documents.h"
#include "lib/store/moment.h"

#define DOCUMENT                                                                                             \
    "select json_build_object('id', team.id, 'name', team.name, 'members',"                                  \
    " coalesce((select json_agg(member.identity_id order by member.identity_id)"                             \
    "             from occ.iam_group_memberships as member where member.group_id = team.id), '[]'::json),"   \
    " 'createdAt', " MOMENT_SQL("team.created_at") ") from occ.iam_groups as team"

static const struct pg_statement list_statement = {NULL, DOCUMENT " order by team.name", 0};
static const struct pg_statement find_statement = {
    NULL,
    DOCUMENT " where team.id = $1::text or team.name = $1::text order by (team.id = $1::text) desc limit 1",
    1,
};
static const struct pg_statement insert_statement = {
    NULL,
    "insert into occ.iam_groups (id, name) values ($1::text, $2::text) on conflict do nothing",
    2,
};
static const struct pg_statement add_statement = {
    NULL,
    "insert into occ.iam_group_memberships (group_id, identity_id)"
    " select $1::text, id from occ.iam_identities where id = $2::text and kind = 'principal'"
    " on conflict do nothing",
    2,
};
static const struct pg_statement take_statement = {
    NULL,
    "delete from occ.iam_group_memberships where group_id = $1::text and identity_id = $2::text",
    2,
};
static const struct pg_statement delete_statement = {NULL, "delete from occ.iam_groups where id = $1::text",
                                                     1};

bool group_list(struct pg *connection, const void *context, const struct watch *watch, const cJSON **rows,
                struct fault *fault)
{
    return documents_query(connection, context, &list_statement, NULL, watch, rows, fault);
}

bool group_find(struct pg *connection, const void *context, const char *text, const struct watch *watch,
                const cJSON **found, struct fault *fault)
{
    return documents_one(connection, context, &find_statement, (const char *const[]){text}, watch, found,
                         fault);
}

bool group_insert(struct pg *connection, const char *id, const char *name, const struct watch *watch,
                  bool *inserted, struct fault *fault)
{
    return documents_change(connection, &insert_statement, (const char *const[]){id, name}, watch, inserted,
                            fault);
}

bool group_add_member(struct pg *connection, const char *id, const char *identity_id,
                      const struct watch *watch, bool *added, struct fault *fault)
{
    return documents_change(connection, &add_statement, (const char *const[]){id, identity_id}, watch, added,
                            fault);
}

bool group_remove_member(struct pg *connection, const char *id, const char *identity_id,
                         const struct watch *watch, bool *removed, struct fault *fault)
{
    return documents_change(connection, &take_statement, (const char *const[]){id, identity_id}, watch,
                            removed, fault);
}

bool group_delete(struct pg *connection, const char *id, const struct watch *watch, bool *deleted,
                  struct fault *fault)
{
    return documents_change(connection, &delete_statement, (const char *const[]){id}, watch, deleted, fault);
}
