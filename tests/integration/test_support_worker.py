# SPDX-License-Identifier: MIT
"""The helper that runs a worker fails on what a worker must never do. A script stands in for the program."""

import signal

import pytest

from support import tree
from support.waiting import DeadlineExceeded, poll
from support.worker import Worker

STARTED = """echo '{"severity":"INFO","event":"worker.started","reconcilers":4}' >&2"""
WAIT = "trap 'echo \"{\\\"event\\\":\\\"worker.stopped\\\"}\" >&2; exit 0' TERM; while :; do sleep 0.05; done"


@pytest.fixture
def stand_in(monkeypatch, folder):
    """stand_in(script) is a Worker that runs the script."""
    made = []

    def start(script, **more):
        path = folder / "occ-worker"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(tree, "BUILD", folder)
        made.append(Worker(**more))
        return made[-1]

    yield start
    for each in made:
        each._end_all()


def test_records_are_awaited_and_the_stop_is_clean(stand_in):
    worker = stand_in(f"{STARTED}\n{WAIT}")
    assert worker.wait_for("worker.started", reconcilers=4)["severity"] == "INFO"
    assert worker.wait_for("worker.started", reconcilers=lambda count: count > 3)
    with pytest.raises(DeadlineExceeded, match="no record worker.started reconcilers=5"):
        worker.wait_for("worker.started", deadline=0.1, reconcilers=5)
    assert worker.stop() == 0
    assert worker.events("worker.stopped")
    worker.close()


def test_waiting_ends_when_the_worker_ends(stand_in):
    worker = stand_in(f"{STARTED}\nexit 78")
    with pytest.raises(DeadlineExceeded, match="ended"):
        worker.wait_for("worker.health", deadline=60)
    assert worker.wait() == 78
    worker.close()


def test_a_process_left_over_is_a_failure(stand_in):
    worker = stand_in(f"sleep 1000 2>/dev/null &\n{STARTED}\nexit 0")
    worker.wait()
    with pytest.raises(AssertionError, match="outlived"):
        worker.close()
    poll(lambda: not worker.everyone(), 5)


@pytest.mark.parametrize("line", ["==7==ERROR: LeakSanitizer: detected memory leaks", "plain words"])
def test_a_line_that_is_no_record_is_a_failure(stand_in, line):
    worker = stand_in(f"{STARTED}\necho '{line}' >&2\nexit 0")
    worker.wait()
    with pytest.raises(AssertionError, match=line[:10]):
        worker.close()


def test_a_sanitizers_line_fails_even_where_noise_is_expected(stand_in):
    worker = stand_in("echo 'x.c:1:1: runtime error: division by zero' >&2")
    worker.noise_expected = True
    worker.wait()
    with pytest.raises(AssertionError, match="runtime error"):
        worker.close()


def test_a_worker_that_does_not_stop_is_killed_and_a_failure(stand_in, monkeypatch):
    worker = stand_in(f"trap '' TERM\n{STARTED}\nwhile :; do sleep 0.05; done")
    worker.wait_for("worker.started")
    with pytest.raises(DeadlineExceeded):
        worker.stop(deadline=0.2)
    monkeypatch.setattr(Worker, "stop", lambda self: (_ for _ in ()).throw(DeadlineExceeded("still there")))
    with pytest.raises(DeadlineExceeded):
        worker.close()
    assert worker.process.returncode == -signal.SIGKILL


def test_the_shells_environment_does_not_leak_in(stand_in, monkeypatch):
    monkeypatch.setenv("OCC_DATABASE_URL", "postgresql://developer@production/occ")
    worker = stand_in(f"{STARTED}\n{WAIT}", env={"A": 1, "LANG": None})
    worker.wait_for("worker.started")
    seen = {process.pid: process for process in worker.everyone()}[worker.pid].environment()
    assert "OCC_DATABASE_URL" not in seen and seen["A"] == "1" and "LANG" not in seen
