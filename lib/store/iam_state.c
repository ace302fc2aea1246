/* SPDX-License-Identifier: MIT */
#include "lib/base/build.h"

#include "lib/store/iam_state.h"

#include "lib/base/memory.h"

/* Roles of the Installation that let their holder administer it. */
#define ADMINISTRATOR_ROLES                                                                                  \
    "select role.id from occ.iam_roles as role"                                                              \
    " where role.namespace_id is null"                                                                       \
    "   and role.permissions @> '[{\"action\":\"administer\",\"resourceKind\":\"installation\"}]'::jsonb"

/* Bindings of such roles for the whole Installation to somebody who exists: an identity, or a group with
 * anybody in it. */
#define ADMINISTRATOR_BINDINGS                                                                               \
    "select binding.id from occ.iam_access_bindings as binding"                                              \
    " where binding.role_id in (" ADMINISTRATOR_ROLES ")"                                                    \
    "   and binding.namespace_id is null"                                                                    \
    "   and (binding.resource_kind is null"                                                                  \
    "        or (binding.resource_kind = 'installation'"                                                     \
    "            and binding.resource_id in (select id from occ.installation)))"                             \
    "   and (binding.identity_subject_id in (select id from occ.iam_identities)"                             \
    "        or exists (select from occ.iam_group_memberships as member"                                     \
    "                    where member.group_id = binding.group_subject_id"                                   \
    "                      and member.group_id in (select id from occ.iam_groups)"                           \
    "                      and member.identity_id in (select id from occ.iam_identities)))"

/* Foreign keys and triggers keep nearly all of this from happening; a restored dump, a disabled trigger or a
 * hand in the tables does not. Restrictions on things that are gone are no defect: they go on denying, which
 * is safe. */
static const struct pg_statement defects_statement = {
    NULL,
    "select defect.code, defect.message from ("
    " select 1 as rank, 'IAM_ADMINISTRATOR_ROLE_MISSING' as code,"
    "        'No role of the Installation has the permission installation:administer.' as message"
    "  where not exists (" ADMINISTRATOR_ROLES ")"
    " union all"
    " select 1, 'IAM_ADMINISTRATOR_BINDING_MISSING',"
    "        'Nobody is bound to an administrator role for the whole Installation.'"
    "  where exists (" ADMINISTRATOR_ROLES ") and not exists (" ADMINISTRATOR_BINDINGS ")"
    " union all"
    " select 2, 'IAM_BINDING_DANGLING',"
    "        format('The access binding %s names the identity %s, which does not exist.',"
    "               binding.id, binding.identity_subject_id)"
    "   from occ.iam_access_bindings as binding"
    "  where binding.identity_subject_id is not null"
    "    and not exists (select from occ.iam_identities where id = binding.identity_subject_id)"
    " union all"
    " select 2, 'IAM_BINDING_DANGLING',"
    "        format('The access binding %s names the group %s, which does not exist.',"
    "               binding.id, binding.group_subject_id)"
    "   from occ.iam_access_bindings as binding"
    "  where binding.group_subject_id is not null"
    "    and not exists (select from occ.iam_groups where id = binding.group_subject_id)"
    " union all"
    " select 2, 'IAM_BINDING_DANGLING',"
    "        format('The access binding %s names the role %s, which does not exist.', binding.id, "
    "binding.role_id)"
    "   from occ.iam_access_bindings as binding"
    "  where not exists (select from occ.iam_roles where id = binding.role_id)"
    " union all"
    " select 2, 'IAM_BINDING_DANGLING',"
    "        format('The access binding %s names the Namespace %s, which does not exist.',"
    "               binding.id, binding.namespace_id)"
    "   from occ.iam_access_bindings as binding"
    "  where binding.namespace_id is not null"
    "    and not exists (select from occ.namespaces where id = binding.namespace_id and deleted_at is null)"
    " union all"
    " select 2, 'IAM_BINDING_DANGLING',"
    "        format('The access binding %s names the %s %s, which does not exist.',"
    "               binding.id, binding.resource_kind, binding.resource_id)"
    "   from occ.iam_access_bindings as binding"
    "  where binding.resource_kind is not null"
    "    and not case binding.resource_kind"
    "        when 'installation' then exists (select from occ.installation where id = binding.resource_id)"
    "        when 'namespace' then exists (select from occ.namespaces"
    "                                       where id = binding.resource_id and deleted_at is null)"
    "        when 'configuration' then exists (select from occ.configurations where id = binding.resource_id)"
    "        when 'secret' then exists (select from occ.secrets where id = binding.resource_id)"
    "        when 'service_account' then exists (select from occ.service_accounts where id = "
    "binding.resource_id)"
    "        when 'agent' then exists (select from occ.agents where id = binding.resource_id)"
    "        when 'agent_revision' then exists (select from occ.agent_revisions where id = "
    "binding.resource_id)"
    "        else false end"
    " union all"
    " select 3, 'IAM_BINDING_MISPLACED',"
    "        format('The access binding %s gives the role %s, which belongs to another Namespace.',"
    "               binding.id, role.id)"
    "   from occ.iam_access_bindings as binding join occ.iam_roles as role on role.id = binding.role_id"
    "  where role.namespace_id is not null and role.namespace_id is distinct from binding.namespace_id"
    " union all"
    " select 4, 'IAM_MEMBERSHIP_DANGLING',"
    "        format('The group %s has the member %s, but that group, or a person of that identity, does not "
    "exist.',"
    "               member.group_id, member.identity_id)"
    "   from occ.iam_group_memberships as member"
    "  where not exists (select from occ.iam_groups where id = member.group_id)"
    "     or not exists (select from occ.iam_identities where id = member.identity_id and kind = 'principal')"
    " union all"
    " select 5, 'IAM_ROLE_DANGLING',"
    "        format('The role %s belongs to the Namespace %s, which does not exist.', role.id, "
    "role.namespace_id)"
    "   from occ.iam_roles as role"
    "  where role.namespace_id is not null"
    "    and not exists (select from occ.namespaces where id = role.namespace_id and deleted_at is null)"
    " union all"
    " select 5, 'IAM_ROLE_INVALID',"
    "        format('The role %s holds a permission which does not exist.', role.id)"
    "   from occ.iam_roles as role"
    "  where exists (select from jsonb_array_elements(case jsonb_typeof(role.permissions)"
    "                                                 when 'array' then role.permissions"
    "                                                 else '[null]'::jsonb end) as permission"
    "                 where not coalesce(occ.is_permission(permission ->> 'action',"
    "                                                      permission ->> 'resourceKind'), false))"
    " union all"
    " select 6, 'IAM_RESTRICTION_INVALID',"
    "        format('The restriction %s denies %s:%s, which is no permission.',"
    "               restriction.id, restriction.resource_kind, restriction.action)"
    "   from occ.iam_restrictions as restriction"
    "  where not occ.is_permission(restriction.action, restriction.resource_kind)"
    " union all"
    " select 6, 'IAM_RESTRICTION_DANGLING',"
    "        format('The restriction %s belongs to the Namespace %s, which does not exist.',"
    "               restriction.id, restriction.namespace_id)"
    "   from occ.iam_restrictions as restriction"
    "  where restriction.namespace_id is not null"
    "    and not exists (select from occ.namespaces where id = restriction.namespace_id)"
    " union all"
    " select 7, 'IAM_IDENTITY_DANGLING',"
    "        format('The service principal %s belongs to the Agent %s, which does not exist.',"
    "               identity.id, identity.agent_id)"
    "   from occ.iam_identities as identity"
    "  where identity.agent_id is not null"
    "    and not exists (select from occ.agents where id = identity.agent_id)"
    " union all"
    " select 7, 'IAM_IDENTITY_DANGLING',"
    "        format('The Agent %s has the service principal %s, which does not exist.',"
    "               agent.id, agent.service_principal_id)"
    "   from occ.agents as agent"
    "  where not exists (select from occ.iam_identities where id = agent.service_principal_id)"
    " union all"
    " select 8, 'IAM_SERVICE_KEY_DANGLING',"
    "        format('The service key %s speaks for the service principal %s, which does not exist.',"
    "               apikey.id, apikey.service_principal_id)"
    "   from occ.apikey"
    "  where not exists (select from occ.iam_identities"
    "                     where id = apikey.service_principal_id and kind = 'service_principal')"
    ") as defect order by defect.rank, defect.code, defect.message collate \"C\" limit 100",
    0,
};

static const struct pg_statement administrator_statement = {
    NULL,
    "select exists (" ADMINISTRATOR_BINDINGS ")"
    "   and not exists (select from occ.iam_restrictions"
    "                    where action = 'administer' and resource_kind = 'installation'"
    "                      and (resource_id is null or resource_id in (select id from occ.installation)))",
    0,
};

bool iam_state_defects(struct pg *connection, const void *context, const struct watch *watch,
                       struct iam_defect **list, size_t *count, struct fault *fault)
{
    const struct pg_result *result;
    struct iam_defect *defects;
    size_t row, rows;

    if (!pg_query(connection, context, &defects_statement, NULL, watch, &result, fault))
        return false;
    rows = pg_rows(result);
    defects = mem_array(context, struct iam_defect, rows + 1);
    for (row = 0; row < rows; row++) {
        defects[row].code = mem_text(defects, pg_text(result, row, 0));
        defects[row].message = mem_text(defects, pg_text(result, row, 1));
    }
    *list = defects;
    *count = rows;
    return true;
}

/* The first number is the platform's, as in the schema; the second is this lock's. */
static const struct pg_statement lock_statement = {
    NULL,
    "select pg_catalog.pg_advisory_xact_lock(1329808215, 2)",
    0,
};

bool iam_state_lock(struct pg *connection, const struct watch *watch, struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = pg_query(connection, scratch, &lock_statement, NULL, watch, &result, fault);

    talloc_free(scratch);
    return done;
}

bool iam_state_has_administrator(struct pg *connection, const struct watch *watch, bool *has,
                                 struct fault *fault)
{
    void *scratch = talloc_new(NULL);
    const struct pg_result *result;
    bool done = pg_query(connection, scratch, &administrator_statement, NULL, watch, &result, fault);

    if (done)
        *has = pg_true(result, 0, 0);
    talloc_free(scratch);
    return done;
}
