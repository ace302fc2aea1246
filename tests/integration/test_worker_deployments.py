# SPDX-License-Identifier: MIT
"""What worker.completed tells of deployments: times over all passes of an item, whichever child ran them."""

import pytest
from support.admission import ADMINISTRATOR
from support.agents import Agents
from support.queue import Queue
from support.waiting import poll

SUMS = {"deployPasses", "prepareMs", "readinessWaitMs", "elapsedMs"}
ALL = SUMS | {"activationMs"}


@pytest.fixture
def agents(bootstrapped):
    return Agents(Queue(bootstrapped, bootstrapped.one(ADMINISTRATOR)))


@pytest.fixture
def ready(worker, notify, bootstrapped, fake_engine):
    def start(*flags):
        made = worker(*flags, engine=fake_engine, env={"NOTIFY_SOCKET": notify.path})
        poll(lambda: notify.ready or not made.running, 15, what="READY")
        poll(lambda: {row["state"] for row in bootstrapped.work()} == {"succeeded"}, 15)
        return made

    return start


def deploy(agents, wait="0 s"):
    """A deployment that the Docker Driver refuses, which takes one pass, when it is due; gives its key."""
    agents.set(desired_runtime_state="running")
    revision = agents.revision()
    key = f"agent_revision:{revision}:reconcile"
    agents.work.db.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, actor_id, available_at)"
        " values (%s, %s, %s, %s, %s, now() + %s::interval)",
        key, agents.namespace, agents.agent, revision, agents.work.actor, wait,
    )  # fmt: skip
    return key


def test_a_deployment_has_times_and_nothing_else_has(ready, agents, bootstrapped):
    worker = ready()
    (namespace,) = [row["idempotency_key"] for row in bootstrapped.work()]
    assert not ALL & set(worker.wait_for("worker.completed", workId=namespace))
    stop = agents.admit("stopped")
    assert not ALL & set(worker.wait_for("worker.completed", workId=stop))
    told = worker.wait_for("worker.completed", workId=deploy(agents))
    # It was never activated, so there is no time of that.
    assert told["outcome"] == "permanent" and ALL & set(told) == SUMS
    assert (told["deployPasses"], told["prepareMs"], told["readinessWaitMs"]) == (1, 0, 0)
    assert told["durationMs"] <= told["elapsedMs"] + 1


def test_a_pass_that_a_child_died_in_is_counted(ready, agents, bootstrapped):
    worker = ready("--reconcilers=1", "--lease-duration-ms=30000")
    key = deploy(agents, "1 hour")
    other = bootstrapped.connect("postgres", autocommit=False)
    with other.cursor() as cursor:
        cursor.execute("lock table occ.agent_revisions in access exclusive mode")
        agents.work.due(key)
        poll(lambda: agents.work.row(key)["state"] == "claimed", 10)
        worker.child("reconciler").kill()
        told = worker.wait_for("worker.completed", workId=key)
    assert (told["outcome"], told["code"], told["deployPasses"]) == ("error", "WORKER_CRASHED", 1)
    assert ALL & set(told) == SUMS
    other.rollback()
    told = worker.wait_for("worker.completed", workId=key, outcome="permanent")
    assert told["deployPasses"] == 2


def test_maintenance_has_no_times(ready, agents, bootstrapped):
    worker = ready()
    revision = agents.revision(active=True)
    agents.set(desired_runtime_state="running")
    key = f"agent_revision:{revision}:maintenance:1"
    bootstrapped.execute(
        "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, actor_id)"
        " values (%s, %s, %s, %s, %s)",
        key, agents.namespace, agents.agent, revision, agents.work.actor,
    )  # fmt: skip
    assert not ALL & set(worker.wait_for("worker.completed", workId=key))
