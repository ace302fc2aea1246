# SPDX-License-Identifier: MIT
"""Identifiers, names, and what a Namespace owns."""

import json
import threading
import uuid

import psycopg2
import pytest

from support.rows import CODE, Store, blocked, insertion, new, reference

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


def test_configurations(shared):
    namespace = shared.namespace()
    row = {"id": new("cfg_"), "namespace_id": namespace}
    shared.refused_row("check", "configurations_kind", "configurations", kind="other", **row)
    shared.refused_row("check", "configurations_generation", "configurations", generation=0, **row)
    for bad in ("", "a" * 64, "1:" + "A" * 64, "0:" + "a" * 64, "1:" + "a" * 63, "x:" + "a" * 64):
        shared.refused_row(
            "check", "configurations_document_digest", "configurations", document_digest=bad, **row
        )
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
