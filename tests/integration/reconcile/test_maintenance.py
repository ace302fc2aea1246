# SPDX-License-Identifier: MIT
"""Maintenance: the chain of passes that look after an active revision, and what does and does not end it (K89)."""

import time

import pytest
from support.agents import Agents
from support.waiting import poll

RECONCILE = "reconcile"
HOUR = 3600000
DAY = 24 * HOUR


@pytest.fixture
def agents(work):
    return Agents(work)


@pytest.fixture
def maintained(agents):
    """(revision, key): an active revision, and its maintenance, which is due."""
    revision = agents.deployable()
    agents.activate(revision)
    return revision, agents.maintain(revision)


def told(pass_):
    return [(effect["what"], effect.get("number")) for effect in pass_.all("effect")]


def ended(pass_, number=1):
    report = pass_.report(number)
    return report["outcome"], report["code"]


def next_item(agents, revision, key, interval, actor=None):
    """The one item that follows, due in about that many milliseconds."""
    items = agents.maintenance(revision)
    following = [item for item in items if item["state"] == "queued"]
    assert [item["idempotency_key"] for item in items][:-1] == ([key] if key else []) and len(following) == 1
    (item,) = following
    assert item["bucket"] == item["due"] == item["admitted"]
    assert abs(item["bucket"] - time.time() * 1000 - interval) < 60000
    assert item["result_data"] == {"maintenanceIntervalMs": interval} and item["attempt_count"] == 0
    assert item["actor_id"] == (actor or agents.work.actor)
    return item["idempotency_key"]


def test_a_deployment_begins_the_chain(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "--maintenance", HOUR, "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    revision = key.split(":")[1]
    following = next_item(agents, revision, None, HOUR)
    # It is not due, and looks like no backlog.
    assert pass_.rest() == "idle" and work.row(following)["state"] == "queued"


def test_a_driver_that_asks_for_none_gets_none(agents, reconciler):
    key = agents.deploy()
    assert ended(reconciler("--agents", "ready")) == ("success", "REVISION_ACTIVATED")
    assert agents.maintenance(key.split(":")[1]) == []


def test_a_deployment_that_ends_otherwise_begins_none(agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "--maintenance", HOUR, "prepare:permanent=X_BAD")
    assert ended(pass_) == ("permanent", "X_BAD") and agents.maintenance(key.split(":")[1]) == []


@pytest.mark.parametrize(
    "options, step, code",
    [
        ([], "permanent=X_BAD", "X_BAD"),
        (["--attempts", 1], "retry=X_AWAY", "X_AWAY"),
        (["--timeout", 1], "pending=X_BUSY", "CONVERGENCE_DEADLINE_EXCEEDED"),
    ],
)
def test_a_deployment_that_fails_after_the_publication_begins_it(work, agents, reconciler, options, step, code):
    """K87, K89: what is active stays, and is looked after."""
    key = agents.deploy()
    pass_ = reconciler("--passes", 1, *options, "--agents", "--maintenance", HOUR, "prepare:ready", "activate:" + step)
    assert ended(pass_) == ("permanent", code)
    revision = key.split(":")[1]
    assert agents.active() == revision
    next_item(agents, revision, None, HOUR)


def test_a_refused_deployment_leaves_the_chain_of_what_is_active_as_it_is(work, agents, reconciler, maintained):
    revision, key = maintained
    work.db.execute("update occ.controller_work set available_at = now() + interval '1 h'")
    agents.deploy(2)
    pass_ = reconciler("--agents", "--maintenance", HOUR, "prepare:permanent=X_BAD", "ready")
    assert ended(pass_) == ("permanent", "X_BAD") and pass_.rest() == "idle" and agents.active() == revision
    assert [item["idempotency_key"] for item in agents.maintenance(revision)] == [key]


def test_a_refused_deployment_takes_up_the_chain_that_a_stop_ended(work, agents, reconciler, maintained):
    """K89: the stop was superseded before it began, and the deployment that did so came to nothing."""
    revision, key = maintained
    actor = work.identity()
    work.db.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, actor_id, state,"
        " attempt_count, completed_at, reason_code) values (%s, %s, %s, %s, %s, 'succeeded', 1, now(), 'REVISION_ACTIVATED')",
        f"agent_revision:{revision}:reconcile", agents.namespace, agents.agent, revision, actor,
    )  # fmt: skip
    agents.set(desired_runtime_state="stopped")
    pass_ = reconciler("--agents", "--maintenance", HOUR, "ready")
    assert ended(pass_) == ("success", "REVISION_STOPPED") and pass_.rest() == "idle"
    agents.deploy(2)
    pass_ = reconciler("--agents", "--maintenance", HOUR, "prepare:permanent=X_BAD", "ready")
    assert ended(pass_) == ("permanent", "X_BAD") and pass_.rest() == "idle" and agents.active() == revision
    next_item(agents, revision, key, HOUR, actor)


def test_a_pass_activates_again_and_no_more(work, agents, reconciler, maintained):
    revision, key = maintained
    agents.revision(2)
    pass_ = reconciler("--agents", "--binds", "--maintenance", HOUR, "ready")
    assert ended(pass_) == ("success", "REVISION_ALREADY_ACTIVE")
    assert told(pass_) == [("activate", 1)] and not pass_.report()["deployment"]
    assert work.events(key) == [(RECONCILE, "success", "REVISION_ALREADY_ACTIVE")]
    assert agents.active() == revision
    next_item(agents, revision, key, HOUR)


def test_the_driver_s_interval_is_followed(agents, reconciler, maintained):
    revision, key = maintained
    assert ended(reconciler("--agents", "--maintenance", DAY, "ready"))[0] == "success"
    next_item(agents, revision, key, DAY)


def test_a_driver_that_asks_for_none_any_more_ends_the_chain(work, agents, reconciler, maintained):
    revision, key = maintained
    assert ended(reconciler("--agents", "ready"))[0] == "success"
    assert [item["idempotency_key"] for item in agents.maintenance(revision)] == [key]


def test_a_deferral_keeps_the_interval(work, agents, reconciler, maintained):
    revision, key = maintained
    pass_ = reconciler("--agents", "--maintenance", DAY, "activate:pending=X_BUSY")
    assert ended(pass_) == ("pending", "X_BUSY")
    assert work.row(key)["result_data"] == {"maintenanceIntervalMs": HOUR}
    assert len(agents.maintenance(revision)) == 1


@pytest.mark.parametrize(
    "options, step, code",
    [
        ([], "permanent=X_BAD", "X_BAD"),
        (["--attempts", 1], "retry=X_AWAY", "X_AWAY"),
        (["--timeout", 1], "pending=X_BUSY", "CONVERGENCE_DEADLINE_EXCEEDED"),
    ],
)
def test_failures_do_not_end_the_chain(work, agents, reconciler, maintained, options, step, code):
    """K89: and the active revision stays."""
    revision, key = maintained
    pass_ = reconciler("--passes", 1, *options, "--agents", "--maintenance", DAY, "activate:" + step)
    assert ended(pass_) == ("permanent", code) and told(pass_) == [("activate", 1)]
    assert agents.active() == revision
    next_item(agents, revision, key, HOUR)


def test_a_denial_does_not_end_the_chain(work, agents, reconciler, maintained):
    """K89: who deployed may have left; another may give the right back."""
    revision, key = maintained
    work.db.execute("delete from occ.iam_access_bindings where identity_subject_id = %s", work.actor)
    pass_ = reconciler("--agents", "--maintenance", HOUR, "ready")
    assert ended(pass_) == ("permanent", "AUTHORIZATION_DENIED") and not told(pass_)
    assert agents.active() == revision
    next_item(agents, revision, key, HOUR)


@pytest.mark.parametrize("why", ["stopped", "deleting", "another", "none"])
def test_the_chain_ends_by_itself(work, agents, reconciler, maintained, why):
    revision, key = maintained
    active = {"another": agents.revision(2), "none": None}.get(why, revision)
    if active != revision:
        agents.set(active_revision_id=active)
    else:
        agents.set(desired_runtime_state="stopped", status="deleting" if why == "deleting" else "active")
    pass_ = reconciler("--agents", "--maintenance", HOUR, "ready")
    assert ended(pass_)[0] == "success" and not told(pass_)
    assert [item["idempotency_key"] for item in agents.maintenance(revision)] == [key]
    assert agents.active() == active


def test_a_stop_ends_the_chain(work, agents, reconciler, maintained):
    """And the revision that it stopped is not activated again, also by maintenance that was due at the same time."""
    revision, key = maintained
    agents.set(desired_runtime_state="stopped")
    agents.admit("stopped", due="-1 min")
    pass_ = reconciler("--agents", "--maintenance", HOUR, "ready")
    assert ended(pass_, 1) == ("success", "AGENT_STOPPED")
    assert ended(pass_, 2)[0] == "success"
    assert told(pass_) == [("stop", 1)] and len(agents.maintenance(revision)) == 1


def test_the_outcome_takes_the_agent_before_its_work(work, agents, reconciler, maintained, database):
    """As the admission's trigger of the next item does: no deadlock with whoever holds the Agent."""
    revision, key = maintained
    pass_ = reconciler("--agents", "--maintenance", HOUR, "activate:gated+permanent=X_BAD")
    pass_.wait("effect")
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("select from occ.agents for update")
        pass_.order("open")
        poll(lambda: database.one("select count(*) from pg_locks where not granted") > 0, what="the outcome")
        cursor.execute("select from occ.controller_work for update nowait")
    other.commit()
    assert ended(pass_) == ("permanent", "X_BAD")
    next_item(agents, revision, key, HOUR)
