# SPDX-License-Identifier: MIT
"""Odd surroundings of occ-worker: closed descriptors, none left, a queue full of what others left."""

import itertools
import resource
import signal
import subprocess
import threading

import pytest

from support import processes, tree
from support.admission import Admission
from support.fake_engine import Answer
from support.program import environment, run
from support.waiting import poll


@pytest.fixture
def ready(worker, notify, bootstrapped, fake_engine):
    def start(*flags, env=None):
        made = worker(*flags, engine=fake_engine, env={"NOTIFY_SOCKET": notify.path, **(env or {})})
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
