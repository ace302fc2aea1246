# SPDX-License-Identifier: MIT
"""Stops of Agents: what Compute is asked, in which order, and what the database forgets."""

import pytest
from support.agents import Agents
from support.waiting import poll

RECONCILE = "reconcile"
STOP = "openclaw.agents.lifecycle.stop"


@pytest.fixture
def agents(work):
    return Agents(work)


def effects(pass_, *what):
    """[(operation, revision number)]"""
    return [(effect["what"], effect["number"]) for effect in pass_.all("effect") if not what or effect["what"] in what]


def completed(agents, number, **more):
    """A revision whose deployment was completed."""
    revision = agents.revision(number, **more)
    agents.activate(revision)
    ended(agents, revision, "REVISION_ACTIVATED")
    return revision


def ended(agents, revision, code, state="succeeded"):
    """The revision's own work has ended so."""
    key = agents.admit(revision=revision)
    agents.work.db.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
        " lease_expires_at = now() + interval '1 min' where idempotency_key = %s",
        key,
    )
    agents.work.db.execute(
        "update occ.controller_work set state = %s, lease_expires_at = null, completed_at = now(), reason_code = %s"
        " where idempotency_key = %s",
        state, code, key,
    )  # fmt: skip


def again(work, pass_, key, number):
    pass_.rest(number - 1)
    work.due(key)
    pass_.order("go")
    return pass_.report(number)


def test_the_active_revision_is_stopped(work, reconciler, agents):
    revision = completed(agents, 1)
    key = agents.admit("stopped")
    pass_ = reconciler("--agents", "ready")
    report = pass_.report()
    assert (report["outcome"], report["code"]) == ("success", "AGENT_STOPPED")
    (effect,) = pass_.all("effect")
    assert (effect["what"], effect["revision"], effect["agent"]) == ("stop", revision, agents.agent)
    assert (effect["namespace"], effect["document"], effect["observe"]) == (agents.namespace, "{}", False)
    assert agents.active() is None
    assert (work.row(key)["state"], work.row(key)["reason_code"]) == ("succeeded", "AGENT_STOPPED")
    assert sorted(work.events(key)) == [(STOP, "success", "AGENT_STOPPED"), (RECONCILE, "success", "AGENT_STOPPED")]
    event = work.latest(key, STOP)
    assert (event["resource_kind"], event["resource_id"], event["actor_id"]) == ("agent", agents.agent, work.actor)
    details = event["details"]
    assert (details["revisionId"], details["stopped"], details["decision"]["permission"]) == (revision, 1, "agent:operate")
    assert details["decision"]["bindingId"] == work.binding


def test_the_active_one_first_and_then_what_else_may_run_newest_first(work, reconciler, agents):
    """2 was completed, so 1 is long retired; 3 became active, and 4 and 5 are candidates; 6 came after the stop."""
    agents.revision(1)
    completed(agents, 2)
    agents.activate(agents.revision(3))
    ended(agents, agents.revision(4), "WORKER_CRASHED", "failed_permanent")
    agents.revision(5)
    key = agents.admit("stopped")
    agents.revision(6)
    pass_ = reconciler("--agents", "ready")
    assert pass_.report()["code"] == "AGENT_STOPPED"
    assert effects(pass_) == [("stop", 3), ("stop", 5), ("stop", 4), ("stop", 2)]
    assert agents.active() is None and len(work.row(key)["result_data"]["stopped"]) == 4


def test_a_candidate_that_never_became_active_is_stopped(work, reconciler, agents):
    agents.revision(1)
    key = agents.admit("stopped")
    pass_ = reconciler("--agents", "ready")
    assert pass_.report()["code"] == "AGENT_STOPPED" and effects(pass_) == [("stop", 1)]
    assert "revisionId" not in work.latest(key, STOP)["details"]


def test_what_is_stopped_is_not_stopped_again(work, reconciler, agents):
    completed(agents, 1)
    ended(agents, agents.revision(2), "REVISION_STOPPED")
    agents.admit("stopped")
    key = agents.admit("stopped", due="1 s")
    pass_ = reconciler("--agents", "ready")
    assert pass_.report(1)["code"] == "AGENT_STOPPED" and effects(pass_) == [("stop", 1)]
    assert again(work, pass_, key, 2)["code"] == "AGENT_ALREADY_STOPPED"
    assert effects(pass_) == [("stop", 1)]
    assert work.events(key) == [(RECONCILE, "success", "AGENT_ALREADY_STOPPED")]


def test_an_active_revision_is_stopped_whatever_was_stopped_before(work, reconciler, agents):
    """Repeating is harmless: it was made active by hand, or its stop is not to be believed."""
    revision = completed(agents, 1)
    agents.admit("stopped")
    key = agents.admit("stopped", due="1 s")
    pass_ = reconciler("--agents", "ready")
    pass_.report(1)
    agents.activate(revision)
    assert again(work, pass_, key, 2)["code"] == "AGENT_STOPPED" and len(effects(pass_)) == 2


@pytest.mark.parametrize(
    "step, outcome", [("pending=X_STOPPING", "pending"), ("retry=X_FAILED", "retry"), ("permanent=X_BAD", "permanent")]
)
def test_a_stop_that_is_not_done_publishes_nothing(work, reconciler, agents, step, outcome):
    first = completed(agents, 1)
    agents.revision(2)
    key = agents.admit("stopped")
    pass_ = reconciler("--passes", 1, "--agents", "stop:ready", "stop:" + step)
    assert pass_.report()["outcome"] == outcome
    assert agents.active() == first and work.latest(key, STOP) is None
    if outcome == "permanent":
        assert work.row(key)["state"] == "failed_permanent"
        return
    work.due(key)
    repeated = reconciler("--agents", "ready")
    assert repeated.report()["code"] == "AGENT_STOPPED"
    assert effects(pass_) == effects(repeated) == [("stop", 1), ("stop", 2)]
    assert agents.active() is None and len([event for event in work.events(key) if event[0] == STOP]) == 1


@pytest.mark.parametrize("step", ["foreign", "mute", "stranger"])
def test_an_observation_of_another_is_worth_nothing(work, reconciler, agents, step):
    first = completed(agents, 1)
    agents.admit("stopped")
    assert reconciler("--agents", step).report()["code"] == "INVALID_DRIVER_OBSERVATION"
    assert agents.active() == first


# ---- looked at again before each effect


CHANGES = {
    "running": ("update occ.agents set desired_runtime_state = 'running'", "STOP_SUPERSEDED", "success"),
    "deleting": ("update occ.agents set status = 'deleting'", "SUPERSEDED_TARGET", "success"),
    "denied": ("delete from occ.iam_access_bindings", "AUTHORIZATION_DENIED", "permanent"),
    "gone": ("delete from occ.iam_identities where agent_id is null", "ACTOR_REVOKED", "permanent"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_before_it_began(work, reconciler, agents, change):
    sql, code, outcome = CHANGES[change]
    first = completed(agents, 1)
    agents.set(desired_runtime_state="stopped")
    key = agents.admit("stopped")
    if change == "gone":
        work.db.execute("delete from occ.iam_access_bindings")
    work.db.execute(sql)
    pass_ = reconciler("--agents", "ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == (outcome, code)
    assert not effects(pass_) and agents.active() == first
    assert [event[0] for event in work.events(key)] == [RECONCILE]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_between_two_effects(work, reconciler, agents, change):
    sql, code, outcome = CHANGES[change]
    completed(agents, 1)
    agents.activate(agents.revision(2))
    agents.admit("stopped")
    pass_ = reconciler("--agents", "gate", "ready")
    pass_.wait("effect")
    if change == "gone":
        work.db.execute("delete from occ.iam_access_bindings")
    work.db.execute(sql)
    pass_.order("open")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == (outcome, code)
    assert effects(pass_) == [("stop", 2)]


@pytest.mark.parametrize("change", ["running", "deleting"])
def test_superseded_during_the_last_effect(work, reconciler, agents, change):
    """What was stopped is not active any more, and that is evidence, whatever is wanted now."""
    sql, code, _ = CHANGES[change]
    completed(agents, 1)
    key = agents.admit("stopped")
    pass_ = reconciler("--agents", "gate")
    pass_.wait("effect")
    work.db.execute(sql)
    pass_.order("open")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("success", code)
    assert agents.active() is None
    assert sorted(work.events(key)) == [(STOP, "success", code), (RECONCILE, "success", code)]


def test_another_active_revision_is_left(work, reconciler, agents):
    completed(agents, 1)
    other = agents.revision(2)
    key = agents.admit("stopped")
    pass_ = reconciler("--agents", "stop:gate", "stop:ready")
    pass_.wait("effect")
    agents.activate(other)
    pass_.order("open")
    assert pass_.report()["code"] == "SUPERSEDED_TARGET"
    assert agents.active() == other and [event[0] for event in work.events(key)] == [RECONCILE]


# ---- revisions of another Compute


def test_an_active_revision_elsewhere_is_no_one_s_here(work, reconciler, agents):
    here = agents.revision(1)
    agents.compute = {"id": "compute-kubernetes", "implementation": "kubernetes"}
    active = completed(agents, 2)
    agents.admit("stopped")
    pass_ = reconciler("--agents", "ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", "COMPUTE_DRIVER_MISMATCH")
    assert not effects(pass_) and agents.active() == active and here


def test_others_elsewhere_are_passed_over(work, reconciler, agents):
    agents.compute, here = {"id": "compute-kubernetes", "implementation": "kubernetes"}, agents.compute
    agents.revision(1)
    agents.compute = here
    agents.activate(agents.revision(2))
    agents.admit("stopped")
    pass_ = reconciler("--agents", "ready")
    assert pass_.report()["code"] == "AGENT_STOPPED" and effects(pass_) == [("stop", 2)]


def test_only_others_elsewhere(work, reconciler, agents):
    agents.compute = {"id": "compute-kubernetes", "implementation": "kubernetes"}
    agents.revision(1)
    agents.admit("stopped")
    pass_ = reconciler("--agents", "ready")
    assert pass_.report()["code"] == "AGENT_ALREADY_STOPPED" and not effects(pass_)


# ---- the claim


def test_a_claim_that_ran_out_during_the_effect(work, reconciler, agents):
    first = completed(agents, 1)
    key = agents.admit("stopped")
    pass_ = reconciler("--agents", "gate")
    pass_.wait("effect")
    work.expire(key)
    pass_.order("open")
    assert pass_.report()["outcome"] == "claim_lost"
    assert agents.active() == first and work.events(key) == []


def test_the_answer_of_the_outcome_is_lost(work, reconciler, agents, through, database):
    """Read back by the token: one success, one event."""
    path, url = through
    completed(agents, 1)
    key = agents.admit("stopped")
    pass_ = reconciler("--agents", "gate", url=url)
    pass_.wait("effect")
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:  # holds the outcome back until the path is about to be cut
        cursor.execute("select from occ.agents for update")
        pass_.order("open")
        poll(lambda: database.one("select count(*) from pg_locks where not granted") > 0, what="the outcome")
        path.cut_after(0)
    other.commit()
    assert pass_.report(key=key)["code"] == "AGENT_STOPPED"
    assert sorted(work.events(key)) == [(STOP, "success", "AGENT_STOPPED"), (RECONCILE, "success", "AGENT_STOPPED")]


def test_an_admission_that_holds_the_agent_does_not_deadlock(work, reconciler, agents, database):
    """The outcome takes the Agent before its work."""
    completed(agents, 1)
    agents.admit("stopped")
    pass_ = reconciler("--agents", "gate")
    pass_.wait("effect")
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("select from occ.agents for update")
        pass_.order("open")
        poll(lambda: database.one("select count(*) from pg_locks where not granted") > 0, what="the outcome")
        cursor.execute("select from occ.controller_work for update nowait")
        cursor.execute("update occ.agents set desired_runtime_state = 'running'")
    other.commit()
    assert pass_.report()["code"] == "STOP_SUPERSEDED"
