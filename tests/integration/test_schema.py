# SPDX-License-Identifier: MIT
"""The schema: each rule refuses the wrong row and accepts the right one, and each role may do what it needs and no more.

Everything here is written as occ_app, unless a test says otherwise: the rules must hold against the programs.
"""

import json
import select
import threading
import uuid

import psycopg2
import psycopg2.errors
import psycopg2.extensions
import pytest
from support.database import Database
from support.waiting import poll

CODE = {
    "check": "23514",
    "unique": "23505",
    "foreign": "23503",
    "null": "23502",
    "denied": "42501",
    "key": "OC001",
    "closed": "OC002",
    "owned": "OC003",
}


def new(prefix=""):
    return prefix + str(uuid.uuid4())


class Store:
    """Rows as the programs write them."""

    def __init__(self, database, role="occ_app"):
        self.connection = database.connect(role)

    def run(self, sql, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else cursor.rowcount

    def value(self, sql, *values):
        return self.run(sql, *values)[0][0]

    def refused(self, what, sql, *values, by=None):
        """The statement fails with that SQLSTATE, and by that constraint. Gives the message."""
        with pytest.raises(psycopg2.Error) as raised:
            self.run(sql, *values)
        error = raised.value
        self.connection.rollback()
        assert error.pgcode == CODE[what], f"{error.pgcode}: {error}"
        if by is not None:
            assert error.diag.constraint_name == by, f"{error.diag.constraint_name}: {error}"
        return str(error)

    def insert(self, table, **columns):
        self.run(*insertion(table, columns))
        return columns.get("id")

    def refused_row(self, what, by, table, **columns):
        return self.refused(what, *insertion(table, columns), by=by)

    def namespace(self, status="ready", **more):
        return self.insert("namespaces", **{"id": new("ns_"), "name": new(), "status": status, **more})

    def configuration(self, namespace, **more):
        return self.insert("configurations", **{"id": new("cfg_"), "namespace_id": namespace, **more})

    def secret(self, namespace, **more):
        row = {
            "id": new("sec_"),
            "namespace_id": namespace,
            "name": new(),
            "driver_id": "secret-kubernetes",
            "backend_namespace_name": "oce-1",
            "backend_name": new(),
            "backend_key": "value",
        }
        return self.insert("secrets", **{**row, **more})

    def service_account(self, namespace, secret, **more):
        row = {
            "id": new("sa_"),
            "namespace_id": namespace,
            "name": new(),
            "credential": json.dumps(reference(namespace, secret)),
        }
        return self.insert("service_accounts", **{**row, **more})

    def agent(self, namespace, **more):
        agent, principal = new("agt_"), new()
        row = {
            "id": agent,
            "namespace_id": namespace,
            "name": new(),
            "execution_mode": "embedded",
            "service_principal_id": principal,
        }
        if "configuration_id" not in more:
            row["configuration_id"] = self.configuration(namespace)
        row.update(more)
        self.run("begin")
        try:
            self.insert("agents", **row)
            self.insert(
                "iam_identities", id=principal, kind="service_principal", agent_id=agent, namespace_id=namespace
            )
        except psycopg2.Error:
            self.run("rollback")
            raise
        self.run("commit")
        return agent

    def revision(self, namespace, agent, number=1, **more):
        row = {
            "id": new("rev_"),
            "namespace_id": namespace,
            "agent_id": agent,
            "revision_number": number,
            "admitted_spec": json.dumps(admitted_spec()),
        }
        return self.insert("agent_revisions", **{**row, **more})

    def work(self, namespace, target="ready", **more):
        row = {
            "idempotency_key": f"namespace:{namespace}:reconcile:{target}",
            "namespace_id": namespace,
            "actor_id": "actor",
            "namespace_target": target,
        }
        row.update(more)
        self.insert("controller_work", **row)
        return row["idempotency_key"]

    def deletion(self, namespace):
        self.run("update occ.namespaces set status = 'deleting' where id = %s", namespace)
        return self.work(namespace, "deleted")

    def agent_deletion(self, namespace, agent):
        self.run(
            "update occ.agents set status = 'deleting', desired_runtime_state = 'stopped' where id = %s", agent
        )
        row = {
            "idempotency_key": f"agent:{agent}:reconcile:deleted",
            "namespace_id": namespace,
            "actor_id": "actor",
            "agent_id": agent,
            "agent_target": "deleted",
        }
        self.insert("controller_work", **row)
        return row["idempotency_key"]

    def claim(self, key, lease="5 s", token=None):
        token = token or new()
        assert 1 == self.run(
            "update occ.controller_work set state = 'claimed', attempt_count = attempt_count + 1, claim_token = %s,"
            " lease_expires_at = statement_timestamp() + %s::interval, updated_at = statement_timestamp()"
            " where idempotency_key = %s and state = 'queued'",
            token,
            lease,
            key,
        )
        return token

    def finish(self, key, state="succeeded", reason="RECONCILE_SUCCEEDED"):
        assert 1 == self.run(
            "update occ.controller_work set state = %s, lease_expires_at = null, completed_at = statement_timestamp(),"
            " reason_code = %s where idempotency_key = %s",
            state,
            reason,
            key,
        )

    def fail(self, key):
        self.claim(key)
        self.finish(key, "failed_permanent", "OWNERSHIP_CONFLICT")

    def row(self, key):
        rows = self.run("select row_to_json(w) from occ.controller_work as w where idempotency_key = %s", key)
        return rows[0][0] if rows else None


def insertion(table, columns):
    names = ", ".join(columns)
    return (f"insert into occ.{table} ({names}) values ({', '.join(['%s'] * len(columns))})", *columns.values())


def reference(namespace, secret):
    return {"kind": "secret", "namespaceId": namespace, "id": secret}


def admitted_spec(**change):
    spec = {
        "configuration_id": new("cfg_"),
        "configuration_kind": "agent",
        "configuration_generation": 1,
        "draft_spec": {"logging": {"level": "info"}},
        "harness": {"id": "openclaw", "version": "1.2.3", "mode": "embedded"},
        "compute": {"id": "compute-kubernetes", "implementation": "kubernetes"},
        "harness_auth": None,
    }
    spec.update(change)
    return {name: value for name, value in spec.items() if value is not ...}


@pytest.fixture
def store(database):
    return Store(database)


@pytest.fixture(scope="module")
def shared_database(cluster, migrated_template):
    made = Database.create(cluster, template=migrated_template.name)
    yield made
    made.drop()


@pytest.fixture
def shared(shared_database):
    """For tests of single rows, which do not care what else is there."""
    made = Store(shared_database)
    yield made
    made.connection.close()


# ---- Identifiers and names ----


ID_TABLES = {
    "installation": ("ins_", "installation_id_format", {"name": "i"}),
    "namespaces": ("ns_", "namespace_id_format", {"name": "n"}),
}


@pytest.mark.parametrize("table", sorted(ID_TABLES))
def test_identifiers_have_their_form(store, table):
    prefix, rule, columns = ID_TABLES[table]
    good = new(prefix)
    for bad in (
        "",
        prefix,
        good.upper(),
        "x" + good,
        good + "0",
        good + "\n",
        good.replace("-", ""),
        prefix + str(uuid.uuid1()),
        new("agt_"),
        good[len(prefix) :],
    ):
        store.refused_row("check", rule, table, id=bad, **columns)
    store.insert(table, id=good, **columns)


@pytest.mark.parametrize(
    "domain, prefix",
    [
        ("installation_id", "ins_"),
        ("namespace_id", "ns_"),
        ("agent_id", "agt_"),
        ("revision_id", "rev_"),
        ("configuration_id", "cfg_"),
        ("secret_id", "sec_"),
        ("service_account_id", "sa_"),
        ("audit_id", "aud_"),
    ],
)
def test_identifier_types(shared, domain, prefix):
    assert shared.value(f"select %s::occ.{domain}", prefix + "0f8fad5b-d9cb-469f-a165-70867728950e")
    for bad in ("0f8fad5b-d9cb-469f-a165-70867728950e", prefix + "0f8fad5b-d9cb-169f-a165-70867728950e"):
        shared.refused("check", f"select %s::occ.{domain}", bad)


BAD_NAMES = {
    "": "resource_name_length",
    "n" * 201: "resource_name_length",
    " n": "resource_name_trimmed",
    "n ": "resource_name_trimmed",
    "n\u00a0": "resource_name_trimmed",
    "\u2003n": "resource_name_trimmed",
    "\u3000": "resource_name_trimmed",
    "a\nb": "resource_name_control",
    "a\tb": "resource_name_control",
    "a\x7fb": "resource_name_control",
    "a\u0085b": "resource_name_control",
    "\x01": "resource_name_control",
}


def test_names(shared):
    for bad, rule in BAD_NAMES.items():
        shared.refused_row("check", rule, "namespaces", id=new("ns_"), name=bad)
    for good in ("n", "n" * 200, "ü" * 200, "team a", "名前", "-", "Ω'; drop table occ.namespaces; --"):
        shared.namespace(name=good)


def test_names_differ_by_bytes(shared):
    shared.namespace(name="team")
    shared.namespace(name="Team")
    shared.refused_row("unique", "namespaces_name_key", "namespaces", id=new("ns_"), name="team")


def test_one_installation(store):
    store.insert("installation", id=new("ins_"), name="first")
    store.refused_row("unique", "installation_single_row", "installation", id=new("ins_"), name="second")


# ---- Namespaces ----


def test_existing_namespace(shared):
    for bad in ("", "Upper", "-a", "a-", "a.b", "a" * 64, "a_b"):
        shared.refused_row(
            "check",
            "namespaces_existing_namespace_label",
            "namespaces",
            id=new("ns_"),
            name=new(),
            existing_namespace=bad,
        )
    first = shared.namespace(existing_namespace="tenant-1")
    shared.refused_row(
        "unique",
        "namespaces_existing_namespace_key",
        "namespaces",
        id=new("ns_"),
        name=new(),
        existing_namespace="tenant-1",
    )
    key = shared.deletion(first)
    assert shared.value("select occ.tombstone_namespace(%s, %s)", key, shared.claim(key))
    shared.namespace(existing_namespace="tenant-1")


@pytest.mark.parametrize(
    "old, new_status, allowed",
    [
        ("provisioning", "ready", True),
        ("provisioning", "failed", True),
        ("provisioning", "deleting", True),
        ("ready", "deleting", True),
        ("failed", "deleting", True),
        ("ready", "failed", False),
        ("ready", "provisioning", False),
        ("failed", "ready", False),
        ("deleting", "ready", False),
        ("deleting", "failed", False),
    ],
)
def test_namespace_transitions(shared, old, new_status, allowed):
    namespace = shared.namespace(old)
    change = ("update occ.namespaces set status = %s where id = %s", new_status, namespace)
    if allowed:
        assert shared.run(*change) == 1
    else:
        shared.refused("check", *change, by="namespaces_transition")


def test_namespace_status_and_tombstone(store, database):
    store.refused_row("check", "namespaces_status", "namespaces", id=new("ns_"), name="n", status="lost")
    store.refused_row(
        "check",
        "namespaces_tombstone",
        "namespaces",
        id=new("ns_"),
        name="n",
        status="ready",
        deleted_at="2026-01-01T00:00:00Z",
    )
    namespace = store.namespace(name="gone")
    key = store.deletion(namespace)
    assert store.value("select occ.tombstone_namespace(%s, %s)", key, store.claim(key))
    # A tombstone is final, for its owner too, and keeps its name.
    owner = Store(database, "postgres")
    for change in ("deleted_at = null", "deleted_at = now()", "status = 'ready'"):
        owner.refused("check", f"update occ.namespaces set {change} where id = %s", namespace)
    owner.refused("check", "delete from occ.namespaces where id = %s", namespace, by="namespaces_kept")
    owner.refused("check", "truncate occ.namespaces cascade", by="namespaces_kept")
    store.refused_row("unique", "namespaces_name_key", "namespaces", id=new("ns_"), name="gone")


def test_namespace_identity_is_fixed(store, database):
    namespace = store.namespace()
    owner = Store(database, "postgres")
    for change in ("name = 'other'", "existing_namespace = 'x'", "created_at = '2020-01-01'"):
        owner.refused("check", f"update occ.namespaces set {change} where id = %s", namespace, by="namespaces_fixed")


@pytest.mark.parametrize("status, accepts", [("provisioning", True), ("ready", True), ("failed", False), ("deleting", False)])
def test_children_need_an_open_namespace(shared, status, accepts):
    namespace = shared.namespace(status)
    row = insertion("configurations", {"id": new("cfg_"), "namespace_id": namespace})
    if accepts:
        assert shared.run(*row) == 1
    else:
        assert status in shared.refused("closed", *row)


def test_child_of_no_namespace(shared):
    shared.refused_row(
        "foreign", "configurations_namespace_id_fkey", "configurations", id=new("cfg_"), namespace_id=new("ns_")
    )


def test_namespace_with_children_is_not_deleted(store):
    namespace = store.namespace()
    configuration = store.configuration(namespace)
    secret = store.secret(namespace)
    store.service_account(namespace, secret)
    said = store.refused("owned", "update occ.namespaces set status = 'deleting' where id = %s", namespace)
    assert "1 Configurations, 1 Secrets, 1 service accounts" in said
    store.run("delete from occ.service_accounts")
    store.run("delete from occ.secrets where id = %s", secret)
    store.refused("owned", "update occ.namespaces set status = 'deleting' where id = %s", namespace)
    store.run("delete from occ.configurations where id = %s", configuration)
    assert store.run("update occ.namespaces set status = 'deleting' where id = %s", namespace) == 1


def test_child_and_deletion_race(store, database):
    """Whichever comes first, the other one waits for it and then sees it."""
    namespace = store.namespace()
    other = Store(database)
    outcome = []

    def create():
        try:
            other.configuration(namespace)
            outcome.append(None)
        except psycopg2.Error as error:
            outcome.append(error.pgcode)

    store.run("begin")
    store.run("update occ.namespaces set status = 'deleting' where id = %s", namespace)
    thread = threading.Thread(target=create)
    thread.start()
    blocked(database, other)
    assert not outcome
    store.run("commit")
    thread.join(10)
    assert outcome == [CODE["closed"]]

    namespace = store.namespace()
    other.run("begin")
    other.configuration(namespace)
    result = []
    thread = threading.Thread(target=lambda: result.append(store.refused(
        "owned", "update occ.namespaces set status = 'deleting' where id = %s", namespace)))
    thread.start()
    blocked(database, store)
    other.run("commit")
    thread.join(10)
    assert len(result) == 1


def blocked(database, store):
    pid = store.connection.get_backend_pid()
    poll(
        lambda: database.one("select cardinality(pg_blocking_pids(%s)) > 0", pid),
        10,
        what="a session that waits for a lock",
    )


def test_configurations(shared):
    namespace = shared.namespace()
    row = {"id": new("cfg_"), "namespace_id": namespace}
    shared.refused_row("check", "configurations_kind", "configurations", kind="other", **row)
    shared.refused_row("check", "configurations_generation", "configurations", generation=0, **row)
    good = [{"name": "TOKEN", "source": reference(namespace, new("sec_"))}]
    for bad in ({}, [1], [{}], good + good, [{**good[0], "value": "s3cret"}], [{"name": "", "source": good[0]["source"]}],
                [{"name": "A", "source": {"kind": "literal", "namespaceId": namespace, "id": new("sec_")}}]):
        shared.refused_row(
            "check", "configurations_secret_bindings", "configurations", secret_bindings=json.dumps(bad), **row
        )
    shared.insert("configurations", secret_bindings=json.dumps(good), **row)


def test_secrets_and_service_accounts(shared):
    namespace, other = shared.namespace(), shared.namespace()
    secret = shared.secret(namespace, name="token")
    columns = {"driver_id": "d", "backend_namespace_name": "b", "backend_name": "c", "backend_key": "k"}
    shared.refused_row(
        "unique", "secrets_name_key", "secrets", id=new("sec_"), namespace_id=namespace, name="token", **columns
    )
    shared.secret(other, name="token")
    row = {"id": new("sa_"), "namespace_id": namespace, "name": "robot"}
    shared.refused_row(
        "check", "service_accounts_credential", "service_accounts", credential=json.dumps({"token": "x"}), **row
    )
    foreign = shared.secret(other)
    shared.refused_row(
        "check",
        "service_accounts_credential_namespace",
        "service_accounts",
        credential=json.dumps(reference(other, foreign)),
        **row,
    )
    shared.refused_row(
        "foreign",
        "service_accounts_credential_fkey",
        "service_accounts",
        credential=json.dumps(reference(namespace, foreign)),
        **row,
    )
    shared.service_account(namespace, secret)
    shared.refused("foreign", "delete from occ.secrets where id = %s", secret, by="service_accounts_credential_fkey")


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


def permissions(*pairs):
    return json.dumps([{"action": action, "resourceKind": kind} for action, kind in pairs])


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


@pytest.fixture
def subjects(store):
    """A person, a group, a role, and one of a Namespace."""
    store.insert("iam_identities", id="person", kind="principal", issuer="i", subject="s")
    store.insert("iam_groups", id="group", name="g")
    store.insert("iam_roles", id="role", name="role", permissions=permissions(("read", "agent")))
    namespace = store.namespace()
    store.insert("iam_roles", id="local", name="local", permissions="[]", namespace_id=namespace)
    return namespace


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


# ---- Agents ----


def test_agent_and_its_service_principal(shared):
    namespace = shared.namespace()
    configuration = shared.configuration(namespace)
    row = {
        "id": new("agt_"),
        "namespace_id": namespace,
        "name": "a",
        "execution_mode": "embedded",
        "configuration_id": configuration,
    }
    # The cycle is checked at the commit: without the principal there is no Agent, nor with that of another one.
    shared.refused_row("foreign", "agents_service_principal_fkey", "agents", service_principal_id="none", **row)
    agent = shared.agent(namespace)
    principal = shared.value("select service_principal_id from occ.agents where id = %s", agent)
    shared.refused_row("unique", "agents_service_principal_id_key", "agents", service_principal_id=principal, **row)
    shared.insert("iam_identities", id="free", kind="service_principal")
    shared.refused_row("foreign", "agents_service_principal_fkey", "agents", service_principal_id="free", **row)
    shared.refused("foreign", "delete from occ.iam_identities where id = %s", principal)


def test_agent_columns(shared):
    namespace, other = shared.namespace(), shared.namespace()
    first = shared.agent(namespace, name="one")

    def refused(what, by, **more):
        with pytest.raises(psycopg2.Error) as raised:
            shared.agent(namespace, **more)
        assert (raised.value.pgcode, raised.value.diag.constraint_name) == (CODE[what], by)

    refused("unique", "agents_name_key", name="one")
    refused("check", "agents_execution_mode", execution_mode="remote")
    refused("check", "agents_desired_runtime_state", desired_runtime_state="paused")
    refused("check", "agents_status", status="gone")
    refused("check", "agents_deleting_is_stopped", status="deleting", desired_runtime_state="running")
    refused("foreign", "agents_configuration_fkey", configuration_id=shared.configuration(other))
    shared.agent(other, name="one")
    shared.run("update occ.agents set status = 'deleting' where id = %s", first)
    shared.refused("check", "update occ.agents set status = 'active' where id = %s", first, by="agents_deleting_final")


def test_harness_auth(shared):
    namespace, other = shared.namespace(), shared.namespace()
    secret, foreign = shared.secret(namespace), shared.secret(other)
    account = shared.service_account(namespace, secret)
    set_auth = "update occ.agents set harness_auth = %s where id = %s"
    agent = shared.agent(namespace)
    source = reference(namespace, secret)
    for bad in (
        {},
        [],
        "api_key",
        None,
        {"method": "api_key"},
        {"method": "password", "source": source},
        {"method": "api_key", "source": {**source, "value": "s3cret"}},
        {"method": "api_key", "source": source, "key": "s3cret"},
        {"method": "api_key", "source": {**source, "kind": "literal"}},
        {"method": "api_key", "source": {**source, "id": namespace}},
        {"method": "api_key", "serviceAccountId": account},
        {"method": "chatgpt_service_account", "source": source},
        {"method": "chatgpt_service_account", "serviceAccountId": secret},
    ):
        shared.refused("check", set_auth, json.dumps(bad), agent, by="agents_harness_auth")
    auth = {"method": "api_key", "source": reference(other, foreign)}
    shared.refused("check", set_auth, json.dumps(auth), agent, by="agents_harness_auth_namespace")
    auth = {"method": "api_key", "source": reference(namespace, foreign)}
    shared.refused("foreign", set_auth, json.dumps(auth), agent, by="agents_harness_auth_secret_fkey")
    auth = {"method": "chatgpt_service_account", "serviceAccountId": new("sa_")}
    shared.refused("foreign", set_auth, json.dumps(auth), agent, by="agents_harness_auth_service_account_fkey")

    generated = "select harness_auth_secret_id, harness_auth_service_account_id from occ.agents where id = %s"
    for method in ("api_key", "codex_pat"):
        shared.run(set_auth, json.dumps({"method": method, "source": source}), agent)
        assert shared.run(generated, agent) == [(secret, None)]
    shared.refused("foreign", "delete from occ.secrets where id = %s", secret)
    shared.run(set_auth, json.dumps({"method": "chatgpt_service_account", "serviceAccountId": account}), agent)
    assert shared.run(generated, agent) == [(None, account)]
    shared.run(set_auth, None, agent)
    assert shared.run(generated, agent) == [(None, None)]


def test_admitted_spec(shared):
    namespace = shared.namespace()
    agent = shared.agent(namespace)
    good = admitted_spec()
    binding = [{"name": "A", "source": reference(namespace, new("sec_"))}]
    for bad in (
        *({name: value for name, value in good.items() if name != missing} for missing in good),
        admitted_spec(password="x"),
        admitted_spec(configuration_id=new("sec_")),
        admitted_spec(configuration_kind="other"),
        admitted_spec(configuration_generation=0),
        admitted_spec(configuration_generation=1.5),
        admitted_spec(configuration_generation="1"),
        admitted_spec(draft_spec=[]),
        admitted_spec(harness={"id": "openclaw", "version": "1"}),
        admitted_spec(harness={"id": "other", "version": "1", "mode": "embedded"}),
        admitted_spec(harness={"id": "codex", "version": "", "mode": "dedicated"}),
        admitted_spec(harness={"id": "codex", "version": "1", "mode": "remote"}),
        admitted_spec(harness={"id": "codex", "version": "1", "mode": "dedicated", "token": "x"}),
        admitted_spec(compute={"id": "c"}),
        admitted_spec(compute={"id": "c", "implementation": 1}),
        admitted_spec(harness_auth={"method": "api_key", "key": "s3cret"}),
        admitted_spec(sandbox_driver_id=""),
        admitted_spec(secret_driver_id=None),
        admitted_spec(secret_bindings={}),
        admitted_spec(secret_bindings=[{**binding[0], "value": "s3cret"}]),
        [],
        None,
    ):
        shared.refused_row(
            "check",
            "agent_revisions_admitted_spec",
            "agent_revisions",
            id=new("rev_"),
            namespace_id=namespace,
            agent_id=agent,
            revision_number=1,
            admitted_spec=json.dumps(bad),
        )
    shared.revision(namespace, agent, 1)
    full = admitted_spec(
        harness_auth={"method": "codex_pat", "source": reference(namespace, new("sec_"))},
        sandbox_driver_id="s",
        secret_driver_id="t",
        secret_bindings=binding,
    )
    shared.revision(namespace, agent, 2, admitted_spec=json.dumps(full))


def test_revisions(store, database):
    namespace = store.namespace()
    agent, other = store.agent(namespace), store.agent(namespace)
    revision = store.revision(namespace, agent, 1)
    for number, by, what in ((1, "agent_revisions_number_key", "unique"), (0, "agent_revisions_revision_number", "check")):
        with pytest.raises(psycopg2.Error) as raised:
            store.revision(namespace, agent, number)
        assert (raised.value.pgcode, raised.value.diag.constraint_name) == (CODE[what], by)
    # The active revision is one of the same Agent.
    activate = "update occ.agents set active_revision_id = %s where id = %s"
    store.refused("foreign", activate, revision, other, by="agents_active_revision_fkey")
    assert store.run(activate, revision, agent) == 1
    # A revision never changes, for its owner neither.
    owner = Store(database, "postgres")
    owner.refused("check", "update occ.agent_revisions set revision_number = 9", by="agent_revisions_fixed")
    store.refused("denied", "update occ.agent_revisions set revision_number = 9")
    # Nothing is deployed into a Namespace that is not ready.
    pending = store.namespace("provisioning")
    waiting = store.agent(pending)
    with pytest.raises(psycopg2.Error) as raised:
        store.revision(pending, waiting)
    assert raised.value.pgcode == CODE["closed"]


# ---- Audit ----


def test_audit(shared):
    good = {"kind": "mutation", "action": "openclaw.namespaces.create", "outcome": "success"}

    def refused(by, **change):
        shared.refused_row("check", by, "audit_events", **{**good, **change})

    refused("audit_events_kind", kind="note")
    refused("audit_events_outcome", outcome="maybe")
    refused("audit_events_action", action="Not an action")
    refused("audit_events_details", details="[]")
    refused("audit_events_details", details=json.dumps({"x": "y" * 20000}))
    refused("audit_events_resource", resource_id="x")
    refused("audit_events_denial", kind="authorization_denial")
    refused("audit_events_reconcile", action="reconcile")
    refused("audit_events_reconcile", action="reconcile", details='{"workId":"w","reasonCode":"R","attemptCount":"1"}')
    refused("audit_id_format", id=new())
    shared.insert("audit_events", **good)
    shared.insert("audit_events", **{**good, "kind": "authorization_denial", "outcome": "denied"})
    details = '{"workId":"w","reasonCode":"R","attemptCount":1}'
    shared.insert("audit_events", **{**good, "action": "reconcile", "details": details})


def test_audit_is_append_only(store, database):
    store.insert("audit_events", kind="bootstrap", action="openclaw.installation.bootstrap", outcome="success")
    owner = Store(database, "postgres")
    for change in (
        "update occ.audit_events set outcome = 'failure'",
        "delete from occ.audit_events",
        "truncate occ.audit_events",
    ):
        store.refused("denied", change)
        owner.refused("check", change, by="audit_events_append_only")
    assert store.value("select count(*) from occ.audit_events") == 1


def test_audit_order_within_a_transaction(store):
    store.run("begin")
    for number in range(20):
        store.insert(
            "audit_events", kind="mutation", action="x", outcome="success", details=json.dumps({"number": number})
        )
    store.run("commit")
    rows = store.run("select details ->> 'number' from occ.audit_events order by occurred_at")
    assert [int(row[0]) for row in rows] == list(range(20))


# ---- The queue ----


def test_three_shapes(shared):
    namespace = shared.namespace()
    agent = shared.agent(namespace)
    revision = shared.revision(namespace, agent)
    base = {"namespace_id": namespace, "actor_id": "actor"}
    keys = {
        "ready": f"namespace:{namespace}:reconcile:ready",
        "deleted": f"namespace:{namespace}:reconcile:deleted",
        "stop": f"agent:{agent}:reconcile:stopped:{new()}",
        "delete": f"agent:{agent}:reconcile:deleted",
        "revision": f"agent_revision:{revision}:reconcile",
        "maintenance": f"agent_revision:{revision}:maintenance:29300160",
    }
    shapes = {
        "ready": {"namespace_target": "ready"},
        "deleted": {"namespace_target": "deleted"},
        "stop": {"agent_id": agent, "agent_target": "stopped"},
        "delete": {"agent_id": agent, "agent_target": "deleted"},
        "revision": {"agent_id": agent, "revision_id": revision},
        "maintenance": {"agent_id": agent, "revision_id": revision},
    }
    columns = {
        "agent_id": agent,
        "revision_id": revision,
        "namespace_target": "ready",
        "agent_target": "stopped",
    }
    right = [{*shape} for shape in shapes.values()]
    for bits in range(16):
        chosen = {name: value for bit, (name, value) in enumerate(columns.items()) if bits & 1 << bit}
        if {*chosen} not in right:
            with pytest.raises(psycopg2.errors.CheckViolation):
                shared.insert("controller_work", idempotency_key="x", **base, **chosen)
    # Each key only with its own shape.
    for shape, more in shapes.items():
        for name, key in keys.items():
            if name != shape and {name, shape} != {"revision", "maintenance"}:
                shared.refused_row("check", "controller_work_key", "controller_work", idempotency_key=key, **base, **more)
    for key in (
        keys["ready"] + "x",
        f"agent_revision:{revision}:maintenance:",
        f"agent_revision:{revision}:maintenance:-1",
        f"agent_revision:{new('rev_')}:reconcile",
    ):
        shared.refused_row(
            "check", "controller_work_key", "controller_work", idempotency_key=key, **base, **shapes["revision"]
        )
    for key in (f"agent:{agent}:reconcile:stopped:", f"agent:{agent}:reconcile:stopped:{uuid.uuid1()}"):
        shared.refused_row(
            "check", "controller_work_key", "controller_work", idempotency_key=key, **base, **shapes["stop"]
        )
    for shape, more in shapes.items():
        shared.insert("controller_work", idempotency_key=keys[shape], **base, **more)


def test_work_of_strangers(shared):
    namespace, other = shared.namespace(), shared.namespace()
    agent, foreign = shared.agent(namespace), shared.agent(other)
    revision = shared.revision(other, foreign)
    key = f"agent:{foreign}:reconcile:deleted"
    # Deferred to the commit, which is each statement's own here.
    shared.refused_row(
        "foreign",
        "controller_work_agent_fkey",
        "controller_work",
        idempotency_key=key,
        namespace_id=namespace,
        actor_id="a",
        agent_id=foreign,
        agent_target="deleted",
    )
    shared.refused_row(
        "foreign",
        "controller_work_revision_fkey",
        "controller_work",
        idempotency_key=f"agent_revision:{revision}:reconcile",
        namespace_id=namespace,
        actor_id="a",
        agent_id=agent,
        revision_id=revision,
    )
    with pytest.raises(psycopg2.errors.ForeignKeyViolation):
        shared.work(new("ns_"))


@pytest.mark.parametrize(
    "columns, rule",
    [
        ({"state": "running"}, "controller_work_state"),
        ({"work_kind": "other"}, "controller_work_kind"),
        ({"attempt_count": -1}, "controller_work_attempt_count"),
        ({"result_data": "[]"}, "controller_work_result_data"),
        ({"lease_expires_at": "2026-01-01"}, "controller_work_lease"),
        ({"state": "claimed", "claim_token": new(), "attempt_count": 1}, "controller_work_lease"),
        ({"state": "claimed", "lease_expires_at": "2026-01-01", "attempt_count": 1}, "controller_work_lease"),
        ({"state": "claimed", "lease_expires_at": "2026-01-01", "claim_token": new()}, "controller_work_lease"),
        ({"completed_at": "2026-01-01"}, "controller_work_outcome"),
        ({"reason_code": "X"}, "controller_work_outcome"),
        ({"completed_at": "2026-01-01", "reason_code": "X"}, "controller_work_outcome"),
        ({"state": "succeeded", "completed_at": "2026-01-01"}, "controller_work_outcome"),
        ({"state": "succeeded", "reason_code": "X"}, "controller_work_outcome"),
        ({"state": "failed_permanent"}, "controller_work_outcome"),
        ({"state": "succeeded", "completed_at": "2026-01-01", "reason_code": "lower"}, "reason_code_format"),
        ({"state": "succeeded", "completed_at": "2026-01-01", "reason_code": "R" * 65}, "reason_code_format"),
    ],
)
def test_work_columns(shared, columns, rule):
    namespace = shared.namespace()
    with pytest.raises(psycopg2.errors.CheckViolation) as raised:
        shared.work(namespace, **columns)
    assert raised.value.diag.constraint_name == rule
    shared.work(namespace)


def test_one_claim_a_lane(shared):
    namespace = shared.namespace("provisioning")
    first = shared.work(namespace)
    second = shared.work(namespace, "deleted")
    shared.claim(first)
    with pytest.raises(psycopg2.errors.UniqueViolation) as raised:
        shared.claim(second)
    assert raised.value.diag.constraint_name == "controller_work_lane"
    # An Agent's work is a lane of its own.
    namespace = shared.namespace()
    agent = shared.agent(namespace)
    deletion = shared.agent_deletion(namespace, agent)
    shared.claim(deletion)
    shared.claim(shared.work(namespace))
    shared.finish(first)
    shared.claim(second)


ILLEGAL = [
    ("queued", "state = 'succeeded', completed_at = now(), reason_code = 'X'"),
    ("queued", "attempt_count = attempt_count + 1"),
    (
        "queued",
        "state = 'claimed', lease_expires_at = now(), claim_token = gen_random_uuid(), attempt_count = attempt_count + 2",
    ),
    ("claimed", "claim_token = gen_random_uuid()"),
    ("claimed", "attempt_count = attempt_count + 1"),
    ("claimed", "state = 'queued', lease_expires_at = null, claim_token = null"),
    ("claimed", "state = 'queued', lease_expires_at = null, attempt_count = attempt_count + 1"),
    ("claimed", "state = 'succeeded', lease_expires_at = null, completed_at = now(), reason_code = 'X', attempt_count = 0"),
    ("succeeded", "state = 'queued', completed_at = null, reason_code = null"),
    ("succeeded", "state = 'failed_permanent'"),
    ("succeeded", "reason_code = 'Y'"),
    ("failed_permanent", "state = 'succeeded'"),
    ("failed_permanent", "reason_code = 'Y'"),
    (
        "failed_permanent",
        "state = 'claimed', completed_at = null, reason_code = null, lease_expires_at = now(),"
        " claim_token = gen_random_uuid(), attempt_count = attempt_count + 1",
    ),
]


@pytest.mark.parametrize("state, change", ILLEGAL)
def test_work_transitions_refused(shared, state, change):
    key = shared.work(shared.namespace())
    if state != "queued":
        shared.claim(key)
    if state not in ("queued", "claimed"):
        shared.finish(key, state)
    change = f"update occ.controller_work set {change} where idempotency_key = %s"
    shared.refused("check", change, key, by="controller_work_transition")


LEGAL = [
    "lease_expires_at = now() + interval '5 s', updated_at = now()",
    "state = 'queued', lease_expires_at = null, attempt_count = attempt_count - 1, available_at = now()",
    "state = 'queued', lease_expires_at = null, available_at = now() + interval '1 s'",
    "state = 'failed_permanent', lease_expires_at = null, completed_at = now(), reason_code = 'X', result_data = '{}'",
    "state = 'succeeded', lease_expires_at = null, completed_at = now(), reason_code = 'X'",
]


@pytest.mark.parametrize("change", LEGAL)
def test_work_transitions_accepted(shared, change):
    key = shared.work(shared.namespace())
    token = shared.claim(key)
    assert shared.run(f"update occ.controller_work set {change} where idempotency_key = %s", key) == 1
    assert shared.row(key)["claim_token"] == token  # stays until the next claim


def test_exhausted_queued_work_fails(store):
    key = store.work(store.namespace())
    assert store.run(
        "update occ.controller_work set state = 'failed_permanent', completed_at = now(),"
        " reason_code = 'MAX_ATTEMPTS_EXHAUSTED'"
    )
    assert store.row(key)["state"] == "failed_permanent"


def test_only_the_function_requeues_what_failed(store):
    key = store.work(store.namespace())
    store.fail(key)
    store.refused(
        "denied",
        "update occ.controller_work set state = 'queued', completed_at = null, reason_code = null, attempt_count = 0",
    )


@pytest.mark.parametrize(
    "change", ["actor_id", "namespace_id", "namespace_target"], ids=["actor", "owner", "target"]
)
def test_key_admitted_again(shared, change):
    """Re-admitting a key is harmless with the same actor, owner and target, and refused with others."""
    namespace = shared.namespace()
    other = shared.namespace()
    key = shared.work(namespace)
    row = {
        "idempotency_key": key,
        "namespace_id": namespace,
        "actor_id": "actor",
        "namespace_target": "ready",
    }
    sql, *values = insertion("controller_work", row)
    assert shared.run(sql + " on conflict (idempotency_key) do nothing", *values) == 0
    shared.refused("unique", sql, *values)
    row[change] = {"actor_id": "other", "namespace_id": other, "namespace_target": "deleted"}[change]
    sql, *values = insertion("controller_work", row)
    shared.refused("key", sql + " on conflict (idempotency_key) do nothing", *values)


def test_key_admitted_by_two_at_once(store, database):
    """The second waits for the first, and is then compared with it."""
    namespace = store.namespace()
    other = Store(database)
    store.run("begin")
    store.work(namespace)
    said = []
    sql, *values = insertion(
        "controller_work",
        {
            "idempotency_key": f"namespace:{namespace}:reconcile:ready",
            "namespace_id": namespace,
            "actor_id": "other",
            "namespace_target": "ready",
        },
    )
    thread = threading.Thread(
        target=lambda: said.append(other.refused("key", sql + " on conflict (idempotency_key) do nothing", *values))
    )
    thread.start()
    blocked(database, other)
    store.run("commit")
    thread.join(10)
    assert len(said) == 1


def test_work_identity_is_fixed(store, database):
    key = store.work(store.namespace())
    owner = Store(database, "postgres")
    for change in ("namespace_target = 'deleted'", "created_at = now() - interval '1 d'", "idempotency_key = 'x'"):
        owner.refused("check", f"update occ.controller_work set {change}", by="controller_work_fixed")
        store.refused("denied", f"update occ.controller_work set {change}")
    store.refused("denied", "update occ.controller_work set actor_id = 'x'")
    store.refused("denied", "delete from occ.controller_work where idempotency_key = %s", key)


class Listener:
    def __init__(self, database):
        self.connection = database.connect("occ_app")
        self.connection.cursor().execute("listen occ_controller_work")

    def heard(self, wanted):
        """The notifications that have come by the time `wanted` of them, and a mark after them, are there."""
        with self.connection.cursor() as cursor:
            cursor.execute("listen mark")
            cursor.execute("notify mark")
        while not [one for one in self.connection.notifies if one.channel == "mark"]:
            assert select.select([self.connection], [], [], 10)[0], "no mark"
            self.connection.poll()
        found = [one for one in self.connection.notifies if one.channel != "mark"]
        self.connection.notifies.clear()
        assert all(one.channel == "occ_controller_work" and one.payload == "" for one in found)
        assert len(found) == wanted
        return True


def test_notifications(store, database):
    """K28: on insert and on an operator's requeue; never by claim, renewal, deferral or the end."""
    listener = Listener(database)
    namespace = store.namespace("deleting")
    key = store.work(namespace, "deleted")
    assert listener.heard(1)
    sql, *values = insertion(
        "controller_work",
        {"idempotency_key": key, "namespace_id": namespace, "actor_id": "actor", "namespace_target": "deleted"},
    )
    store.run(sql + " on conflict (idempotency_key) do nothing", *values)
    store.claim(key)
    for change in LEGAL[:2]:
        store.run(f"update occ.controller_work set {change}")
    store.fail(key)
    assert listener.heard(0)
    assert store.value("select occ.requeue_deletion(%s, 'actor', false)", key) == "requeued"
    assert listener.heard(1)
    assert store.value("select occ.requeue_deletion(%s, 'actor', false)", key) == "pending"
    assert listener.heard(0)


def test_renewals_are_heap_only(store, database):
    """K33: a renewal touches no index."""
    key = store.work(store.namespace())
    store.claim(key)
    columns = {
        row["attname"]
        for row in database.query(
            "select a.attname from pg_index as i join pg_attribute as a"
            " on a.attrelid = i.indrelid and a.attnum = any (i.indkey)"
            " where i.indrelid = 'occ.controller_work'::regclass"
        )
    }
    predicates = " ".join(
        str(row["p"])
        for row in database.query(
            "select pg_get_expr(indpred, indrelid) as p from pg_index where indrelid = 'occ.controller_work'::regclass"
        )
    )
    for changed in ("lease_expires_at", "updated_at"):
        assert changed not in columns and changed not in predicates
    before = location(store, key)
    store.run("update occ.controller_work set lease_expires_at = now() + interval '9 s', updated_at = now()")
    assert location(store, key)[0] == before[0]


def location(store, key):
    text = store.value("select ctid::text from occ.controller_work where idempotency_key = %s", key)
    return tuple(int(number) for number in text.strip("()").split(","))


def plan(database, sql):
    """The plan on a table which is too large to be read whole."""
    rows = database.query(f"explain {sql}")
    return "\n".join(next(iter(row.values())) for row in rows)


def test_queries_have_their_index(store, database):
    """K21: claims and evidence are found by index, whatever else is in the tables."""
    database.execute("alter table occ.controller_work disable trigger user")
    database.execute(
        "insert into occ.namespaces (id, name, status) select 'ns_' || gen_random_uuid(), n::text, 'ready'"
        " from generate_series(1, 20000) as n"
    )
    database.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target, state,"
        " completed_at, reason_code) select 'namespace:' || id || ':reconcile:ready', id, 'a', 'ready', 'succeeded',"
        " now(), 'RECONCILE_SUCCEEDED' from occ.namespaces"
    )
    database.execute(
        "insert into occ.audit_events (kind, action, outcome, details) select 'mutation', 'reconcile', 'success',"
        " jsonb_build_object('workId', idempotency_key, 'reasonCode', 'X', 'attemptCount', 1) from occ.controller_work"
    )
    database.execute("analyze occ.controller_work")
    database.execute("analyze occ.audit_events")
    assert "controller_work_queued" in plan(
        database,
        "select idempotency_key from occ.controller_work where state = 'queued' and available_at <= statement_timestamp()"
        " order by available_at limit 1",
    )
    assert "controller_work_lane" in plan(
        database,
        "select true from occ.controller_work where state = 'claimed' and coalesce(agent_id, namespace_id) = 'ns_x'",
    )
    latest = " order by occurred_at desc, id desc limit 1"
    assert "audit_events_work" in plan(
        database, "select id from occ.audit_events where details ->> 'workId' = 'x'" + latest
    )
    assert "audit_events_work" in plan(
        database,
        "select w.idempotency_key, e.details from occ.controller_work as w cross join lateral (select details from"
        f" occ.audit_events where details ->> 'workId' = w.idempotency_key {latest}) as e"
        " where w.idempotency_key = 'x'",
    )


# ---- The privileged functions ----


def test_requeue_of_a_failed_namespace_deletion(shared):
    """K96"""
    namespace = shared.namespace()
    key = shared.deletion(namespace)
    requeue = "select occ.requeue_deletion(%s, %s, %s)"
    assert shared.value(requeue, key, "actor", False) == "pending"
    shared.claim(key)
    assert shared.value(requeue, key, "actor", False) == "pending"
    shared.run(
        "update occ.controller_work set state = 'failed_permanent', lease_expires_at = null, completed_at = now(),"
        " reason_code = 'CONVERGENCE_DEADLINE_EXCEEDED', result_data = '{\"timeoutMs\":1}' where idempotency_key = %s",
        key,
    )
    before = shared.row(key)
    assert shared.value(requeue, key, "other", False) == "other_actor"
    assert shared.row(key) == before
    assert shared.value(requeue, key, "other", True) == "requeued"
    after = shared.row(key)
    assert after["available_at"] >= before["completed_at"]
    assert after == {
        **before,
        "state": "queued",
        "attempt_count": 0,
        "actor_id": "other",
        "completed_at": None,
        "reason_code": None,
        "result_data": None,
        "available_at": after["available_at"],
        "updated_at": after["updated_at"],
    }
    token = shared.claim(key)
    assert shared.value("select occ.tombstone_namespace(%s, %s)", key, token)
    shared.finish(key)
    assert shared.value(requeue, key, "other", False) == "succeeded"


def test_requeue_of_other_work(shared):
    requeue = "select occ.requeue_deletion(%s, %s, %s)"
    namespace = shared.namespace("provisioning")
    key = shared.work(namespace)
    shared.fail(key)
    assert shared.value(requeue, key, "actor", False) == "not_deletion"
    assert shared.value(requeue, "no such key", "actor", False) == "missing"
    assert shared.value(requeue, shared.work(namespace, "deleted"), "actor", True) == "not_deleting"
    for actor, takeover in ((None, False), ("a", None)):
        with pytest.raises(psycopg2.errors.NullValueNotAllowed):
            shared.value(requeue, key, actor, takeover)


def test_tombstone_needs_the_live_claim(store, database):
    namespace = store.namespace()
    key = store.deletion(namespace)
    tombstone = "select occ.tombstone_namespace(%s, %s)"
    deleted = "select deleted_at is not null from occ.namespaces where id = %s"
    assert not store.value(tombstone, key, None)
    assert not store.value(tombstone, key, new())
    token = store.claim(key, lease="-1 s")
    assert not store.value(tombstone, key, token)
    store.run("update occ.controller_work set lease_expires_at = now() + interval '5 s'")
    assert not store.value(tombstone, key, new())
    assert not store.value(tombstone, f"namespace:{namespace}:reconcile:ready", token)
    assert not store.value(deleted, namespace)
    assert store.value(tombstone, key, token)
    assert store.value(deleted, namespace)
    assert not store.value(tombstone, key, token)
    store.refused("denied", "update occ.namespaces set deleted_at = now() where id = %s", namespace)


def test_tombstone_and_completion_in_one_statement(shared):
    namespace = shared.namespace()
    key = shared.deletion(namespace)
    statement = (
        "with gone as materialized (select occ.tombstone_namespace(%s, %s) as done) update occ.controller_work"
        " set state = 'succeeded', lease_expires_at = null, completed_at = statement_timestamp(),"
        " reason_code = 'RECONCILE_SUCCEEDED' where idempotency_key = %s and claim_token = %s and state = 'claimed'"
        " and lease_expires_at > statement_timestamp() and (select done from gone)"
    )
    token = shared.claim(key)
    wrong = new()
    assert shared.run(statement, key, wrong, key, wrong) == 0
    assert shared.run(statement, key, token, key, token) == 1
    assert shared.value("select deleted_at is not null from occ.namespaces where id = %s", namespace)


def test_tombstone_takes_bindings_and_roles_along(store, subjects):
    namespace, other = subjects, store.namespace()
    store.insert("iam_access_bindings", id="a", role_id="local", identity_subject_id="person", namespace_id=namespace)
    store.insert("iam_access_bindings", id="b", role_id="role", identity_subject_id="person", namespace_id=namespace)
    store.insert("iam_access_bindings", id="c", role_id="role", identity_subject_id="person", namespace_id=other)
    store.insert("iam_access_bindings", id="d", role_id="role", identity_subject_id="person")
    store.insert(
        "iam_restrictions", id="x", action="read", resource_kind="namespace", resource_id=namespace
    )
    key = store.deletion(namespace)
    assert store.value("select occ.tombstone_namespace(%s, %s)", key, store.claim(key))
    assert store.run("select id from occ.iam_access_bindings order by id") == [("c",), ("d",)]
    assert store.run("select id from occ.iam_roles") == [("role",)]
    assert store.value("select count(*) from occ.iam_restrictions") == 1


def test_agent_is_removed_under_its_live_claim(store, subjects):
    namespace = subjects
    agent, neighbour = store.agent(namespace), store.agent(namespace)
    principal = store.value("select service_principal_id from occ.agents where id = %s", agent)
    revision = store.revision(namespace, agent)
    store.run(
        "update occ.agents set active_revision_id = %s, desired_runtime_state = 'running' where id = %s", revision, agent
    )
    done = f"agent_revision:{revision}:reconcile"
    store.insert(
        "controller_work",
        idempotency_key=done,
        namespace_id=namespace,
        actor_id="actor",
        agent_id=agent,
        revision_id=revision,
    )
    store.claim(done)
    store.finish(done, reason="REVISION_ACTIVATED")
    store.insert("iam_access_bindings", id="a", role_id="role", identity_subject_id=principal)
    store.insert(
        "iam_access_bindings",
        id="b",
        role_id="role",
        identity_subject_id="person",
        resource_kind="agent",
        resource_id=agent,
    )
    store.insert(
        "iam_access_bindings",
        id="c",
        role_id="role",
        identity_subject_id="person",
        resource_kind="agent",
        resource_id=neighbour,
    )
    store.insert("iam_restrictions", id="x", action="deploy", resource_kind="agent", resource_id=agent)
    store.insert(
        "apikey", id="k", name="k", key_hash="a" * 64, service_principal_id=principal, expires_at="2999-01-01"
    )
    key = store.agent_deletion(namespace, agent)
    remove = "select occ.delete_agent(%s, %s, %s)"
    assert not store.value(remove, key, new(), "{}")
    token = store.claim(key, lease="-1 s")
    assert not store.value(remove, key, token, "{}")
    assert store.value("select count(*) from occ.agents") == 2
    store.run("update occ.controller_work set lease_expires_at = now() + interval '5 s' where state = 'claimed'")
    assert store.value(remove, key, token, '{"driver":"native-iam"}')

    assert store.run("select id from occ.agents") == [(neighbour,)]
    assert store.value("select count(*) from occ.agent_revisions") == 0
    assert store.value("select count(*) from occ.controller_work") == 0
    assert store.value("select count(*) from occ.apikey") == 0
    assert store.value("select count(*) from occ.iam_restrictions") == 0
    assert store.value("select count(*) from occ.iam_identities where id = %s", principal) == 0
    assert store.run("select id from occ.iam_access_bindings") == [("c",)]
    events = store.run("select action, actor_id, resource_id, outcome, details from occ.audit_events order by occurred_at")
    assert events == [
        ("reconcile", "actor", agent, "success", {"workId": key, "reasonCode": "AGENT_DELETED", "attemptCount": 1}),
        ("openclaw.agents.lifecycle.delete", "actor", agent, "success", {"driver": "native-iam"}),
    ]
    assert not store.value(remove, key, token, "{}")


def test_privileged_functions_are_pinned(database):
    """They run as the owner, so nothing that a caller sets may change what they call."""
    rows = database.query(
        "select proname, proconfig, prosecdef, proacl::text as acl from pg_proc where pronamespace = 'occ'::regnamespace"
    )
    assert {row["proname"] for row in rows if row["prosecdef"]} == {
        "requeue_deletion",
        "hold_claim",
        "tombstone_namespace",
        "delete_agent",
        "forget_resource",
    }
    for row in rows:
        if row["prosecdef"]:
            assert row["proconfig"] == ["search_path=pg_catalog, pg_temp"], row["proname"]
        # An entry without a name before "=" would be PUBLIC.
        assert row["acl"] is not None and "{=" not in row["acl"] and ",=" not in row["acl"], row["proname"]


# ---- Sign-in ----


def test_users_and_keys(store):
    for bad in ("", "nobody", "a@", "@b", "a b@c", "a@b@c"):
        store.refused("check", 'insert into occ."user" (id, email, name) values (%s, %s, %s)', "u", bad, "n", by="user_email")
    store.run('insert into occ."user" (id, email, name) values (%s, %s, %s)', "u", "a@example.test", "n")
    store.refused(
        "unique", 'insert into occ."user" (id, email, name) values (%s, %s, %s)', "v", "A@example.test", "n"
    )
    for bad in ("secret", "$2b$10$abcdefghijklmnopqrstuvwxyz0123456789", None):
        by = "account_credential" if bad is None else "account_password_hash"
        store.refused_row("check", by, "account", id="a", user_id="u", password_hash=bad)
    good = "$argon2id$v=19$m=65536,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo"
    store.insert("account", id="a", user_id="u", password_hash=good)

    store.insert("iam_identities", id="person", kind="principal", issuer="i", subject="s")
    store.insert("iam_identities", id="robot", kind="service_principal")
    key = {"id": "k", "name": "k", "key_hash": "0" * 64, "service_principal_id": "robot", "expires_at": "2999-01-01"}
    store.refused_row("check", "apikey_key_hash", "apikey", **{**key, "key_hash": "plain"})
    store.refused_row("check", "apikey_lifetime", "apikey", **{**key, "expires_at": "2000-01-01"})
    store.refused_row("foreign", "apikey_service_principal_fkey", "apikey", **{**key, "service_principal_id": "person"})
    store.insert("apikey", **key)
    store.refused("check", "update occ.apikey set expires_at = expires_at + interval '1 d'", by="apikey_fixed")
    assert store.run("update occ.apikey set revoked_at = now()") == 1
    store.refused("check", "update occ.apikey set revoked_at = null", by="apikey_fixed")


# ---- Rights ----

TABLES = {
    "schema_migrations",
    "installation",
    "namespaces",
    "configurations",
    "secrets",
    "service_accounts",
    "agents",
    "agent_revisions",
    "iam_identities",
    "iam_groups",
    "iam_group_memberships",
    "iam_roles",
    "iam_access_bindings",
    "iam_restrictions",
    "audit_events",
    "controller_work",
    "user",
    "account",
    "apikey",
}


def tables_with(database, role, right):
    rows = database.query(
        "select relname from pg_class where relnamespace = 'occ'::regnamespace and relkind = 'r'"
        " and has_table_privilege(%s, oid, %s)",
        role,
        right,
    )
    return {row["relname"] for row in rows}


def columns_with(database, role, table, right):
    rows = database.query(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 and not attisdropped"
        " and has_column_privilege(%s, attrelid, attnum, %s)",
        f'occ."{table}"',
        role,
        right,
    )
    return {row["attname"] for row in rows}


def test_rights_of_occ_app(database):
    assert tables_with(database, "occ_app", "SELECT") == TABLES
    assert tables_with(database, "occ_app", "INSERT") == TABLES - {"schema_migrations"}
    assert tables_with(database, "occ_app", "DELETE") == {
        "configurations",
        "secrets",
        "service_accounts",
        "iam_identities",
        "iam_groups",
        "iam_group_memberships",
        "iam_roles",
        "iam_access_bindings",
        "iam_restrictions",
    }
    for right in ("UPDATE", "TRUNCATE", "REFERENCES", "TRIGGER"):
        assert tables_with(database, "occ_app", right) == set()
    updates = {table: columns_with(database, "occ_app", table, "UPDATE") for table in TABLES}
    assert updates["controller_work"] == {
        "state",
        "available_at",
        "attempt_count",
        "claim_token",
        "lease_expires_at",
        "completed_at",
        "reason_code",
        "result_data",
        "updated_at",
    }
    assert updates["namespaces"] == {"status"}
    for table in ("audit_events", "agent_revisions", "schema_migrations", "installation", "iam_identities"):
        assert updates[table] == set(), table


def test_rights_of_occ_metrics(database):
    whole = {"schema_migrations", "installation", "namespaces", "controller_work"}
    assert tables_with(database, "occ_metrics", "SELECT") == whole
    for right in ("INSERT", "UPDATE", "DELETE", "TRUNCATE"):
        assert tables_with(database, "occ_metrics", right) == set()
    for table in TABLES:
        assert columns_with(database, "occ_metrics", table, "UPDATE") == set()
        if table not in whole | {"agents", "agent_revisions"}:
            assert columns_with(database, "occ_metrics", table, "SELECT") == set(), table
    assert "admitted_spec" not in columns_with(database, "occ_metrics", "agent_revisions", "SELECT")
    assert "harness_auth" not in columns_with(database, "occ_metrics", "agents", "SELECT")
    metrics = Store(database, "occ_metrics")
    assert metrics.value("select count(*) from occ.controller_work") == 0
    with pytest.raises(psycopg2.errors.ReadOnlySqlTransaction):
        metrics.run("create table public.t ()")


@pytest.mark.parametrize("role", ["occ_app", "occ_metrics"])
def test_no_ddl(database, role):
    store = Store(database, role)
    store.run("set default_transaction_read_only = off")
    for statement in (
        "create table occ.t ()",
        "create table public.t ()",
        "create temporary table t ()",
        "create schema s",
        "alter table occ.controller_work disable trigger all",
        "drop table occ.audit_events",
        "alter table occ.namespaces add column x int",
        "create function occ.f() returns int language sql as 'select 1'",
        "set role occ_migrator",
        "set session_replication_role = replica",
    ):
        store.refused("denied", statement)


def test_roles_have_no_powers(database):
    rows = database.query(
        "select rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolcanlogin from pg_roles"
        " where rolname in ('occ_migrator', 'occ_app', 'occ_metrics')"
    )
    assert len(rows) == 3
    for row in rows:
        assert row["rolcanlogin"]
        assert not any(value for name, value in row.items() if name not in ("rolname", "rolcanlogin"))
    assert database.one(
        "select count(*) from pg_auth_members where member in (select oid from pg_roles where rolname like 'occ_%')"
    ) == 0


def test_everything_is_owned_by_the_migrator(database):
    rows = database.query(
        "select relname as name, relowner::regrole::text as owner from pg_class where relnamespace = 'occ'::regnamespace"
        " union all select proname, proowner::regrole::text from pg_proc where pronamespace = 'occ'::regnamespace"
        " union all select nspname, nspowner::regrole::text from pg_namespace where nspname = 'occ'"
    )
    assert rows and {row["owner"] for row in rows} == {"occ_migrator"}


def test_roles_file_can_be_repeated(own_cluster):
    """And puts back what somebody changed."""
    own_cluster.create_roles()
    with own_cluster.connect() as connection, connection.cursor() as cursor:
        cursor.execute("alter role occ_app superuser createdb")
        connection.commit()
        own_cluster.create_roles()
        cursor.execute("select rolsuper or rolcreatedb from pg_roles where rolname = 'occ_app'")
        assert cursor.fetchone() == (False,)
    connection.close()
