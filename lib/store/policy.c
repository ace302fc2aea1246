/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/policy.h"

/* $1 actor, $2 action, $3 resource kind, $4 exact resource, $5 its Namespace.
 *
 * A grant is looked for where it must apply: at the resource itself, or for "create" at the parent, which is
 * the Installation for a Namespace and the Namespace for everything else. Groups grant to people only, which
 * the memberships' foreign key sees to. Restrictions deny to everybody, and are looked for at the resource,
 * also when it is only being created. Of several, the first by id is named, so that evidence is stable. What
 * is granted to the actor and to his groups is looked up by two indexes: for one condition with OR all
 * bindings would be read. */
/* clang-format off */
static const struct pg_statement question_statement = {
    "policy_question",
    "with place as (select"
    " case when $2::text = 'create' and $3::text = 'namespace' then null else $5::text end as namespace_id,"
    " case when $2::text <> 'create' then $3::text when $3::text = 'namespace' then 'installation'"
    " else 'namespace' end as kind,"
    " case when $3::text = 'installation' or ($2::text = 'create' and $3::text = 'namespace')"
    " then (select i.id from occ.installation i)"
    " when $2::text = 'create' then $5::text else $4::text end as id)"
    " select exists (select from occ.iam_identities i where i.id = $1::text), denying.id,"
    " granting.id, granting.role_id from place"
    " left join lateral (select r.id from occ.iam_restrictions r"
    " where r.action = $2::text and r.resource_kind = $3::text"
    " and (r.namespace_id is null or r.namespace_id = $5::text)"
    " and (r.resource_id is null or r.resource_id = $4::text) order by r.id limit 1) denying on true"
    " left join lateral (select b.id, b.role_id from"
    " (select x.* from occ.iam_access_bindings x where x.identity_subject_id = $1::text"
    " union all select x.* from occ.iam_group_memberships m"
    " join occ.iam_access_bindings x on x.group_subject_id = m.group_id where m.identity_id = $1::text) b"
    " join occ.iam_roles o on o.id = b.role_id"
    " where (b.namespace_id is null or b.namespace_id = place.namespace_id)"
    " and (b.resource_id is null or (b.resource_kind = place.kind and b.resource_id = place.id))"
    " and o.permissions @> jsonb_build_array(jsonb_build_object('action', $2::text,"
    " 'resourceKind', $3::text)) order by b.id limit 1) granting on true",
    5,
};
/* clang-format on */

size_t policy_add(struct pg_batch *batch, const char *actor_id, const char *action, const char *resource_kind,
                  const char *resource_id, const char *namespace_id)
{
    return pg_batch_add(batch, &question_statement,
                        (const char *[]){actor_id, action, resource_kind, resource_id, namespace_id});
}

void policy_read(const struct pg_result *result, struct policy_answer *answer)
{
    answer->actor_exists = pg_true(result, 0, 0);
    answer->restriction_id = pg_text(result, 0, 1);
    answer->binding_id = pg_text(result, 0, 2);
    answer->role_id = pg_text(result, 0, 3);
}
