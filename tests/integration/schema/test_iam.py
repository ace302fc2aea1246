# SPDX-License-Identifier: MIT
"""Identities, groups, roles, bindings and Restrictions."""

import json

from support.rows import new, permissions

# ---- IAM ----


def test_identities(store):
    namespace = store.namespace()
    rule = "iam_identities_principal"
    store.refused_row("check", rule, "iam_identities", id="a", kind="principal")
    store.refused_row("check", rule, "iam_identities", id="a", kind="principal", issuer="i")
    store.refused_row("check", rule, "iam_identities", id="a", kind="principal", subject="s")
    store.refused_row(
        "check", rule, "iam_identities", id="a", kind="principal", issuer="i", subject="s", namespace_id=namespace
    )
    store.refused_row("check", rule, "iam_identities", id="a", kind="service_principal", issuer="i", subject="s")
    store.refused_row("check", rule, "iam_identities", id="a", kind="service_principal", namespace_id=namespace)
    store.refused_row("check", "iam_identities_kind", "iam_identities", id="a", kind="robot", issuer="i", subject="s")
    store.refused_row("check", "iam_id_length", "iam_identities", id="", kind="service_principal")
    store.refused_row("check", "iam_id_length", "iam_identities", id="x" * 201, kind="service_principal")
    store.insert("iam_identities", id="a", kind="principal", issuer="i", subject="s")
    store.insert("iam_identities", id="b", kind="service_principal")
    store.refused_row(
        "unique", "iam_identities_external_key", "iam_identities", id="c", kind="principal", issuer="i", subject="s"
    )


def test_one_service_principal_an_agent(shared):
    namespace = shared.namespace()
    agent = shared.agent(namespace)
    shared.refused_row(
        "unique",
        "iam_identities_agent_id_key",
        "iam_identities",
        id="second",
        kind="service_principal",
        agent_id=agent,
        namespace_id=namespace,
    )


def test_groups_are_of_people(store):
    store.insert("iam_identities", id="person", kind="principal", issuer="i", subject="s")
    store.insert("iam_identities", id="robot", kind="service_principal")
    store.insert("iam_groups", id="g", name="operators")
    store.refused_row("unique", "iam_groups_name_key", "iam_groups", id="h", name="operators")
    store.refused_row(
        "foreign", "iam_group_memberships_people_only", "iam_group_memberships", group_id="g", identity_id="robot"
    )
    store.insert("iam_group_memberships", group_id="g", identity_id="person")
    store.run("delete from occ.iam_identities where id = 'person'")
    assert store.value("select count(*) from occ.iam_group_memberships") == 0


PAIRS = {
    "installation": "read administer",
    "namespace": "create read delete",
    "configuration": "create read update delete",
    "service_account": "create read update delete",
    "secret": "create read update delete operate",
    "agent": "create read update delete deploy operate administer",
    "agent_revision": "read",
}


def test_the_permissions_that_exist(shared):
    wanted = {(action, kind) for kind, actions in PAIRS.items() for action in actions.split()}
    assert len(wanted) == 26
    assert set(shared.run("select action, resource_kind from occ.permissions()")) == wanted


def test_roles_hold_existing_permissions(store):
    row = {"id": "r", "name": "r"}
    said = store.refused_row(
        "check", "iam_roles_permissions_known", "iam_roles", permissions=permissions(("read", "agent"), ("update", "namespace")), **row
    )
    assert "namespace:update" in said
    for bad in ([{}], ["read"], [{"action": "read"}], [{"action": "read", "resourceKind": "agent", "effect": "allow"}],
                [{"action": None, "resourceKind": "agent"}], [None]):
        store.refused_row("check", "iam_roles_permissions_shape", "iam_roles", permissions=json.dumps(bad), **row)
    for bad in ({}, "read", None):
        store.refused_row("check", "iam_roles_permissions_list", "iam_roles", permissions=json.dumps(bad), **row)
    store.refused_row(
        "check", "iam_roles_permissions_distinct", "iam_roles", permissions=permissions(("read", "agent"), ("read", "agent")), **row
    )
    everything = [(action, kind) for kind, actions in PAIRS.items() for action in actions.split()]
    store.insert("iam_roles", permissions=permissions(*everything), **row)
    store.refused("check", "update occ.iam_roles set permissions = %s", permissions(("fly", "agent")))
    assert store.run("update occ.iam_roles set permissions = %s", permissions(("read", "agent"))) == 1


def test_role_names(shared):
    namespace = shared.namespace()
    shared.insert("iam_roles", id="a", name="reader", permissions="[]")
    shared.insert("iam_roles", id="b", name="reader", permissions="[]", namespace_id=namespace)
    for where in (None, namespace):
        shared.refused_row(
            "unique", "iam_roles_name_key", "iam_roles", id="c", name="reader", permissions="[]", namespace_id=where
        )


def test_binding_subject(store, subjects):
    rule = "iam_access_bindings_one_subject"
    store.refused_row("check", rule, "iam_access_bindings", id="b", role_id="role")
    store.refused_row(
        "check",
        rule,
        "iam_access_bindings",
        id="b",
        role_id="role",
        identity_subject_id="person",
        group_subject_id="group",
    )
    store.insert("iam_access_bindings", id="b", role_id="role", identity_subject_id="person")
    store.insert("iam_access_bindings", id="c", role_id="role", group_subject_id="group")
    store.refused_row(
        "unique", "iam_access_bindings_key", "iam_access_bindings", id="d", role_id="role", group_subject_id="group"
    )
    for table, what in (("iam_identities", "person"), ("iam_groups", "group"), ("iam_roles", "role")):
        store.refused("foreign", f"delete from occ.{table} where id = %s", what)


def test_binding_resource(store, subjects):
    namespace, other = subjects, store.namespace()
    agent = store.agent(namespace)
    base = {"id": "b", "role_id": "role", "identity_subject_id": "person"}

    def refused(what, by, **more):
        store.refused_row(what, by, "iam_access_bindings", **base, **more)

    refused("foreign", "iam_access_bindings_resource_exists", resource_kind="agent")
    refused("check", "iam_access_bindings_resource", resource_id=agent)
    refused("check", "iam_access_bindings_resource", resource_kind="planet", resource_id=agent, namespace_id=namespace)
    refused("foreign", "iam_access_bindings_resource_exists", resource_kind="secret", resource_id=agent)
    refused("foreign", "iam_access_bindings_resource_exists", resource_kind="agent", resource_id=new("agt_"))
    refused(
        "foreign",
        "iam_access_bindings_resource_exists",
        resource_kind="agent",
        resource_id=agent,
        namespace_id=other,
    )
    refused("foreign", "iam_access_bindings_resource_exists", resource_kind="installation", resource_id=new("ins_"))
    store.insert("iam_access_bindings", resource_kind="agent", resource_id=agent, **base)
    assert store.value("select namespace_id from occ.iam_access_bindings") == namespace


def test_binding_role_of_a_namespace(store, subjects):
    base = {"id": "b", "role_id": "local", "identity_subject_id": "person"}
    rule = "iam_access_bindings_role_scope"
    store.refused_row("check", rule, "iam_access_bindings", **base)
    store.refused_row("check", rule, "iam_access_bindings", namespace_id=store.namespace(), **base)
    store.insert("iam_access_bindings", namespace_id=subjects, **base)


def test_bindings_go_with_their_resource(store, subjects):
    configuration = store.configuration(subjects)
    store.insert(
        "iam_access_bindings",
        id="b",
        role_id="role",
        identity_subject_id="person",
        resource_kind="configuration",
        resource_id=configuration,
    )
    store.run("delete from occ.configurations where id = %s", configuration)
    assert store.value("select count(*) from occ.iam_access_bindings") == 0


def test_restrictions(shared):
    base = {"id": "x", "action": "create", "resource_kind": "namespace"}
    shared.refused_row("check", "iam_restrictions_permission", "iam_restrictions", **{**base, "action": "update"})
    shared.refused_row("check", "iam_restrictions_effect", "iam_restrictions", effect="allow", **base)
    shared.refused_row("check", "iam_restrictions_resource", "iam_restrictions", resource_id=new("agt_"), **base)
    shared.insert("iam_restrictions", resource_id=new("ns_"), **base)
