# SPDX-License-Identifier: MIT
"""Work of Agents and revisions whose Compute Driver runs none, and of Agents that are not where they should be."""

import pytest
from support.agents import Agents
from support.waiting import poll

RECONCILE = "reconcile"


def test_stop_of_an_agent_that_does_not_run(work, reconciler):
    agents = Agents(work)
    agents.revision()
    key = agents.admit("stopped")
    report = reconciler("ready").report()
    assert (report["outcome"], report["code"]) == ("success", "AGENT_ALREADY_STOPPED")
    assert work.events(key) == [(RECONCILE, "success", "AGENT_ALREADY_STOPPED")]


@pytest.mark.parametrize(
    "compute, code", [("compute-kubernetes", "COMPUTE_DRIVER_MISMATCH"), ("compute-docker-development", "HARNESS_UNSUPPORTED")]
)
def test_stop_of_an_agent_that_runs_elsewhere(work, reconciler, compute, code):
    agents = Agents(work, compute)
    agents.revision(active=True)
    agents.admit("stopped")
    pass_ = reconciler("ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", code) and not pass_.all("effect")


def test_stop_that_a_deployment_superseded(work, reconciler):
    agents = Agents(work)
    agents.set(desired_runtime_state="running")
    agents.admit("stopped")
    assert reconciler("ready").report()["code"] == "STOP_SUPERSEDED"


def test_deletion_of_an_agent(work, reconciler):
    agents = Agents(work)
    agents.set(status="deleting")
    key = agents.admit("deleted")
    report = reconciler("ready").report()
    assert (report["outcome"], report["code"]) == ("success", "AGENT_DELETED")
    assert work.row(key) is None and work.db.one("select count(*) from occ.agents") == 0
    assert (RECONCILE, "success", "AGENT_DELETED") in work.events(key)


def test_deletion_of_an_agent_whose_answer_is_lost(work, reconciler, through, database):
    """The row goes with the Agent: that it is gone is the answer."""
    path, url = through
    agents = Agents(work)
    agents.set(status="deleting")
    key = agents.admit("deleted")
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:  # holds the outcome back until the path is about to be cut
        cursor.execute("select from occ.agents for update")
        pass_ = reconciler("ready", url=url)
        poll(lambda: database.one("select count(*) from pg_locks where not granted") > 0, what="the outcome")
        path.cut_after(0)
    other.commit()
    assert pass_.report(key=key)["code"] == "AGENT_DELETED"
    assert work.row(key) is None


def test_deletion_of_an_agent_with_a_revision_elsewhere(work, reconciler):
    agents = Agents(work, "compute-kubernetes")
    agents.revision()
    agents.set(status="deleting")
    key = agents.admit("deleted")
    assert reconciler("ready").report()["code"] == "COMPUTE_DRIVER_MISMATCH"
    assert work.row(key)["state"] == "failed_permanent" and work.db.one("select count(*) from occ.agents") == 1


@pytest.mark.parametrize(
    "compute, harness, mode, auth, code",
    [
        ("compute-docker-development", "openclaw", "dedicated", None, "HARNESS_UNSUPPORTED"),
        ("compute-docker-development", "codex", "embedded", None, "HARNESS_UNSUPPORTED"),
        ("compute-kubernetes", "codex", "dedicated", None, "COMPUTE_DRIVER_MISMATCH"),
        ("compute-docker-development", "openclaw", "embedded", None, "HARNESS_AUTH_REQUIRED"),
        ("compute-docker-development", "openclaw", "embedded", "account", "HARNESS_AUTH_UNSUPPORTED"),
    ],
)
def test_revisions_end_without_compute(work, reconciler, compute, harness, mode, auth, code):
    """K112"""
    agents = Agents(work, compute)
    agents.set(desired_runtime_state="running")
    if auth:
        auth = {"method": "chatgpt_service_account", "serviceAccountId": work.id("sa")}
    key = agents.admit(revision=agents.revision(1, harness, mode, auth))
    pass_ = reconciler("ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", code) and not pass_.all("effect")
    assert work.row(key)["reason_code"] == code


def test_an_older_revision(work, reconciler):
    agents = Agents(work)
    agents.set(desired_runtime_state="running")
    old = agents.revision(1)
    agents.revision(2, active=True)
    agents.admit(revision=old)
    assert reconciler("ready").report()["code"] == "REVISION_SUPERSEDED"


@pytest.mark.parametrize("target", ["stopped", "deleted"])
@pytest.mark.parametrize(
    "statement",
    ["update occ.agents set namespace_id = %(elsewhere)s where id = %(agent)s", "delete from occ.agents where id = %(agent)s"],
)
def test_an_agent_that_is_not_the_namespaces(work, reconciler, target, statement):
    """Which the database would not let happen; nothing is called, and nothing of it is removed."""
    agents = Agents(work)
    agents.revision(1, active=True)
    if target == "deleted":
        agents.set(status="deleting")
    key = agents.admit(target)
    agents.force(statement, elsewhere=work.namespace("ready"), agent=agents.agent)
    pass_ = reconciler("--agents", "--binds", "ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", "INVALID_AGENT_OWNER")
    assert not pass_.all("effect") and work.row(key)["reason_code"] == "INVALID_AGENT_OWNER"
    assert work.db.one("select count(*) from occ.agent_revisions") == 1
