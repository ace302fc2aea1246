# SPDX-License-Identifier: MIT
"""An installed IAM Driver decides on Agents: on their admissions, and before each step of their passes."""

import collections

import pytest
from support.desk import Desk
from support.standing import start

DRIVERS = ("compute", "configuration", "secret", "iam")
NATIVE = ("driver", "reference", "verdict")


@pytest.fixture
def desk(scripted, worker, bootstrapped, folder, occctl):
    running = start(worker, scripted, bootstrapped, folder / "ready", "--reconcilers=2", drivers=DRIVERS)
    made = Desk(occctl, bootstrapped, folder, scripted.env)
    made.worker, made.scripted = running, scripted
    return made


def decisions(at, action):
    """Who decided, of the events of one action, oldest first: (Driver, permission, its reference)."""
    rows = at.database.query("select details -> 'decision' as decision from occ.audit_events"
                             " where action = %s and resource_id = %s order by occurred_at, id", action, at.id)  # fmt: skip
    return [(row["decision"]["driver"], row["decision"]["permission"], row["decision"]["reference"]) for row in rows]


def asked_by(at, pids):
    """What these processes asked, counted by permission."""
    entries = at.scripted.journal("iam.decide", "begin")
    return collections.Counter(entry["subject"] for entry in entries if entry["pid"] in pids)


def test_an_agent_lives_by_its_word_alone(desk, scripted):
    """Nobody has a role or a binding: neither who asks nor the Agent's own principal. K99: the evidence names who decided."""
    env, identity = desk.operator("nobody", "agent_revision:read")
    desk.database.execute("delete from occ.iam_access_bindings where identity_subject_id in"
                          " (%s, (select service_principal_id from occ.agents where id = %s))", identity, desk.id)  # fmt: skip
    scripted.on("iam.decide", "allow ticket-1 forever", subject="agent:deploy")
    reconcilers = {child.pid for child in desk.worker.children("reconciler")}
    before = asked_by(desk, reconcilers)
    shown = desk.run("agent", "deploy", desk.id, "--wait", env=env)
    assert shown["state"] == "running"
    assert decisions(desk, "openclaw.agents.deploy") == [("iam-scripted", "agent:deploy", "ticket-1")]
    work = desk.database.work(shown["work"]["id"])
    assert work["actor_id"] == identity
    (event,) = desk.database.query(
        "select * from occ.audit_events where action = 'openclaw.agents.lifecycle.activate' and resource_id = %s",
        shown["activeRevision"]["id"],
    )
    assert {name: event["details"]["decision"].get(name) for name in NATIVE} == {
        "driver": "iam-scripted", "reference": "ticket-1", "verdict": "allowed",
    }  # fmt: skip
    # Binding the Agent, its credentials, the preparation, the publication and the route each had their own questions; the
    # Secret, for the Harness and as KEY, is asked about for the actor and for the Agent.
    asked = asked_by(desk, reconcilers) - before
    assert asked == {"agent:deploy": 5, "configuration:read": 5, "secret:operate": 20}
    principal = desk.database.one("select service_principal_id from occ.agents where id = %s", desk.id)
    questions = scripted.journal("iam.decide", "asked", subject="secret:operate", agentId=desk.secret)
    assert {entry["actorId"] for entry in questions if entry["pid"] in reconcilers} == {identity, principal}
    assert desk.run("agent", "stop", desk.id, "--wait", env=env)["state"] == "stopped"
    assert desk.run("agent", "delete", desk.id, "--wait", env=env)["state"] == "deleted"


def test_its_refusal_ends_a_deployment_and_stops_the_candidate(desk, scripted):
    scripted.on("prepare_revision", "effect + pending REVISION_INCOMPLETE 100 forever", subject="support/1")
    deploying = desk.follow("agent", "deploy", desk.id)
    deploying.wait_said("REVISION_INCOMPLETE")
    scripted.on("iam.decide", "deny policy-9 forever", subject="secret:operate")
    result = deploying.result()
    assert result.status == 5 and "failed with AUTHORIZATION_DENIED" in result.err
    assert scripted.revisions(desk.id) == {1: "stopped"} and not scripted.changes("activate_revision")
    told = desk.status()
    assert told["error"].startswith("AUTHORIZATION_DENIED: Who asked for it, or the Agent itself")
    (event,) = desk.database.query("select * from occ.audit_events where kind = 'authorization_denial'")
    decision = event["details"]["decision"]
    assert (decision["driver"], decision["reference"], decision["permission"]) == ("iam-scripted", "policy-9", "secret:operate")


def test_one_that_does_not_answer_delays_a_deployment(desk, scripted):
    """And allows nothing meanwhile; neither does it end what is prepared."""
    scripted.on("prepare_revision", "gate there + ready", subject="support/1")
    deploying = desk.follow("agent", "deploy", desk.id)
    scripted.wait_at("there")
    rule = scripted.on("iam.decide", "retryable IAM_BUSY forever", subject="agent:deploy")
    scripted.open("there")
    deploying.wait_said("IAM_BUSY")
    assert not scripted.changes("activate_revision")
    scripted.off(rule)
    assert deploying.result().ok().json["state"] == "running"
    assert not scripted.calls(operation="stop_revision")


def test_an_admission_that_it_refuses_leaves_nothing(desk, scripted):
    scripted.on("iam.decide", "deny forever", subject="secret:operate")
    refusal = desk.ask("agent", "deploy", desk.id)
    assert refusal.status == 1 and "iam-scripted" in refusal.err and "AUTHORIZATION_DENIED" in refusal.err
    assert desk.run("agent", "revisions", desk.id) == []
