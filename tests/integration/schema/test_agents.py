# SPDX-License-Identifier: MIT
"""Agents, their revisions, and the audit trail."""

import json

import psycopg2
import pytest

from support.rows import CODE, Store, admitted_spec, new, reference

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
    store.run("update occ.agents set desired_runtime_state = 'running'")
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
