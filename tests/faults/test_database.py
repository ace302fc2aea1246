# SPDX-License-Identifier: MIT
"""The database goes away, comes back, is cut or falls silent, while occ-worker runs."""

import signal
import threading
import time

import pytest
from support.admission import Admission
from support.database import Database
from support.fake_engine import Answer
from support.waiting import never, poll


@pytest.fixture
def started(worker, notify, fake_engine):
    def start(*flags, env=None, **more):
        made = worker(*flags, engine=fake_engine, env={"NOTIFY_SOCKET": notify.path, **(env or {})}, **more)
        poll(lambda: notify.ready or not made.running, 15, what="READY")
        assert made.running, made.log
        return made

    return start


@pytest.fixture
def own(own_cluster, folder):
    """A bootstrapped database on a server that the test may stop."""
    from conftest import bootstrap

    made = Database.create(own_cluster).migrate()
    bootstrap(made, folder).ok()
    return made


# K23, K37, K38, K42
def test_a_restart_of_the_server(started, own):
    worker = started(database=own)
    everyone = {child.pid for child in worker.children()}
    Admission(own).wait_ready()
    own.cluster.stop()
    worker.wait_for("worker.error", code="PERSISTENCE_UNAVAILABLE")
    own.cluster.start()
    worker.wait_for("worker.health", outageMs=lambda value: value is not None, deadline=15)
    Admission(own).wait_ready()
    assert worker.running
    assert everyone == {child.pid for child in worker.children()}, "no process ended for it"


# K25, K66
def test_a_long_outage_is_quiet(started, own):
    worker = started("--reconcilers=8", "--drain-timeout-ms=1000", database=own)
    Admission(own).wait_ready()
    mark = worker.mark()
    own.cluster.stop()
    worker.wait_for("worker.error", since=mark)
    before, at = cpu(worker), time.monotonic()
    never(lambda: not worker.running, 6)
    assert (cpu(worker) - before) / (time.monotonic() - at) < 0.05
    assert len(worker.records) - mark <= 12, worker.log
    assert len(worker.events("worker.error", role="dispatcher")) <= 2
    # K59
    begun = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - begun < 5


# K39, K85: liveness tells that the worker moves, readiness that it can see the queue.
def test_markers_in_an_outage(started, own, folder):
    ready, live = folder / "ready", folder / "live"
    worker = started(f"--readiness-path={ready}", f"--liveness-path={live}", database=own)
    poll(lambda: ready.exists() and live.exists(), 10)
    mark = worker.mark()
    own.cluster.stop()
    worker.wait_for("worker.error", since=mark, role="dispatcher")
    seen, moved = ready.read_text(), {live.read_text()}
    poll(lambda: moved.add(live.read_text()) or len(moved) == 3, 20)
    assert ready.read_text() == seen
    own.cluster.start()
    poll(lambda: ready.read_text() != seen, 20)
    assert worker.stop() == 0


def cpu(worker):
    return sum(process.cpu_seconds() for process in worker.everyone())


# K24: sessions killed by an administrator, again and again.
def test_killed_sessions(started, bootstrapped):
    worker = started()
    for _ in range(5):
        bootstrapped.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and usename = 'occ_app'",
            bootstrapped.name,
        )
        Admission(bootstrapped).wait_ready(20)
    assert worker.running
    poll(lambda: len(bootstrapped.query(LISTENING, bootstrapped.name)) == 1, 10)


LISTENING = (
    "select 1 from pg_stat_activity where datname = %s and application_name = 'occ-worker dispatcher'"
    " and state is not null"
)


# K22, K40, K85: the path goes silent without a word.
def test_a_silent_path(started, proxied, bootstrapped):
    path, env = proxied
    worker = started("--poll-interval-ms=200", env=env)
    Admission(bootstrapped).wait_ready()
    path.silence()
    worker.wait_for("worker.error", code="PERSISTENCE_UNAVAILABLE", cause="timeout", deadline=15)
    assert worker.running
    path.restore()
    worker.wait_for("worker.health", outageMs=lambda value: value is not None, deadline=30)
    Admission(bootstrapped).wait_ready(30)


def test_a_path_that_is_cut(started, proxied, bootstrapped):
    path, env = proxied
    worker = started(env=env)
    for _ in range(3):
        path.cut()
        Admission(bootstrapped).wait_ready(20)
    assert worker.running


# K39: who waits for a database that is silent does not hang.
def test_an_outcome_that_meets_silence(started, proxied, bootstrapped, fake_engine):
    path, env = proxied
    worker = started("--lease-duration-ms=2000", "--reconcilers=1", env=env)
    Admission(bootstrapped).wait_ready()
    poll(lambda: {row["state"] for row in bootstrapped.work()} == {"succeeded"}, 15)
    gate = threading.Event()
    rule = fake_engine.on("GET", r"/networks/?.*", Answer(200, [], stall=gate))
    before = fake_engine.count("GET", r"/networks/?.*")
    namespace = Admission(bootstrapped)
    poll(lambda: fake_engine.count("GET", r"/networks/?.*") > before, 10)
    path.silence()
    fake_engine.off(rule)
    gate.set()
    never(lambda: worker.events("worker.child-exited"), 4)
    path.restore()
    namespace.wait_ready(30)
    assert not worker.events("worker.child-exited")
    assert fake_engine.count("POST", "/networks/create") == len(fake_engine.networks)


# K01, K23: each time the path is there for a moment, what is due is done; and nobody dials without a pause.
def test_a_path_that_flaps(started, proxied, bootstrapped):
    path, env = proxied
    worker = started("--reconcilers=1", env=env)
    over = threading.Event()

    def flap():
        while not over.wait(0.4):
            path.cut()

    thread = threading.Thread(target=flap)
    thread.start()
    try:
        seen = path.accepted
        poll(lambda: path.accepted >= seen + 8, 30, what="delays that would have grown to seconds")
        seen, begun = path.accepted, time.monotonic()
        for _ in range(3):
            lost = Admission(bootstrapped)
            bootstrapped.execute("set session_replication_role = replica")
            bootstrapped.execute(
                "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
                " lease_expires_at = now() - interval '1 second', available_at = now() - interval '1 second'"
                " where idempotency_key = %s",
                lost.key,
            )
            bootstrapped.execute("set session_replication_role = origin")
            poll(lambda lost=lost: "LEASE_EXPIRED" in lost.evidence(), 2.5, what="recovery")
        dialled, took = path.accepted - seen, time.monotonic() - begun
    finally:
        over.set()
        thread.join()
    # Both processes that have a connection, four times a second each.
    assert dialled <= 8 * took + 8
    assert worker.running


# K22: whoever polls each minute hears within seconds that the database is gone, and that nobody listens any more.
def test_a_long_poll_interval_delays_no_check(started, proxied, bootstrapped, folder):
    path, env = proxied
    marker = folder / "ready"
    worker = started("--poll-interval-ms=600000", f"--readiness-path={marker}", env=env)
    Admission(bootstrapped).wait_ready()
    text = marker.read_text()
    poll(lambda: marker.read_text() != text, 8)
    path.silence()
    worker.wait_for("worker.error", code="PERSISTENCE_UNAVAILABLE", cause="timeout", deadline=15)
    path.restore()
    worker.wait_for("worker.health", outageMs=lambda value: value is not None, deadline=15)


# K59
@pytest.mark.parametrize("how", ["silence", "cut"])
def test_a_stop_without_the_database(started, proxied, how):
    path, env = proxied
    worker = started("--drain-timeout-ms=1000", env=env)
    getattr(path, how)()
    begun = time.monotonic()
    assert worker.stop(signal.SIGTERM) == 0
    assert time.monotonic() - begun < 8


# K59: an order that arrives while a connection is being made is not waited for again.
def test_a_stop_in_the_middle_of_connecting(started, proxied):
    path, env = proxied
    worker = started("--reconcilers=1", env=env)
    path.down()
    worker.wait_for("worker.error", code="PERSISTENCE_UNAVAILABLE")
    # By now it waits for seconds between its attempts.
    never(lambda: not worker.running, 6.5)
    path.silence()
    before = path.accepted
    poll(lambda: path.accepted > before, 10)
    begun = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - begun < 1.5
    assert not worker.events("worker.child-exited")


# K26: without notifications the poll finds the work.
def test_without_notifications(started, bootstrapped):
    started("--poll-interval-ms=200")
    bootstrapped.query(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where datname = %s and application_name = 'occ-worker dispatcher'",
        bootstrapped.name,
    )
    bootstrapped.execute("alter table occ.controller_work disable trigger user")
    Admission(bootstrapped).wait_ready()


def test_a_reconciler_that_the_database_refuses_is_tried_again(started, own):
    """What was verified and is refused now does not end the worker, nor cost its work an attempt."""
    worker = started("--reconcilers=1", database=own)
    poll(lambda: {row["state"] for row in own.work()} == {"succeeded"}, 15)
    # Another one, which has no connection yet.
    before = worker.child("reconciler")
    before.kill()
    poll(lambda: [child for child in worker.children("reconciler") if child.pid != before.pid], 10)
    own.execute("alter role occ_app password 'another-one'")
    namespace = Admission(own)
    refused = worker.wait_for("worker.child-exited", role="reconciler", code="DATABASE_AUTHENTICATION_FAILED")
    assert refused["exit"] == 75
    own.execute(f"alter role occ_app password '{own.cluster.passwords['occ_app']}'")
    namespace.wait_ready(30)
    assert namespace.work["attempt_count"] == 1


def test_the_password_changes_while_it_runs(started, own):
    """Nothing ends: the next reload, or the old password, brings it back."""
    worker = started(database=own)
    own.execute("alter role occ_app password 'another-one'")
    own.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'occ_app'")
    worker.wait_for("worker.error", code="DATABASE_AUTHENTICATION_FAILED")
    never(lambda: not worker.running, 2)
    own.execute(f"alter role occ_app password '{own.cluster.passwords['occ_app']}'")
    Admission(own).wait_ready(30)
