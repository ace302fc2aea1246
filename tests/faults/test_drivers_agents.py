# SPDX-License-Identifier: MIT
"""Installed Drivers that fail about Agents and revisions, and what the host does for those that behave."""

import threading

import pytest
from support.admission import ADMINISTRATOR, Admission
from support.agents import Agents
from support.fake_engine import Answer
from support.queue import Queue
from support.scripted import IDS, IMPLEMENTATION
from support.standing import Standing, others_go_on, start
from support.waiting import never, poll


@pytest.fixture
def ready(scripted, worker, bootstrapped, folder):
    """ready(*flags): a worker on the scripted Driver that has done what there was to do; it keeps its marker file."""
    return lambda *flags, **more: start(worker, scripted, bootstrapped, folder / "ready", *flags, **more)


@pytest.fixture
def agents(bootstrapped):
    return Agents(Queue(bootstrapped, bootstrapped.one(ADMINISTRATOR)), IDS["compute"], IMPLEMENTATION)


def known(scripted, agents, *revisions, **states):
    """What the Driver has of the Agent, as if it had made it: its revisions, prepared unless said."""
    scripted.put("agent", agents.agent, namespaceId=agents.namespace)
    for number, revision in enumerate(revisions, 1):
        state = states.get(f"_{number}", "prepared")
        scripted.put("revision", revision, agentId=agents.agent, namespaceId=agents.namespace, number=number, state=state)


def ended(agents, key, *states, deadline=30):
    poll(lambda: (agents.work.row(key) or {"state": "gone"})["state"] in states, deadline, what=f"{key} in {states}")
    return agents.work.row(key)


@pytest.mark.parametrize("step", ["foreign namespace", "foreign agent", "foreign revision", "mute", "garbage names",
                                  "foreign revision + pending SCRIPTED_WAITS"])  # fmt: skip
def test_an_answer_about_another_revision_is_refused(ready, scripted, bootstrapped, agents, step):
    worker = ready("--reconcilers=2")
    standing = Standing(worker, victims=0)
    revision = agents.revision(1, active=True)
    known(scripted, agents, revision, _1="active")
    scripted.on("stop_revision", f"{step} forever", subject=1)
    key = agents.admit("stopped")
    row = ended(agents, key, "failed_permanent")
    assert row["reason_code"] == "INVALID_DRIVER_OBSERVATION" and row["attempt_count"] == 1
    # Nothing was published on the word of such an answer.
    assert agents.active() == revision
    others_go_on(bootstrapped, standing, 2)


@pytest.mark.parametrize("step", ["foreign namespace", "foreign agent", "mute"])
def test_an_answer_about_another_agent_is_refused(ready, scripted, bootstrapped, agents, step):
    worker = ready("--reconcilers=2")
    standing = Standing(worker, victims=0)
    scripted.on("delete_agent_credentials", f"{step} forever")
    agents.set(desired_runtime_state="stopped", status="deleting")
    key = agents.admit("deleted")
    assert ended(agents, key, "failed_permanent")["reason_code"] == "INVALID_DRIVER_OBSERVATION"
    assert bootstrapped.one("select count(*) from occ.agents where id = %s", agents.agent) == 1
    others_go_on(bootstrapped, standing, 2)


# K05: killed right before and right after each effect of a deletion; each is done once, and the Agent is gone.
@pytest.mark.parametrize("step", ["kill", "effect + kill", "crash"])
def test_a_deletion_survives_a_death_at_every_effect(ready, scripted, bootstrapped, agents, step):
    worker = ready("--reconcilers=2", "--max-attempts=20")
    revisions = [agents.revision(1), agents.revision(2, active=True)]
    known(scripted, agents, *revisions, _2="active")
    for operation in ("deactivate_revision", "stop_revision", "retire_revision"):
        for number in (1, 2):
            scripted.on(operation, step, subject=number)
    scripted.on("delete_agent_credentials", step)
    agents.set(desired_runtime_state="stopped", status="deleting")
    key = agents.admit("deleted")

    def gone():
        # Its backoffs are not the subject.
        bootstrapped.execute(
            "update occ.controller_work set available_at = now() where idempotency_key = %s and state = 'queued'", key
        )
        return bootstrapped.one("select count(*) from occ.agents where id = %s", agents.agent) == 0

    poll(gone, 120, interval=0.1, what="the Agent's end")
    assert scripted.revisions(agents.agent) == {1: "retired", 2: "retired"} and not scripted.made("agent")
    for number in (1, 2):
        assert [change["to"] for change in scripted.changes(number=number)][-1] == "retired"
        assert len(scripted.changes("retire_revision", number=number)) == 1
    assert len(scripted.changes("delete_agent_credentials")) == 1
    deaths = scripted.journal(what="begin", agentId=agents.agent)
    assert len([entry for entry in deaths if entry["step"] == step]) >= 6
    assert worker.running


# K08: a server that does not answer holds up one pass, whose claim is renewed meanwhile.
def test_http_through_the_host_keeps_the_claim(ready, scripted, fake_engine, bootstrapped):
    worker = ready("--reconcilers=2", "--lease-duration-ms=1000")
    gate = threading.Event()
    fake_engine.on("GET", "/hello", Answer(200, b"so it is", stall=gate))
    scripted.on("ensure_namespace", f"http {fake_engine.socket} /hello + ready", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    fake_engine.wait_asked("GET", "/hello")
    never(lambda: patient.state != "claimed" or worker.events("worker.child-exited"), 3)
    gate.set()
    patient.wait_ready()
    (told,) = scripted.journal("ensure_namespace", "http")
    assert (told["status"], told["body"]) == (200, "so it is")
    assert patient.work["attempt_count"] == 1 and fake_engine.count("GET", "/hello") == 1


# K57, K103
def test_http_through_the_host_hears_the_end_and_names_what_is_missing(ready, scripted, fake_engine, bootstrapped):
    worker = ready("--reconcilers=1", "--drain-timeout-ms=500")
    scripted.on("ensure_namespace", f"http {scripted.folder}/nothing /hello + ready", subject="first")
    first = Admission(bootstrapped, name="first")
    told = worker.wait_for("worker.completed", workId=first.key)
    assert (told["code"], told["dependency"], told["cause"]) == ("SCRIPTED_API_UNAVAILABLE", "scripted", "unreachable")
    first.wait_ready(deadline=30)
    fake_engine.on("GET", "/hello", Answer(200, b"", stall=threading.Event()))
    scripted.on("ensure_namespace", f"http {fake_engine.socket} /hello + ready", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    fake_engine.wait_asked("GET", "/hello")
    assert worker.stop() == 0
    assert patient.work["state"] == "queued" and patient.evidence() == ["WORKER_DRAINING"]


def test_every_capability_is_opened_with_its_checked_settings(ready, scripted):
    settings = {
        "speed": "safe", "limit": 7, "strict": True, "tags": ["a", "b"],
        "server": {"address": "example.test", "port": 443, "tokenPath": "/etc/occ/token"},
    }  # fmt: skip
    ready("--reconcilers=1", drivers=("compute", "iam", "configuration", "secret"), settings=settings)
    opened = {entry["operation"]: entry for entry in scripted.journal(what="opened")}
    assert {"open", "iam.open", "configuration.open", "secret.open"} <= set(opened)
    for entry in opened.values():
        assert entry["configuration"] == {"folder": str(scripted.folder), **settings} and entry["production"] is False
    asked = scripted.journal("iam.decide", "begin")
    assert "namespace:create" in [entry["subject"] for entry in asked]


# A denial by the installed IAM Driver ends the work, and one that cannot say only delays it.
def test_an_installed_iam_driver_decides(ready, scripted, bootstrapped):
    worker = ready("--reconcilers=1", drivers=("compute", "iam"))
    scripted.on("iam.decide", "retryable SCRIPTED_IAM_DOWN", "deny policy-7 forever", subject="namespace:create")
    patient = Admission(bootstrapped, name="patient")
    row = patient.wait_state("failed_permanent", deadline=30)
    assert row["reason_code"] == "AUTHORIZATION_DENIED" and patient.evidence()[0] == "SCRIPTED_IAM_DOWN"
    assert not scripted.journal("ensure_namespace", "begin", namespaceId=patient.id)
    assert worker.running
