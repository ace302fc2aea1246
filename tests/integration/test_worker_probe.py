# SPDX-License-Identifier: MIT
"""occ-worker --probe: what a kubelet asks in the worker's container."""

import time

import pytest
from support.program import run
from support.waiting import poll


def probe(which, *flags, **env):
    return run("occ-worker", "--probe", which, *flags, env=env)


def marker(folder, age, name="sign"):
    """A marker that was written `age` seconds ago."""
    path = folder / name
    path.write_text(f"{int((time.time() - age) * 1000)}\n")
    path.chmod(0o600)
    return path


def says(result, *words):
    assert result.status == 1 and result.out == "", result
    assert len(result.err.splitlines()) == 1, result
    for word in words:
        assert str(word) in result.err, result


@pytest.mark.parametrize("which", ["readiness", "liveness"])
def test_a_fresh_marker(folder, which):
    path = marker(folder, 60)
    told = probe(which, **{f"OCC_WORKER_{which.upper()}_PATH": path})
    assert (told.status, told.out, told.err) == (0, "", "")
    assert probe(which, f"--{which}-path={path}").status == 0


def test_neither_mode_nor_database_is_needed_and_wrong_ones_do_not_matter(folder):
    path = marker(folder, 0)
    assert probe("readiness", OCC_WORKER_READINESS_PATH=path, NODE_ENV="production", OCC_DATABASE_URL="x://").status == 0


@pytest.mark.parametrize(
    ("age", "env", "fresh"),
    [
        (130, {}, False),
        (130, {"OCC_WORKER_POLL_INTERVAL_MS": "1000"}, True),  # 240 s
        (250, {"OCC_WORKER_POLL_INTERVAL_MS": "1000"}, False),
        (250, {"OCC_WORKER_LEASE_DURATION_MS": "50000"}, True),  # 300 s
        (310, {"OCC_WORKER_LEASE_DURATION_MS": "50000"}, False),
        (310, {"OCC_WORKER_DATABASE_TIMEOUT_MS": "200000"}, True),  # 400 s
        (410, {"OCC_WORKER_DATABASE_TIMEOUT_MS": "200000"}, False),
        (-5, {}, True),
    ],
)
def test_when_a_marker_is_stale(folder, age, env, fresh):
    told = probe("liveness", OCC_WORKER_LIVENESS_PATH=marker(folder, age), **env)
    if fresh:
        assert told.status == 0, told
    else:
        says(told, "not alive", "stale", folder / "sign")


def test_what_is_no_marker(folder):
    says(probe("readiness", OCC_WORKER_READINESS_PATH=folder / "none"), "not ready", "OCC_WORKER_READINESS_PATH",
         folder / "none", "does not exist")  # fmt: skip
    for text in ("", "soon\n", "-5\n", "9" * 40):
        (folder / "wrong").write_text(text)
        says(probe("readiness", OCC_WORKER_READINESS_PATH=folder / "wrong"), folder / "wrong")
    says(probe("liveness"), "OCC_WORKER_LIVENESS_PATH")


def test_a_wrong_command_line():
    assert run("occ-worker", "--probe", "happiness").status == 2
    assert probe("liveness", OCC_WORKER_POLL_INTERVAL_MS="soon").status == 78


def test_a_worker_that_is_ready_until_it_stops(worker, fake_engine, folder):
    env = {"OCC_WORKER_READINESS_PATH": folder / "ready", "OCC_WORKER_LIVENESS_PATH": folder / "live"}
    made = worker(engine=fake_engine, env=env)
    poll(lambda: probe("readiness", **env).status == 0, 20, what="readiness")
    assert probe("liveness", **env).status == 0
    assert made.stop() == 0
    says(probe("readiness", **env), "does not exist")
