# SPDX-License-Identifier: MIT
"""What worker.completed tells of deployments: times over all passes of an item, whichever child ran them."""

import signal

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


def test_what_it_is_about_is_named(ready, agents, bootstrapped):
    """The Namespace of all work, the Agent and the revision of what has them."""
    worker = ready()
    (namespace,) = bootstrapped.work()
    told = worker.wait_for("worker.completed", workId=namespace["idempotency_key"])
    assert told["namespaceId"] == namespace["namespace_id"] and not {"agentId", "revisionId"} & set(told)
    stop = worker.wait_for("worker.completed", workId=agents.admit("stopped"))
    assert (stop["operation"], stop["namespaceId"], stop["agentId"]) == ("agent.stop", agents.namespace, agents.agent)
    assert "revisionId" not in stop
    key = deploy(agents)
    told = worker.wait_for("worker.completed", workId=key)
    assert (told["operation"], told["attempt"]) == ("agent_revision.reconcile", 1)
    assert (told["namespaceId"], told["agentId"], told["revisionId"]) == (agents.namespace, agents.agent, key.split(":")[1])


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


# With a Driver that runs Agents.


@pytest.fixture
def scripted_agents(bootstrapped):
    return Agents(Queue(bootstrapped, bootstrapped.one(ADMINISTRATOR)), "compute-scripted", "scripted-1")


@pytest.fixture
def running(worker, scripted, bootstrapped, folder):
    """running(*flags): a worker on the scripted Driver that has done what there was to do."""

    def start(*flags, package="scripted"):
        scripted.select(package)
        marker = folder / "ready"
        made = worker(f"--readiness-path={marker}", *flags, env=scripted.env)
        poll(marker.exists, 20, what="readiness")
        poll(lambda: bootstrapped.work()[0]["state"] == "succeeded", 15)
        return made

    return start


def admit(agents, number=1):
    """A deployment that can succeed; gives its key."""
    agents.set(desired_runtime_state="running")
    auth = {"method": "api_key", "source": agents.reference(agents.secret())}
    return agents.admit(revision=agents.revision(number, auth=auth))


def test_passes_until_ready_add_up(running, scripted, scripted_agents):
    worker = running("--reconcilers=2")
    scripted.on("prepare_revision", "delay 60 + pending SCRIPTED_WAITS 100 x3", "delay 60 + ready")
    scripted.on("activate_revision", "delay 120 + ready")
    key = admit(scripted_agents)
    done = worker.wait_for("worker.completed", workId=key, outcome="success")
    told = worker.events("worker.completed", workId=key)
    assert [record["outcome"] for record in told] == ["pending"] * 3 + ["success"]
    assert [record["deployPasses"] for record in told] == [1, 2, 3, 4]
    assert [ALL & set(record) for record in told] == [SUMS] * 3 + [ALL]
    # While it waits the times grow with it; readiness ends the wait.
    for name, least in (("prepareMs", 60), ("readinessWaitMs", 0), ("elapsedMs", 60)):
        times = [record[name] for record in told]
        assert times == sorted(times) and times[0] >= least, (name, times)
    assert done["prepareMs"] >= 4 * 60
    # Between the first and the last look at it lie the three waits and three more preparations.
    assert done["readinessWaitMs"] >= 3 * 60 and done["activationMs"] >= 120
    assert done["readinessWaitMs"] + done["activationMs"] + 60 <= done["elapsedMs"] + 10


def test_a_crash_loses_no_earlier_pass(running, scripted, scripted_agents):
    worker = running("--reconcilers=2")
    scripted.on("prepare_revision", "delay 50 + pending SCRIPTED_WAITS 100", "effect + kill", "ready")
    key = admit(scripted_agents)
    done = worker.wait_for("worker.completed", workId=key, outcome="success", deadline=20)
    told = worker.events("worker.completed", workId=key)
    assert [(record["outcome"], record["deployPasses"]) for record in told] == [("pending", 1), ("error", 2), ("success", 3)]
    assert told[1]["code"] == "WORKER_CRASHED"
    # No child has seen all of it.
    assert len({entry["pid"] for entry in scripted.journal("prepare_revision", "begin")}) >= 2
    # The first wait was seen by the first pass.
    assert done["prepareMs"] >= 50 and done["readinessWaitMs"] >= 100
    # And the next deployment begins with nothing.
    done = worker.wait_for("worker.completed", workId=admit(scripted_agents, 2), outcome="success")
    assert (done["deployPasses"], done["readinessWaitMs"]) == (1, 0)


def test_a_reload_keeps_the_sums_and_a_restart_begins_them_again(running, scripted, scripted_agents):
    worker = running("--reconcilers=1")
    rule = scripted.on("prepare_revision", "pending SCRIPTED_WAITS 200 forever")
    key = admit(scripted_agents)
    worker.wait_for("worker.completed", workId=key, deployPasses=2)
    worker.send(signal.SIGHUP)
    worker.wait_for("worker.reloaded", deadline=20)
    worker.wait_for("worker.completed", workId=key, since=worker.mark())
    sums = [record["deployPasses"] for record in worker.events("worker.completed", workId=key)]
    assert sums == list(range(1, len(sums) + 1))
    assert worker.stop() == 0
    worker = running("--reconcilers=1")
    first = worker.wait_for("worker.completed", workId=key)
    assert first["deployPasses"] == 1 and first["elapsedMs"] >= 200
    scripted.off(rule)
    worker.wait_for("worker.completed", workId=key, outcome="success")
