# SPDX-License-Identifier: MIT
"""Deletions of Agents: all that Compute has of one goes first, and then the Agent."""

import pytest
from support.agents import Agents

RECONCILE = "reconcile"
DELETE = "openclaw.agents.lifecycle.delete"


@pytest.fixture
def agents(work):
    return Agents(work)


def effects(pass_):
    return [(effect["what"], effect.get("number"), effect["observe"]) for effect in pass_.all("effect")]


def done(*what):
    return [(operation, number, False) for operation, number in what]


def delete(agents, **more):
    agents.set(desired_runtime_state="stopped", status="deleting")
    return agents.admit("deleted", **more)


def gone(work):
    tables = ("agents", "agent_revisions", "controller_work")
    return all(work.db.one(f"select count(*) from occ.{table}") == 0 for table in tables)


def test_every_revision_and_the_credentials_go_before_the_agent(work, reconciler, agents):
    agents.revision(1)
    agents.revision(2, active=True)
    agents.revision(3)
    key = delete(agents)
    pass_ = reconciler("--agents", "--binds", "ready")
    report = pass_.report()
    assert (report["outcome"], report["code"]) == ("success", "AGENT_DELETED")
    assert effects(pass_) == done(
        ("deactivate", 2), ("stop", 2), ("retire", 2), ("stop", 3), ("retire", 3), ("stop", 1), ("retire", 1),
        ("delete-credentials", None),
    )  # fmt: skip
    assert pass_.all("effect")[-1]["principal"] == agents.principal
    assert gone(work) and work.events(key) == [(RECONCILE, "success", "AGENT_DELETED")]
    event = work.db.query("select * from occ.audit_events where action = %s", DELETE)[0]
    assert event["resource_id"] == agents.agent and event["details"]["decision"]["permission"] == "agent:delete"


def test_an_agent_without_revisions(work, reconciler, agents):
    delete(agents)
    pass_ = reconciler("--agents", "--binds", "ready")
    assert pass_.report()["code"] == "AGENT_DELETED" and effects(pass_) == done(("delete-credentials", None))


def test_a_compute_without_credentials(work, reconciler, agents):
    agents.revision(1)
    delete(agents)
    pass_ = reconciler("--agents", "ready")
    assert pass_.report()["code"] == "AGENT_DELETED" and effects(pass_) == done(("stop", 1), ("retire", 1))


def test_a_compute_that_runs_no_agents_has_nothing(work, reconciler, agents):
    agents.revision(1)
    delete(agents)
    pass_ = reconciler("ready")
    assert pass_.report()["code"] == "AGENT_DELETED" and not effects(pass_) and gone(work)


@pytest.mark.parametrize("operation", ["deactivate", "stop", "retire", "delete-credentials"])
@pytest.mark.parametrize(
    "step, outcome", [("pending=X_GOING", "pending"), ("retry=X_FAILED", "retry"), ("permanent=X_BAD", "permanent")]
)
def test_a_cleanup_that_fails_leaves_everything(work, reconciler, agents, operation, step, outcome):
    """K96: and can be repeated."""
    active = agents.revision(1, active=True)
    key = delete(agents)
    pass_ = reconciler("--passes", 1, "--agents", "--binds", f"{operation}:{step}")
    report = pass_.report()
    assert (report["outcome"], report["code"]) == (outcome, step.partition("=")[2])
    assert effects(pass_)[-1][0] == operation
    assert agents.active() == active and work.row(key)["state"] == (
        "failed_permanent" if outcome == "permanent" else "queued"
    )
    if outcome == "permanent":
        assert work.db.one("select occ.requeue_deletion(%s, %s, false)", key, work.actor) == "requeued"
    work.due(key)
    assert reconciler("--agents", "--binds", "ready").report()["code"] == "AGENT_DELETED"
    assert gone(work)


def test_credentials_that_cannot_be_deleted(work, reconciler, agents):
    """What runs is gone by then; the Agent stays for a repetition by a better Driver."""
    agents.revision(1)
    key = delete(agents)
    pass_ = reconciler("--agents", "--keeps", "ready")
    report = pass_.report()
    assert (report["outcome"], report["code"]) == ("permanent", "CREDENTIAL_DELETION_UNSUPPORTED")
    assert effects(pass_) == done(("stop", 1), ("retire", 1))
    assert work.row(key)["state"] == "failed_permanent" and not gone(work)


def test_any_revision_elsewhere_ends_it(work, reconciler, agents):
    agents.compute, here = {"id": "compute-kubernetes", "implementation": "kubernetes"}, agents.compute
    agents.revision(1)
    agents.compute = here
    agents.revision(2, active=True)
    key = delete(agents)
    pass_ = reconciler("--agents", "ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", "COMPUTE_DRIVER_MISMATCH")
    assert not effects(pass_) and work.row(key)["state"] == "failed_permanent"


@pytest.mark.parametrize("why", ["denied", "gone", "restricted"])
def test_rights_are_asked_before_each_effect(work, reconciler, agents, why):
    agents.revision(1)
    key = delete(agents)
    pass_ = reconciler("--agents", "stop:gate", "ready")
    pass_.wait("effect")
    if why == "restricted":
        work.restrict("delete", "agent", resource=agents.agent)
    else:
        work.db.execute("delete from occ.iam_access_bindings")
    if why == "gone":
        work.db.execute("delete from occ.iam_identities where agent_id is null")
    pass_.order("open")
    code = "ACTOR_REVOKED" if why == "gone" else "AUTHORIZATION_DENIED"
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", code)
    assert effects(pass_) == done(("stop", 1)) and work.row(key)["state"] == "failed_permanent"


def test_a_late_deletion_observes_first(work, reconciler, agents):
    """K97: all gone already is success, whatever the deadline says."""
    agents.revision(1)
    agents.revision(2)
    delete(agents, age="1 h")
    pass_ = reconciler("--agents", "--binds", "ready")
    assert pass_.report()["code"] == "AGENT_DELETED" and gone(work)
    assert effects(pass_) == [("retire", 2, True), ("retire", 1, True), ("delete-credentials", None, True)]


@pytest.mark.parametrize("left", ["retire", "delete-credentials"])
def test_a_late_deletion_is_tried_once_more(work, reconciler, agents, left):
    """K97"""
    agents.revision(1)
    delete(agents, age="1 h")
    pass_ = reconciler("--agents", "--binds", f"{left}:pending=X_THERE", f"{left}:ready")
    assert pass_.report()["code"] == "AGENT_DELETED" and gone(work)
    observed = [("retire", 1, True), ("delete-credentials", None, True)][: 1 if left == "retire" else 2]
    assert effects(pass_) == observed + done(("stop", 1), ("retire", 1), ("delete-credentials", None))


def test_a_late_deletion_that_is_not_done_has_missed_its_deadline(work, reconciler, agents):
    agents.revision(1)
    key = delete(agents, age="1 h")
    pass_ = reconciler("--agents", "retire:pending=X_THERE")
    assert pass_.report()["code"] == "CONVERGENCE_DEADLINE_EXCEEDED"
    assert work.row(key)["result_data"] == {"timeoutMs": 900000} and not gone(work)
