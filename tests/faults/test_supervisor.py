# SPDX-License-Identifier: MIT
"""Killed, stopped and crashing processes of occ-worker."""

import os
import resource
import shutil
import signal
import subprocess
import threading
import time

import pytest
from support import processes, tree
from support.admission import Admission
from support.fake_engine import Answer
from support.waiting import never, poll


class Stalled:
    """An Engine that has heard the question of one Namespace's pass and does not answer."""

    def __init__(self, engine):
        self.engine = engine
        self.gate = threading.Event()
        self.rule = engine.on("GET", r"/networks/?.*", Answer(200, [], stall=self.gate))

    def asked(self, before):
        poll(lambda: self.engine.count("GET", r"/networks/?.*") > before, 10)

    def go_on(self):
        self.engine.off()
        self.gate.set()


@pytest.fixture
def ready(worker, notify, bootstrapped, fake_engine):
    """ready(*flags) starts a worker on the fake Engine and waits until it is idle."""

    def start(*flags, env=None):
        made = worker(*flags, engine=fake_engine, env={"NOTIFY_SOCKET": notify.path, **(env or {})})
        poll(lambda: notify.ready or not made.running, 15, what="READY")
        poll(lambda: not made.running or {row["state"] for row in bootstrapped.work()} == {"succeeded"}, 15)
        assert made.running, made.log
        return made

    return start


@pytest.fixture
def busy(ready, bootstrapped, fake_engine):
    """busy(*flags): a worker in the middle of a pass: (worker, Admission, Stalled, the reconciler's process)."""

    def start(*flags, env=None):
        made = ready("--reconcilers=1", *flags, env=env)
        before = fake_engine.count("GET", r"/networks/?.*")
        stalled = Stalled(fake_engine)
        namespace = Admission(bootstrapped)
        stalled.asked(before)
        namespace.wait_state("claimed")
        return made, namespace, stalled, made.child("reconciler")

    return start


def zombies(worker):
    return [child for child in processes.children(worker.pid) if child.state == "Z"]


# K05, K17 and the design's figure: at most 100 ms.
def test_a_killed_reconciler_gives_its_item_back_at_once(busy):
    worker, namespace, stalled, reconciler = busy()
    reconciler.kill()
    begun = time.monotonic()
    row = namespace.wait_state("queued", deadline=4.0)
    took = time.monotonic() - begun
    assert row["attempt_count"] == 1
    assert namespace.evidence() == ["WORKER_CRASHED"]
    exited = worker.wait_for("worker.child-exited", role="reconciler")
    assert exited["signal"] == signal.SIGKILL and exited["childPid"] == reconciler.pid
    assert exited["doing"] == "namespace.ensure" and exited["workId"] == namespace.key
    assert exited["namespaceId"] == namespace.id and exited["slot"] == 1
    crashed = worker.wait_for("worker.completed", workId=namespace.key)
    assert crashed["outcome"] == "error" and crashed["code"] == "WORKER_CRASHED" and crashed["attempt"] == 1
    stalled.go_on()
    namespace.wait_ready()
    done = worker.wait_for("worker.completed", workId=namespace.key, outcome="success")
    assert done["attempt"] == 2
    # K50
    poll(lambda: not zombies(worker), 2)
    # Not by the end of its lease: that is five seconds away.
    assert took < 4.0


@pytest.mark.release
def test_a_killed_reconciler_gives_its_item_back_within_100_ms(busy):
    _, namespace, stalled, reconciler = busy()
    reconciler.kill()
    begun = time.monotonic()
    namespace.wait_state("queued", deadline=1.0, patience=False)
    took = time.monotonic() - begun
    stalled.go_on()
    namespace.wait_ready()
    assert took <= 0.1


# K39
def test_a_stopped_reconciler_is_killed_before_its_lease_runs_out(busy):
    worker, namespace, stalled, reconciler = busy("--lease-duration-ms=2000")
    reconciler.kill(signal.SIGSTOP)
    namespace.wait_state("queued", deadline=5)
    assert namespace.evidence() == ["WORKER_HUNG"]
    exited = worker.wait_for("worker.child-exited", role="reconciler")
    assert exited["signal"] == signal.SIGKILL and exited["reason"] == "WORKER_HUNG"
    stalled.go_on()
    namespace.wait_ready()


# K08, K39: busy is not hung.
def test_a_long_pass_is_left_alone(busy):
    worker, namespace, stalled, reconciler = busy("--lease-duration-ms=1500")
    never(lambda: not reconciler.alive or namespace.state != "claimed", 4)
    assert not worker.events("worker.child-exited")
    stalled.go_on()
    namespace.wait_ready()
    assert namespace.work["attempt_count"] == 1


# K48, K49
def test_no_child_outlives_its_supervisor(busy):
    worker, _, _, reconciler = busy()
    everyone = worker.everyone()
    assert len(everyone) == 3
    worker.kill()
    begun = time.monotonic()
    poll(lambda: not [process for process in everyone if process.alive], 2, patience=False)
    assert time.monotonic() - begun < 2
    assert not reconciler.alive


# K48: also when it dies while its children are being started.
def test_no_child_outlives_a_supervisor_that_dies_young(worker, bootstrapped, fake_engine):
    for delay in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15):
        made = worker("--reconcilers=16", engine=fake_engine)
        threading.Event().wait(delay)
        made.kill()
        poll(lambda made=made: not made.everyone(), 2, patience=False)


# K38
def test_a_killed_dispatcher_is_replaced_and_nothing_is_lost(busy):
    worker, namespace, stalled, reconciler = busy()
    dispatcher = worker.child("dispatcher")
    dispatcher.kill()
    reconciler.kill()
    # There was nobody to hand the claim to; the new dispatcher gets it.
    row = namespace.wait_state("queued", deadline=4)
    assert row["attempt_count"] == 1 and namespace.evidence() == ["WORKER_CRASHED"]
    stalled.go_on()
    namespace.wait_ready()
    assert worker.child("dispatcher").pid != dispatcher.pid


# K39: the dispatcher is watched as well.
def test_a_stopped_dispatcher_is_replaced(ready, bootstrapped):
    worker = ready()
    worker.child("dispatcher").kill(signal.SIGSTOP)
    namespace = Admission(bootstrapped)
    exited = worker.wait_for("worker.child-exited", role="dispatcher", deadline=25)
    assert exited["reason"] == "WORKER_HUNG" and exited["signal"] == signal.SIGKILL
    namespace.wait_ready()


def test_a_reload_lets_passes_end(ready, bootstrapped, fake_engine):
    worker = ready("--reconcilers=2")
    before = fake_engine.count("GET", r"/networks/?.*")
    stalled = Stalled(fake_engine)
    namespace = Admission(bootstrapped)
    stalled.asked(before)
    # Only the question that is under way goes on waiting: preflight asks, too.
    fake_engine.off(stalled.rule)
    old = worker.children("reconciler")
    worker.send(signal.SIGHUP)
    # The one with the pass is left.
    poll(lambda: len([process for process in old if process.alive]) == 1 and len(worker.children()) == 3, 10)
    (reconciler,) = [process for process in old if process.alive]
    never(lambda: not reconciler.alive, 0.5)
    # Nobody else's work waits for it.
    Admission(bootstrapped).wait_ready()
    stalled.go_on()
    worker.wait_for("worker.reloaded")
    namespace.wait_ready()
    assert namespace.work["attempt_count"] == 1
    poll(lambda: not reconciler.alive, 5)
    assert not worker.events("worker.child-exited")


def test_every_child_killed_at_once(ready, bootstrapped):
    worker = ready()
    before = worker.children()
    for child in before:
        child.kill()
    poll(lambda: len(worker.children()) == 5 and not set(before) & set(worker.children()), 10)
    Admission(bootstrapped).wait_ready()
    assert not zombies(worker)


DEBUGGER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE = 0x4206
if libc.ptrace(PTRACE_SEIZE, int(sys.argv[1]), None, None) != 0:
    sys.exit(f"ptrace: {ctypes.get_errno()}")
print("holds", flush=True)
sys.stdin.read()
"""


# K10, K50: dead for its pidfd, and for its parent only when the debugger lets go.
@pytest.mark.parametrize("role", ["reconciler", "dispatcher"])
def test_a_child_that_dies_under_a_debugger_is_reaped(ready, role):
    worker_ = ready("--reconcilers=1")
    child = worker_.child(role)
    command = ["/usr/bin/python3", "-c", DEBUGGER, str(child.pid)]
    debugger = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert debugger.stdout.readline() == "holds\n"
        child.kill()
        poll(lambda: processes.look(child.pid).state == "Z", 10)
        never(lambda: worker_.events("worker.child-exited", childPid=child.pid), 0.3)
    finally:
        debugger.communicate()
    worker_.wait_for("worker.child-exited", childPid=child.pid, signal=9)
    poll(lambda: worker_.children(role), 10)
    assert worker_.stop() == 0


# K51, K66
def test_a_crash_loop_backs_off(ready, bootstrapped):
    worker = ready("--reconcilers=1")
    killed = set()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        for child in worker.children("reconciler"):
            if child.pid not in killed:
                killed.add(child.pid)
                child.kill()
        threading.Event().wait(0.005)
    # 100, 200, 400, 800, 1600, 3200 ms: not more than these fit.
    assert 3 <= len(killed) <= 7
    waits = [record["retryInMs"] for record in worker.events("worker.child-exited", role="reconciler")]
    assert waits[:4] == [100, 200, 400, 800]
    assert worker.running
    Admission(bootstrapped).wait_ready(30)


# K51: a worker in which nothing can live is its service manager's.
def test_a_worker_whose_children_keep_ending_ends(ready):
    worker = ready("--reconcilers=1")
    killed = set()

    def ended():
        for child in worker.children("dispatcher"):
            if child.pid not in killed:
                killed.add(child.pid)
                child.kill()
        return not worker.running

    # 100 ms, doubled nine times, is 51 seconds.
    poll(ended, 75, interval=0.005)
    assert worker.wait() == 70
    told = worker.events("worker.error", code="WORKER_UNAVAILABLE")[-1]
    assert "children keep ending" in told["message"] and told["role"] == "supervisor"
    stopped = worker.events("worker.stopped")[-1]
    assert (stopped["reason"], stopped["exit"]) == ("children", 70)
    assert len(killed) == 10


# K52
def test_not_ready_without_a_live_reconciler(ready, folder):
    marker = folder / "ready"
    worker = ready("--reconcilers=1", f"--readiness-path={marker}")
    killed = set()
    text = None
    end = time.monotonic() + 9
    while time.monotonic() < end:
        for child in worker.children("reconciler"):
            if child.pid not in killed:
                killed.add(child.pid)
                child.kill()
        if len(killed) > 5 and text is None:
            text = marker.read_text()
        threading.Event().wait(0.005)
    assert text is not None
    # Between two short-lived reconcilers there is nobody for seconds, and the marker grows old.
    assert int(marker.read_text()) - int(text) < 6000


# K60, K18
def test_drain_waits_for_the_pass(busy, folder):
    worker, namespace, stalled, _ = busy()
    worker.send(signal.SIGTERM)
    worker.wait_for("worker.draining")
    never(lambda: not worker.running, 0.5)
    other = Admission(namespace.database)
    stalled.go_on()
    assert worker.wait() == 0
    assert namespace.state == "succeeded" and namespace.work["attempt_count"] == 1
    # Nothing new was begun.
    assert other.state == "queued" and other.work["attempt_count"] == 0


# K18, K60
def test_drain_hands_back_at_its_end(busy):
    worker, namespace, stalled, _ = busy("--drain-timeout-ms=300")
    begun = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - begun < 5
    row = namespace.work
    assert row["state"] == "queued" and row["attempt_count"] == 0
    assert namespace.database.one(
        "select available_at <= now() from occ.controller_work where idempotency_key = %s", namespace.key
    )
    assert namespace.evidence() == ["WORKER_DRAINING"]
    assert worker.events("worker.completed", workId=namespace.key, code="WORKER_DRAINING")
    stalled.go_on()


# K58: a pass that obeys nothing.
def test_drain_kills_who_does_not_obey(busy):
    worker, namespace, stalled, reconciler = busy("--drain-timeout-ms=300", "--lease-duration-ms=60000")
    reconciler.kill(signal.SIGSTOP)
    begun = time.monotonic()
    assert worker.stop() == 0
    assert 5 < time.monotonic() - begun < 12
    row = namespace.work
    assert row["state"] == "queued" and row["attempt_count"] == 1
    assert namespace.evidence() == ["WORKER_HUNG"]
    assert [record["phase"] for record in worker.events("worker.draining")] == ["finish", "abort", "kill"]
    stalled.go_on()


def test_a_second_signal_hurries(busy):
    worker, namespace, stalled, _ = busy()
    worker.send(signal.SIGTERM)
    worker.wait_for("worker.draining")
    begun = time.monotonic()
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert time.monotonic() - begun < 4
    assert namespace.work["attempt_count"] == 0 and namespace.state == "queued"
    stalled.go_on()


# K57: whatever the whole group is sent, passes end in order.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_whole_group_is_a_drain(busy, number):
    worker, namespace, stalled, _ = busy()
    os.killpg(worker.pid, number)
    worker.wait_for("worker.draining")
    stalled.go_on()
    assert worker.wait() == 0
    assert namespace.state == "succeeded" and namespace.work["attempt_count"] == 1
    assert not worker.events("worker.child-exited")


def test_a_stopped_supervisor_does_not_take_its_children_for_hung(busy):
    worker, namespace, stalled, reconciler = busy("--lease-duration-ms=2000")
    worker.send(signal.SIGSTOP)
    threading.Event().wait(4)
    worker.send(signal.SIGCONT)
    never(lambda: not reconciler.alive, 1.5)
    stalled.go_on()
    namespace.wait_ready()
    assert namespace.work["attempt_count"] == 1
    assert not worker.events("worker.child-exited")


def test_a_stop_during_the_start(worker, bootstrapped, fake_engine):
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1, 0.2):
        made = worker(engine=fake_engine)
        poll(lambda made=made: processes.look(made.pid) is None or made.children() or made.records, 10, interval=0.001)
        threading.Event().wait(delay)
        assert made.stop() == 0, made.log


# K17: an item that kills its worker ends with its attempts.
def test_an_item_that_keeps_killing_ends(busy):
    worker, namespace, stalled, reconciler = busy("--max-attempts=2")
    reconciler.kill()
    namespace.wait_state("queued")
    poll(lambda: namespace.state == "claimed" and worker.children("reconciler"), 15)
    poll(lambda: namespace.work["attempt_count"] == 2, 5)
    worker.child("reconciler").kill()
    row = namespace.wait_state("failed_permanent")
    assert row["attempt_count"] == 2
    # K88
    assert namespace.status == "failed"
    stalled.go_on()


# K56: no state of a child without a child; and it recovers by itself.
def test_a_child_that_cannot_be_started_is_tried_again(ready, bootstrapped):
    worker = ready("--reconcilers=1")
    _, hard = resource.prlimit(worker.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (3, hard))
    worker.child("reconciler").kill()
    worker.wait_for("worker.error", code="WORKER_SPAWN_FAILED")
    never(lambda: worker.children("reconciler"), 0.5)
    resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (1024, hard))
    Admission(bootstrapped).wait_ready(30)


# An upgrade under a running worker never mixes versions.
def test_children_are_of_the_supervisors_own_file(ready, bootstrapped, folder, monkeypatch):
    program = folder / "occ-worker"
    shutil.copy2(tree.program("occ-worker"), program)
    monkeypatch.setattr(tree, "program", lambda name: str(program))
    worker = ready("--reconcilers=1")
    (folder / "new").write_text("#!/bin/false\n")
    (folder / "new").chmod(0o755)
    (folder / "new").rename(program)
    before = worker.child("reconciler")
    before.kill()
    Admission(bootstrapped).wait_ready()
    assert worker.child("reconciler").pid != before.pid


def test_two_workers_share_the_work(worker, bootstrapped, fake_engine, folder):
    both = [worker("--reconcilers=3", engine=fake_engine) for _ in range(2)]
    for each in both:
        each.wait_for("worker.started")
    namespaces = [Admission(bootstrapped) for _ in range(60)]
    for namespace in namespaces:
        namespace.wait_ready(40)
    for each in both:
        assert each.stop() == 0
    done = [record["workId"] for each in both for record in each.events("worker.completed", outcome="success")]
    assert sorted(done) == sorted(row["idempotency_key"] for row in bootstrapped.work())
    assert fake_engine.count("POST", "/networks/create") == 61


# K60: what was handed back, another worker begins at once.
def test_a_successor_begins_at_once(busy, worker, fake_engine):
    first, namespace, stalled, _ = busy("--drain-timeout-ms=200", "--lease-duration-ms=60000")
    assert first.stop() == 0
    stalled.go_on()
    worker(engine=fake_engine)
    namespace.wait_ready(10)
    assert namespace.work["attempt_count"] == 1
