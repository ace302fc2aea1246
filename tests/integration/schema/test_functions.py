# SPDX-License-Identifier: MIT
"""The privileged functions."""

import psycopg2
import psycopg2.errors
import pytest

from support.rows import new

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
