# SPDX-License-Identifier: MIT
"""Installed Drivers that crash, hang, or say what no Driver may: one child's pass suffers, and nothing else."""

import pathlib
import signal

import pytest
from support.admission import Admission
from support.scripted import IDS
from support.standing import Standing, others_go_on, start
from support.waiting import never

DEATHS = {
    "crash": {"signal": signal.SIGSEGV},
    "abort": {"signal": signal.SIGABRT},
    "kill": {"signal": signal.SIGKILL},
    "exit 0": {"exit": 0},
    "exit 3": {"exit": 3},
    "exit 78": {"exit": 78},
}


@pytest.fixture
def ready(scripted, worker, bootstrapped, folder):
    """ready(*flags): a worker on the scripted Driver that has done what there was to do; it keeps its marker file."""
    return lambda *flags, **more: start(worker, scripted, bootstrapped, folder / "ready", *flags, **more)


# K05, K17
@pytest.mark.parametrize("death", DEATHS)
def test_a_driver_that_dies_takes_one_pass_with_it(ready, scripted, bootstrapped, death):
    worker = ready("--reconcilers=3")
    standing = Standing(worker)
    scripted.on("ensure_namespace", death, subject="patient")
    patient = Admission(bootstrapped, name="patient")
    exited = worker.wait_for("worker.child-exited", role="reconciler", workId=patient.key)
    assert {name: exited[name] for name in DEATHS[death]} == DEATHS[death]
    others_go_on(bootstrapped, standing)
    patient.wait_ready(deadline=30)
    assert patient.work["attempt_count"] == 2
    assert patient.evidence()[0] == "WORKER_CRASHED"
    end = DEATHS[death]
    told = f"was ended by {signal.Signals(end['signal']).name}" if "signal" in end else f"status {end['exit']}"
    assert patient.messages()[0].endswith(told)
    lost = worker.wait_for("worker.completed", workId=patient.key, outcome="error")
    assert lost["code"] == "WORKER_CRASHED" and lost["attempt"] == 1
    # Begun twice, done once.
    assert len(scripted.journal("ensure_namespace", "begin", namespaceId=patient.id)) == 2
    assert len(scripted.changes("ensure_namespace", namespaceId=patient.id)) == 1


# K05: what was done before the death is found, not done again.
def test_a_death_after_the_effect_repeats_nothing(ready, scripted, bootstrapped):
    worker = ready("--reconcilers=2")
    scripted.on("ensure_namespace", "effect + kill", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    patient.wait_ready(deadline=30)
    assert patient.evidence()[0] == "WORKER_CRASHED"
    effects = scripted.journal("ensure_namespace", "effect", namespaceId=patient.id)
    assert [effect["changed"] for effect in effects] == [True, False]
    assert worker.running


# K51: it dies each time, until its attempts are used up.
def test_a_driver_that_always_dies_ends_its_item_and_nothing_else(ready, scripted, bootstrapped):
    worker = ready("--reconcilers=3", "--max-attempts=3")
    standing = Standing(worker, victims=3)
    scripted.on("ensure_namespace", "crash forever", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    others_go_on(bootstrapped, standing, 10)
    row = patient.wait_state("failed_permanent", deadline=60)
    assert row["attempt_count"] == 3 and patient.status == "failed"
    assert patient.evidence()[:3] == ["WORKER_CRASHED"] * 3
    assert len(scripted.journal("ensure_namespace", "begin", namespaceId=patient.id)) == 3
    others_go_on(bootstrapped, standing)
    assert not worker.events("worker.stopped")


# It closed what it had not opened: that is no stop of the worker, for which its work would come again without end.
def test_a_driver_that_closes_the_hosts_channel_spends_its_attempts(ready, scripted, bootstrapped):
    worker = ready("--reconcilers=2", "--max-attempts=2")
    standing = Standing(worker, victims=2)
    scripted.on("ensure_namespace", "close forever", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    exited = worker.wait_for("worker.child-exited", role="reconciler", workId=patient.key)
    assert exited["signal"] == 6
    assert "closed within this process" in worker.wait_for("worker.error", code="WORKER_CRASHED")["message"]
    row = patient.wait_state("failed_permanent", deadline=30)
    assert row["attempt_count"] == 2 and row["reason_code"] == "WORKER_CRASHED"
    others_go_on(bootstrapped, standing)


# K39
@pytest.mark.parametrize("step", ["hang", "sleep 600000"])
def test_a_driver_that_hangs_is_killed_and_its_item_comes_again(ready, scripted, bootstrapped, step):
    worker = ready("--reconcilers=3", "--lease-duration-ms=2000")
    standing = Standing(worker)
    scripted.on("ensure_namespace", step, subject="patient")
    patient = Admission(bootstrapped, name="patient")
    begun = scripted.wait_for("ensure_namespace", namespaceId=patient.id)
    others_go_on(bootstrapped, standing, 3)
    exited = worker.wait_for("worker.child-exited", deadline=20, role="reconciler", childPid=begun["pid"])
    assert exited["signal"] == signal.SIGKILL and exited["reason"] == "WORKER_HUNG"
    patient.wait_ready(deadline=30)
    assert patient.evidence()[0] == "WORKER_HUNG" and "no sign of life" in patient.messages()[0]
    standing.check()


# K08, K39: one that waits through the host is left alone, however long, and hears the end of the worker.
def test_a_driver_that_waits_through_the_host_is_not_hung(ready, scripted, bootstrapped):
    worker = ready("--reconcilers=2", "--lease-duration-ms=1000")
    scripted.on("ensure_namespace", "gate here + ready", "spin 3000 + ready", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    scripted.wait_at("here", namespaceId=patient.id)
    never(lambda: patient.state != "claimed" or worker.events("worker.child-exited"), 3)
    scripted.open("here")
    patient.wait_ready()
    assert patient.work["attempt_count"] == 1


# K57, K60
def test_a_driver_that_waits_through_the_host_ends_with_the_worker(ready, scripted, bootstrapped):
    worker = ready("--reconcilers=1", "--drain-timeout-ms=500")
    scripted.on("ensure_namespace", "gate here + ready", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    scripted.wait_at("here", namespaceId=patient.id)
    assert worker.stop() == 0
    assert patient.work["state"] == "queued" and patient.work["attempt_count"] == 0
    assert patient.evidence() == ["WORKER_DRAINING"]
    assert scripted.journal("ensure_namespace", "end", namespaceId=patient.id)[0]["result"] == "cancelled"


@pytest.mark.parametrize(
    "step",
    ["foreign namespace", "mute", "foreign namespace + pending SCRIPTED_WAITS", "garbage names", "result 77", "result -1"],
)
def test_an_answer_about_another_namespace_is_refused(ready, scripted, bootstrapped, step):
    worker = ready("--reconcilers=2")
    standing = Standing(worker, victims=0)
    scripted.on("ensure_namespace", f"{step} forever", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    row = patient.wait_state("failed_permanent")
    assert row["reason_code"] == "INVALID_DRIVER_OBSERVATION" and row["attempt_count"] == 1
    assert patient.status == "failed" and patient.evidence() == ["INVALID_DRIVER_OBSERVATION"]
    told = worker.wait_for("worker.completed", workId=patient.key)
    assert told["outcome"] == "permanent" and told["code"] == "INVALID_DRIVER_OBSERVATION"
    said = bootstrapped.one(
        "select details->>'message' from occ.audit_events where action = 'reconcile' and details->>'workId' = %s", patient.key
    )
    if step in ("mute", "foreign namespace"):
        assert IDS["compute"] in said and patient.id in said
    if step == "mute":
        assert said.endswith(f"was asked about the Namespace {patient.id}, and its answer names none")
    others_go_on(bootstrapped, standing, 2)


# Nothing of it reaches a log, the database or the screen as it was: the records stay JSON lines of bounded length.
@pytest.mark.parametrize("kind", ["unterminated", "control", "utf8", "code", "retry", "warnings", "failure", "size"])
@pytest.mark.parametrize("result", ["pending", "retryable", "permanent", "ready"])
def test_garbage_in_an_answer_harms_nothing(ready, scripted, bootstrapped, occctl, kind, result):
    worker = ready("--reconcilers=2")
    standing = Standing(worker, victims=0)
    code = "" if result == "ready" or kind == "code" else " SCRIPTED_GARBAGE"
    scripted.on("ensure_namespace", f"{result}{code} + garbage {kind}", subject="patient")
    patient = Admission(bootstrapped, name="patient")
    told = worker.wait_for("worker.completed", workId=patient.key)
    assert told["outcome"] in ("pending", "retry", "permanent", "success")
    if told["outcome"] in ("pending", "retry"):
        # An absurd time to look again is cut: 30 s are the most that is taken.
        late = bootstrapped.one(
            "select extract(epoch from available_at - clock_timestamp()) from occ.controller_work where idempotency_key = %s",
            patient.key,
        )
        assert late <= 31
        bootstrapped.execute(
            "update occ.controller_work set available_at = now() where idempotency_key = %s and state = 'queued'", patient.key
        )
    patient.wait_state("succeeded", "failed_permanent", deadline=40)
    for row in bootstrapped.query("select details::text as text from occ.audit_events"):
        assert all(character.isprintable() for character in row["text"]), row
    assert all(len(line.encode()) <= 4096 for line in worker.text)
    assert all(record.get("code", "A").replace("_", "").isalnum() for record in worker.events())
    assert occctl("work", "list", "-o", "json", env=scripted.env).ok().json
    others_go_on(bootstrapped, standing, 2)


def test_what_a_driver_says_is_told(ready, scripted, bootstrapped):
    worker = ready("--reconcilers=1")
    scripted.on(
        "ensure_namespace",
        "log info SCRIPTED_NOTE the first + warn SCRIPTED_SLOW it is slow + dependency scripted timeout"
        " + pending SCRIPTED_WAITS 100",
        "retryable SCRIPTED_FAILED",
        "ready",
        subject="patient",
    )
    patient = Admission(bootstrapped, name="patient")
    patient.wait_ready(deadline=30)
    assert patient.evidence()[:2] == ["SCRIPTED_WAITS", "SCRIPTED_FAILED"]
    assert patient.work["attempt_count"] == 2
    noted = worker.wait_for("driver.message", code="SCRIPTED_NOTE")
    assert noted["message"] == "the first" and noted["driver"] == "compute-scripted"
    assert worker.wait_for("worker.completed", workId=patient.key, outcome="pending")["code"] == "SCRIPTED_WAITS"


# K106, K97
def test_a_namespace_is_deleted_through_the_driver(ready, scripted, bootstrapped, occctl):
    ready("--reconcilers=2")
    occctl("namespace", "create", "acme", "--wait", env=scripted.env).ok()
    namespace = bootstrapped.namespace("acme")["id"]
    assert scripted.made("namespace")[namespace]["name"] == "acme"
    scripted.on("delete_namespace", "crash", "pending SCRIPTED_BUSY 100", "effect + kill", subject="acme")
    occctl("namespace", "delete", "acme", "--wait", env=scripted.env, deadline=60).ok()
    assert namespace not in scripted.made("namespace")
    assert len(scripted.changes("delete_namespace", namespaceId=namespace)) == 1


# K113: asked for by name, and refused where the Driver adopts none.
def test_an_existing_namespace_is_adopted_where_the_driver_says_so(ready, scripted, bootstrapped, occctl):
    ready("--reconcilers=1", package="scripted-early")
    refused = occctl("namespace", "create", "other", "--existing-namespace=theirs", "--wait", env=scripted.env)
    assert refused.status != 0 and "EXISTING_NAMESPACE_UNSUPPORTED" in refused.out + refused.err


def test_an_existing_namespace_is_adopted_by_one(ready, scripted, bootstrapped, occctl):
    ready("--reconcilers=1")
    adopt = ("namespace", "create", "--existing-namespace=theirs", "-o", "json")
    made = occctl(*adopt, "mine", "--wait", env=scripted.env).ok().json
    assert made["status"] == "ready" and scripted.made("namespace")[made["id"]]["existingNamespace"] == "theirs"
    result = occctl(*adopt, "other", env=scripted.env)
    assert result.status == 4 and "EXISTING_NAMESPACE_TAKEN" in result.err and f'"mine" ({made["id"]})' in result.err
    occctl("namespace", "delete", "mine", "--wait", env=scripted.env).ok()
    assert made["id"] not in scripted.made("namespace")
    # Whose Namespace is gone is free again.
    assert occctl(*adopt, "other", "--wait", env=scripted.env).ok().json["status"] == "ready"


def test_the_package_is_named_at_the_start(ready):
    worker = ready("--reconcilers=1")
    started = worker.wait_for("worker.started")
    assert started["computeDriverId"] == "compute-scripted" and started["computeImplementation"] == "scripted-1"
    # Packages are loaded in children only.
    assert "scripted.so" not in pathlib.Path(f"/proc/{worker.pid}/maps").read_text()


def test_a_driver_that_wants_another_configuration_ends_the_worker(ready, scripted):
    """What preflight found right and a child finds wrong is for an operator, not for another try."""
    worker = ready("--reconcilers=2")
    scripted.on("open", "permanent X_MOVED forever")
    worker.child("reconciler").kill()
    assert worker.wait(20) == 78
    exited = worker.events("worker.child-exited", role="reconciler")[-1]
    assert (exited["exit"], exited["code"]) == (78, "X_MOVED")
    stopped = worker.events("worker.stopped")[-1]
    assert (stopped["reason"], stopped["exit"]) == ("configuration", 78)
