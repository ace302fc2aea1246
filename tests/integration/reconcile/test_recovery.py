# SPDX-License-Identifier: MIT
"""What recovery makes of the lost claims of Agents' work: by a lease that ran out, and by a child that died."""

import time

import pytest
from support.agents import Agents
from support.queue import Probe

RECONCILE = "reconcile"
RECOVERY = "ACTIVE_REVISION_RECOVERY"
HOUR = 3600000


@pytest.fixture
def probe(database):
    made = Probe(database.app_url)
    yield made
    made.close()


@pytest.fixture
def agents(work):
    return Agents(work)


def expired(work, probe, got):
    work.expire(got["key"])
    return probe("sweep", 5)["rows"]


def crashed(_work, probe, got):
    return probe("release", got["token"], "WORKER_CRASHED", 5)["rows"]


LOSSES = pytest.mark.parametrize("lose, code", [(expired, "LEASE_EXPIRED"), (crashed, "WORKER_CRASHED")])


# ---- the last attempt of a deployment


@LOSSES
def test_a_published_revision_gets_one_more_attempt_once(work, probe, agents, lose, code):
    """K87"""
    revision = agents.revision(active=False)
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.admit(revision=revision, attempts=4)
    got = probe.claim()
    (row,) = lose(work, probe, got)
    assert (row["key"], row["failed"], row["code"], row["attempt"]) == (key, False, RECOVERY, 5)
    now = work.row(key)
    assert (now["state"], now["attempt_count"], now["reason_code"]) == ("queued", 4, None)
    assert work.events(key) == [(RECONCILE, "failure", RECOVERY)]
    assert work.latest(key)["resource_kind"] == "agent_revision"
    work.due(key)
    (row,) = lose(work, probe, probe.claim())
    assert (row["failed"], row["code"]) == (True, code)
    assert work.row(key)["state"] == "failed_permanent"
    assert work.events(key) == [(RECONCILE, "failure", RECOVERY), (RECONCILE, "failure", code)]
    # A failed retry keeps the active runtime.
    assert work.db.one("select active_revision_id from occ.agents") == revision


@LOSSES
@pytest.mark.parametrize("active", ["none", "another"])
def test_a_revision_that_is_not_published_gets_none(work, probe, agents, active, lose, code):
    revision, other = agents.revision(), agents.revision(2)
    agents.set(desired_runtime_state="running", active_revision_id=other if active == "another" else None)
    key = agents.admit(revision=revision, attempts=4)
    (row,) = lose(work, probe, probe.claim())
    assert (row["key"], row["failed"], row["code"]) == (key, True, code)


@LOSSES
def test_before_the_last_attempt_nothing_is_given(work, probe, agents, lose, code):
    revision = agents.revision()
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.admit(revision=revision, attempts=3)
    (row,) = lose(work, probe, probe.claim())
    assert (row["failed"], row["code"]) == (False, code) and work.row(key)["attempt_count"] == 4


def test_a_drain_gives_the_attempt_back_as_ever(work, probe, agents):
    revision = agents.revision()
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.admit(revision=revision, attempts=4)
    (row,) = probe("release", probe.claim()["token"], "WORKER_DRAINING", 5)["rows"]
    assert (row["failed"], row["code"]) == (False, "WORKER_DRAINING") and work.row(key)["attempt_count"] == 4


# ---- a refusal whose candidate is not stopped yet


def held(work, agents, attempts):
    key = agents.admit(revision=agents.revision(), attempts=attempts)
    work.db.execute(
        "update occ.controller_work set result_data = %s::jsonb where idempotency_key = %s",
        '{"stops": 2, "refusal": {"code": "X_BAD"}}', key,
    )  # fmt: skip
    return key


@LOSSES
@pytest.mark.parametrize("attempts", [0, 4])
def test_no_lost_claim_ends_what_is_held(work, probe, agents, attempts, lose, code):
    """K93: it is a stop that failed, and the next one is later."""
    key = held(work, agents, attempts)
    (row,) = lose(work, probe, probe.claim())
    assert (row["key"], row["failed"], row["code"]) == (key, False, code)
    now = work.row(key)
    assert (now["state"], now["attempt_count"]) == ("queued", attempts)
    assert now["result_data"] == {"stops": 3, "refusal": {"code": "X_BAD"}}
    assert (now["available_at"] - now["updated_at"]).total_seconds() == 8


def test_a_drain_leaves_what_is_held_as_it_was(work, probe, agents):
    key = held(work, agents, 4)
    (row,) = probe("release", probe.claim()["token"], "WORKER_DRAINING", 5)["rows"]
    now = work.row(key)
    assert not row["failed"] and (now["state"], now["attempt_count"]) == ("queued", 4)
    assert now["result_data"]["stops"] == 2 and now["available_at"] == now["updated_at"]


def test_fewer_attempts_do_not_end_what_is_held(work, probe, agents):
    """The worker was started again with another OCC_WORKER_MAX_ATTEMPTS."""
    key = held(work, agents, 4)
    (row,) = probe("sweep", 2)["rows"]
    assert not row["failed"] and work.settled(key) == ("queued", None, 1)
    assert probe.claim(attempts=2)["key"] == key
    assert probe("sweep", 2)["rows"] == []


def test_killed_while_a_refused_candidate_is_stopped(work, reconciler, probe, agents):
    """K93: the refusal is published when the candidate is stopped, however often that was cut short."""
    key = agents.deploy()
    pass_ = reconciler("--attempts", 1, "--agents", "prepare:permanent=X_BAD", "stop:pending=X_WAIT", "stop:hang")
    assert pass_.report()["code"] == "X_BAD" and pass_.rest() == "idle"
    work.due(key)
    pass_.order("go")
    pass_.wait("effect", number=2, what="stop")
    token = pass_.wait("claimed", number=2)["token"]
    pass_.kill()
    (row,) = probe("release", token, "WORKER_CRASHED", 1)["rows"]
    assert not row["failed"] and work.settled(key) == ("queued", None, 0)
    work.due(key)
    last = reconciler("--attempts", 1, "--agents", "ready")
    assert last.report()["code"] == "X_BAD" and work.settled(key)[:2] == ("failed_permanent", "X_BAD")
    assert [effect["what"] for effect in last.all("effect")] == ["stop"]


# ---- maintenance goes on


def successor(work, agents, revision, key, least=HOUR):
    """The next item, looked at closely."""
    begun = time.time() * 1000
    ended, made = agents.maintenance(revision)[-2:]
    assert ended["idempotency_key"] == key and ended["state"] == "failed_permanent"
    assert made["bucket"] == made["due"] == made["admitted"]
    assert begun - 60000 + least < made["bucket"] < begun + 60000 + least
    assert (made["state"], made["attempt_count"], made["actor_id"]) == ("queued", 0, ended["actor_id"])
    assert made["result_data"] == {"maintenanceIntervalMs": HOUR}
    return made["idempotency_key"]


@LOSSES
def test_maintenance_outlives_a_lost_claim(work, probe, agents, lose, code):
    """K89"""
    revision = agents.revision()
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.maintain(revision, attempts=4)
    (row,) = lose(work, probe, probe.claim())
    assert (row["failed"], row["code"]) == (True, code)  # no ACTIVE_REVISION_RECOVERY: the next one comes anyway
    successor(work, agents, revision, key)


def test_maintenance_outlives_used_up_attempts(work, probe, agents):
    """K89"""
    revision = agents.revision()
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.maintain(revision, attempts=5)
    (row,) = probe("sweep", 5)["rows"]
    assert (row["failed"], row["code"]) == (True, "MAX_ATTEMPTS_EXHAUSTED")
    successor(work, agents, revision, key)


def test_the_bucket_rises_whatever_the_clock_does(work, probe, agents):
    revision = agents.revision()
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    ahead = int(time.time() * 1000) + 100 * HOUR
    agents.maintain(revision, bucket=ahead, attempts=5)
    probe("sweep", 5)
    assert [item["bucket"] for item in agents.maintenance(revision)] == [ahead, ahead + 1]


def test_an_attempt_that_is_left_is_no_end(work, probe, agents):
    revision = agents.revision()
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.maintain(revision, attempts=3)
    expired(work, probe, probe.claim())
    (item,) = agents.maintenance(revision)
    assert item["state"] == "queued" and item["result_data"] == {"maintenanceIntervalMs": HOUR}
    assert work.row(key)["attempt_count"] == 4


@pytest.mark.parametrize("why", ["stopped", "deleting", "another", "none", "no interval"])
def test_maintenance_ends_by_itself(work, probe, agents, why):
    revision, other = agents.revision(), agents.revision(2)
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.maintain(revision, interval=0 if why == "no interval" else HOUR, attempts=4)
    if why in ("stopped", "deleting"):
        agents.set(desired_runtime_state="stopped")
    if why == "deleting":
        agents.set(status="deleting")
    if why in ("another", "none"):
        agents.set(active_revision_id=other if why == "another" else None)
    expired(work, probe, probe.claim())
    assert [item["idempotency_key"] for item in agents.maintenance(revision)] == [key]


def test_recovery_waits_for_whoever_holds_the_agent(work, probe, agents, database):
    """The Agent is locked before its work: an admission that holds it is waited for by another sweep, not by a deadlock."""
    revision = agents.revision()
    agents.set(desired_runtime_state="running", active_revision_id=revision)
    key = agents.maintain(revision, attempts=4)
    got = probe.claim()
    work.expire(key)
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("select from occ.agents for update")
        assert probe("sweep", 5)["rows"] == []
    other.rollback()
    assert [row["key"] for row in probe("sweep", 5)["rows"]] == [got["key"]]
    assert len(agents.maintenance(revision)) == 2


# ---- a reconciler that was killed


@pytest.mark.parametrize("step", ["ready", "permanent=X_BAD"])
def test_killed_on_the_last_attempt_after_the_publication(work, reconciler, probe, agents, step):
    """K87: the one attempt more finishes the deployment; where it fails, what runs stays."""
    key = agents.deploy()
    revision = key.split(":")[1]
    pass_ = reconciler("--attempts", 1, "--agents", "prepare:ready", "activate:hang")
    pass_.wait("effect", what="activate")
    token = pass_.wait("claimed")["token"]
    pass_.kill()
    (row,) = probe("release", token, "WORKER_CRASHED", 1)["rows"]
    assert (row["key"], row["failed"], row["code"]) == (key, False, RECOVERY)
    assert work.row(key)["attempt_count"] == 0
    work.due(key)
    second = reconciler("--attempts", 1, "--agents", "activate:" + step)
    failed = step != "ready"
    assert second.report()["code"] == ("X_BAD" if failed else "REVISION_ALREADY_ACTIVE")
    assert [effect["what"] for effect in second.all("effect")] == ["activate"]
    assert work.row(key)["state"] == ("failed_permanent" if failed else "succeeded")
    assert work.db.one("select active_revision_id from occ.agents") == revision


def test_killed_on_the_last_attempt_before_the_publication(work, reconciler, probe, agents):
    key = agents.deploy()
    pass_ = reconciler("--attempts", 1, "--agents", "prepare:hang")
    pass_.wait("effect", what="prepare")
    token = pass_.wait("claimed")["token"]
    pass_.kill()
    (row,) = probe("release", token, "WORKER_CRASHED", 1)["rows"]
    assert (row["failed"], row["code"]) == (True, "WORKER_CRASHED") and work.row(key)["state"] == "failed_permanent"
    # What it left is stopped with the Agent.
    agents.set(desired_runtime_state="stopped")
    agents.admit("stopped")
    stop = reconciler("--agents", "ready")
    assert stop.report()["code"] == "AGENT_STOPPED"
    assert [effect["what"] for effect in stop.all("effect")] == ["stop"]
