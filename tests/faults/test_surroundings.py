# SPDX-License-Identifier: MIT
"""Odd surroundings of occ-worker: closed descriptors, none left, a queue full of what others left."""

import itertools
import resource
import signal
import subprocess
import threading
import time

import pytest

from support import processes, tree
from support.admission import Admission
from support.clock import Clock
from support.fake_engine import Answer
from support.program import environment, run
from support.waiting import never, poll


@pytest.fixture
def ready(worker, notify, bootstrapped, fake_engine):
    def start(*flags, env=None, **more):
        made = worker(*flags, engine=fake_engine, env={"NOTIFY_SOCKET": notify.path, **(env or {})}, **more)
        poll(lambda: notify.ready or not made.running, 15, what="READY")
        poll(lambda: not made.running or {row["state"] for row in bootstrapped.work()} == {"succeeded"}, 15)
        assert made.running, made.log
        return made

    return start


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors(bootstrapped, fake_engine, closed):
    """Nothing else gets their numbers: what is meant for stderr must never reach a channel or the database."""
    env = {"NODE_ENV": "development", "DOCKER_HOST": fake_engine.host, **bootstrapped.environment()}
    program = tree.program("occ-worker")
    made = subprocess.Popen(
        ["sh", "-c", f'exec "$0" --lease-duration-ms=2000 {closed}', program],
        env=environment(env), cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        namespaces = [Admission(bootstrapped) for _ in range(3)]
        for namespace in namespaces:
            namespace.wait_ready(20)
        for process in processes.in_session(made.pid):
            points = process.descriptors()
            assert {points.get(0), points.get(1), points.get(2)} == {"/dev/null"}, (process.arguments, points)
        # It has something to say.
        fake_engine.on("POST", "/networks/create", [Answer(500, {"message": "no"}) for _ in range(3)])
        processes.children(made.pid)[0].kill()
        Admission(bootstrapped).wait_ready(20)
        made.send_signal(signal.SIGTERM)
        assert made.wait(15) == 0
    finally:
        for process in processes.in_session(made.pid):
            process.kill()
        made.wait()


def test_programs_with_closed_descriptors(bootstrapped):
    env = {"NODE_ENV": "development", "OCC_SERVICE_KEY_FILE": bootstrapped.key_file, **bootstrapped.environment()}
    for name, arguments in (("occctl", "namespace list"), ("occ-migrate", "--check"), ("occ-bootstrap", "")):
        if name == "occ-migrate":
            env.update(bootstrapped.environment("OCC_MIGRATION_DATABASE_URL"))
        for closed in ("2>&-", "<&- 2>&-"):
            shown = run("/bin/sh", "-c", f'exec "$0" {arguments} {closed}', tree.program(name), env=env)
            wanted = run(name, *arguments.split(), env=env)
            assert (shown.status, len(shown.out) > 0) == (wanted.status, len(wanted.out) > 0), name


def lowest_free(process):
    used = process.descriptors()
    return next(number for number in itertools.count() if number not in used)


# K56: a verification that cannot be started has failed; it is not waited for.
def test_a_reload_without_descriptors(ready, bootstrapped, notify):
    worker = ready("--reconcilers=1")
    supervisor = processes.look(worker.pid)
    _, hard = resource.prlimit(worker.pid, resource.RLIMIT_NOFILE)
    # One is left for the snapshot, and none for the channel.
    resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (lowest_free(supervisor) + 1, hard))
    worker.send(signal.SIGHUP)
    worker.wait_for("worker.error", code="WORKER_SPAWN_FAILED", role="reload")
    poll(lambda: notify.status.startswith("Reload failed"), 5)
    assert "READY" in notify.messages[-1][2] or "READY" in notify.messages[-2][2]
    resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (1024, hard))
    worker.send(signal.SIGHUP)
    worker.wait_for("worker.reloaded")
    Admission(bootstrapped).wait_ready()


@pytest.mark.parametrize("left", (4, 5, 6, 8, 10))
def test_a_start_without_descriptors(bootstrapped, fake_engine, left):
    """However few there are: it says what is wrong, or it starts; it never stays without a word."""
    env = {"NODE_ENV": "development", "DOCKER_HOST": fake_engine.host, **bootstrapped.environment()}
    made = subprocess.Popen(
        ["sh", "-c", f'ulimit -n {left}; exec "$0"', tree.program("occ-worker")], env=environment(env), cwd="/",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(made.stderr.readline, "")), daemon=True)
    reader.start()
    try:
        poll(lambda: made.poll() is not None or lines, 15)
        made.send_signal(signal.SIGTERM)
        assert made.wait(15) in (0, 69, 70, 78, -signal.SIGABRT), lines
    finally:
        for process in processes.in_session(made.pid):
            process.kill()
        made.wait()


# K07: pages are taken until one is short, whatever else a page brought along.
def test_recovery_does_not_stop_half_way(worker, bootstrapped, fake_engine):
    spent = Admission(bootstrapped)
    bootstrapped.execute("set session_replication_role = replica")  # no claim goes such a way
    bootstrapped.execute("update occ.controller_work set attempt_count = 5 where idempotency_key = %s", spent.key)
    for _ in range(250):
        Admission(bootstrapped)
    bootstrapped.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
        " lease_expires_at = now() - interval '1 second' where idempotency_key <> %s",
        spent.key,
    )
    bootstrapped.execute("set session_replication_role = origin")
    worker("--poll-interval-ms=60000", "--max-attempts=5", engine=fake_engine)
    poll(
        lambda: not bootstrapped.query(
            "select 1 from occ.controller_work where state = 'claimed' and lease_expires_at < now() limit 1"
        ),
        6,
    )
    assert spent.state == "failed_permanent" and spent.evidence() == ["MAX_ATTEMPTS_EXHAUSTED"]


# The sanitizers' own library must be loaded first.
@pytest.mark.release
@pytest.mark.parametrize("jump", [-86400, 86400])
def test_the_time_of_day_jumps(ready, bootstrapped, fake_engine, folder, jump):
    """Only what outsiders read is of the time of day; leases, delays and limits go on as they were."""
    clock = Clock(folder, "occ-worker")
    markers = folder / "ready", folder / "live"
    worker = ready(
        "--reconcilers=1", "--lease-duration-ms=3000", f"--readiness-path={markers[0]}", f"--liveness-path={markers[1]}",
        program=clock.command,
    )  # fmt: skip
    gate = threading.Event()
    rule = fake_engine.on("GET", r"/networks/?.*", Answer(200, [], stall=gate))
    before = fake_engine.count("GET", r"/networks/?.*")
    busy = Admission(bootstrapped)
    poll(lambda: fake_engine.count("GET", r"/networks/?.*") > before, 10)
    clock.set(jump)
    # The pass outlives its lease several times; the markers tell the new time, though it be an earlier one.
    for marker in markers:
        poll(lambda marker=marker: abs(int(marker.read_text()) / 1000 - time.time() - jump) < 60, 12)
    texts = [marker.read_text() for marker in markers]
    for marker, text in zip(markers, texts):
        poll(lambda marker=marker, text=text: int(marker.read_text()) > int(text), 12)
    fake_engine.off(rule)
    gate.set()
    busy.wait_ready()
    Admission(bootstrapped).wait_ready()
    assert busy.work["attempt_count"] == 1
    assert not worker.events("worker.child-exited") and not worker.events("worker.error")
    worker.child("reconciler").kill()
    Admission(bootstrapped).wait_ready()
    # All processes have the new time.
    assert worker.events("worker.child-exited")[0]["time"][:10] != worker.events("worker.started")[0]["time"][:10]
    assert worker.stop() == 0


@pytest.fixture
def small_disk(folder):
    """A file system that holds one file."""
    made = folder / "disk"
    made.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=0755", "none", str(made)], check=True)
    yield made
    subprocess.run(["umount", str(made)], check=True)


# K91
def test_a_full_disk_under_the_markers(ready, bootstrapped, small_disk):
    big = small_disk / "big"
    big.write_bytes(bytes(4096))
    worker = ready(f"--readiness-path={small_disk}/ready", f"--liveness-path={small_disk}/live")
    told = worker.wait_for("worker.error", code="HEALTH_UNAVAILABLE")
    assert "the disk is full" in told["message"] and str(small_disk) in told["message"]
    # It works all the same, and nothing is left of what could not be written.
    Admission(bootstrapped).wait_ready()
    never(lambda: {path.name for path in small_disk.iterdir() if path.name != "big" and path.name[0] != "."}, 6)
    poll(lambda: [path.name for path in small_disk.iterdir()] == ["big"], 5)
    # Each marker is told of once, not with each try.
    assert len(worker.events("worker.error")) == 2
    big.unlink()
    poll(lambda: list(small_disk.iterdir()), 12)
    assert [row["attempt_count"] for row in bootstrapped.work()] == [1, 1]
    assert worker.stop() == 0


def test_a_disk_that_fills_under_a_marker(ready, small_disk):
    """What stands there is not damaged: it grows old, as it should."""
    marker = small_disk / "ready"
    worker = ready(f"--readiness-path={marker}")
    poll(marker.exists, 10)
    text = marker.read_text()
    worker.wait_for("worker.error", code="HEALTH_UNAVAILABLE")  # a second file has no room beside it
    assert marker.read_text() == text and [path.name for path in small_disk.iterdir()] == ["ready"]
    assert worker.stop() == 0
    assert list(small_disk.iterdir()) == []
