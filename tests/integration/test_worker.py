# SPDX-License-Identifier: MIT
"""occ-worker from its start to its stop, with everything in order."""

import os
import re
import signal
import stat
import threading
import time
import urllib.parse

import pytest
from support.admission import Admission
from support.fake_engine import Answer
from support.program import run
from support.waiting import never, poll


@pytest.fixture
def environment(bootstrapped, fake_engine):
    return {"NODE_ENV": "development", "DOCKER_HOST": fake_engine.host, **bootstrapped.environment()}


def started(worker, notify, *flags, env=None, **more):
    made = worker(*flags, env={"NOTIFY_SOCKET": notify.path, **(env or {})}, **more)
    poll(lambda: notify.ready or not made.running, 15, what="READY")
    assert made.running, made.log
    return made


def test_check_reports_what_was_verified(environment, bootstrapped):
    result = run("occ-worker", "--check", env=environment).ok()
    installation = bootstrapped.one("select id from occ.installation")
    for text in (installation, "compute-docker-development", "docker-local", bootstrapped.name, "occ_app"):
        assert text in result.out
    assert result.out.endswith("Result: the worker can start.\n")
    assert result.err == ""


def test_check_speaks_json(environment, bootstrapped):
    result = run("occ-worker", "--check", "-o", "json", env=environment).ok()
    data = result.json["data"]
    assert data["ok"] is True and data["exitStatus"] == 0
    assert data["problems"] == []
    assert data["facts"]["installationId"] == bootstrapped.one("select id from occ.installation")
    assert data["facts"]["databaseName"] == bootstrapped.name
    assert data["facts"]["iam"] == "sound"


def test_a_namespace_becomes_ready(worker, bootstrapped, fake_engine):
    worker_ = worker(engine=fake_engine)
    namespace = Admission(bootstrapped)
    namespace.wait_ready()
    done = worker_.wait_for("worker.completed", workId=namespace.key)
    assert done["namespaceId"] == namespace.id
    assert done["operation"] == "namespace.ensure"
    assert done["attempt"] == 1
    assert done["outcome"] == "success"
    assert done["code"] == "NAMESPACE_RECONCILED"
    assert isinstance(done["durationMs"], int)
    # This one and `default`.
    poll(lambda: len(fake_engine.networks) == 2, 5)


def test_many_namespaces_each_once(worker, bootstrapped, fake_engine):
    namespaces = [Admission(bootstrapped) for _ in range(40)]
    worker_ = worker(engine=fake_engine)
    for namespace in namespaces:
        namespace.wait_ready(30)
    worker_.wait_for("worker.completed", count=41, outcome="success")
    assert len({record["workId"] for record in worker_.events("worker.completed", outcome="success")}) == 41
    assert fake_engine.count("POST", "/networks/create") == 41


# K44, K123
def test_the_start_names_database_and_installation(worker, bootstrapped, fake_engine):
    begun = worker(engine=fake_engine).wait_for("worker.started")
    assert begun["installationId"] == bootstrapped.one("select id from occ.installation")
    assert begun["databaseName"] == bootstrapped.name
    assert begun["databaseHost"] == f"127.0.0.1:{bootstrapped.cluster.port}"
    assert begun["computeDriverId"] == "compute-docker-development"
    assert begun["computeImplementation"] == "docker-local"
    assert begun["mode"] == "development" and begun["reconcilers"] == 4
    assert re.fullmatch(r"\d+\.\d+\.\d+", begun["version"])


# K62, K63
def test_the_service_manager_hears_the_supervisor_alone(worker, notify, fake_engine):
    worker_ = started(worker, notify, engine=fake_engine)
    assert len(notify.seen("READY", "1")) == 1
    assert notify.seen("EXTEND_TIMEOUT_USEC")
    assert "reconcilers" in notify.status
    assert worker_.stop() == 0
    assert len(notify.seen("STOPPING", "1")) == 1
    assert {pid for _, pid, _ in notify.messages} == {worker_.pid}


def test_ready_with_more_work_than_hands(worker, bootstrapped, notify, fake_engine):
    gate = threading.Event()
    for _ in range(8):
        Admission(bootstrapped)
    fake_engine.on("POST", "/networks/create", lambda request: Answer(200, stall=gate))
    started(worker, notify, "--reconcilers=2", engine=fake_engine)
    fake_engine.off()
    gate.set()


def test_without_a_service_manager_it_works_as_well(worker, fake_engine, folder):
    worker_ = worker("--readiness-path", folder / "ready", engine=fake_engine, env={"NOTIFY_SOCKET": None})
    poll((folder / "ready").exists, 15)
    assert worker_.stop() == 0


# K64
def test_the_watchdog_is_fed(worker, notify, fake_engine):
    started(worker, notify, engine=fake_engine, env={"WATCHDOG_USEC": "3000000"})
    before = len(notify.seen("WATCHDOG"))
    poll(lambda: len(notify.seen("WATCHDOG")) >= before + 4, 8)
    times = [at for at, _, _ in notify.seen("WATCHDOG")]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    assert max(gaps) < 3


def test_markers(worker, fake_engine, folder, notify):
    ready, live = folder / "ready", folder / "live"
    ready.write_text("stale")
    worker_ = worker(
        f"--readiness-path={ready}",
        engine=fake_engine,
        env={"OCC_WORKER_LIVENESS_PATH": live, "NOTIFY_SOCKET": notify.path},
    )
    # Removed at the start, written again only when work would be done.
    poll(lambda: notify.ready, 15)
    poll(lambda: ready.exists() and ready.read_text() != "stale", 5)
    for path in (ready, live):
        assert re.fullmatch(r"\d{13}\n", path.read_text())
        assert abs(time.time() * 1000 - int(path.read_text())) < 15000
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = ready.read_text(), live.read_text()
    poll(lambda: ready.read_text() != first[0] and live.read_text() != first[1], 12)
    assert worker_.stop() == 0
    assert not ready.exists()
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith((".", "ready", "live"))) == ["live"]


# K62, K67, K68
def test_nothing_secret_is_visible(worker, bootstrapped, fake_engine, notify):
    secret = urllib.parse.urlsplit(bootstrapped.app_url).password
    assert len(secret) >= 8
    extra = {"PGPASSWORD": secret, "HTTPS_PROXY": f"http://u:{secret}@proxy.test"}
    extra["OCC_METRICS_DATABASE_URL"] = bootstrapped.metrics_url
    metrics_secret = urllib.parse.urlsplit(bootstrapped.metrics_url).password
    worker_ = started(worker, notify, engine=fake_engine, env=extra)
    Admission(bootstrapped).wait_ready()
    everyone = worker_.everyone()
    assert len(everyone) == 6
    for process in everyone:
        environment = process.environment()
        assert secret not in " ".join(process.arguments) and "postgres" not in " ".join(process.arguments)
        with open(f"/proc/{process.pid}/limits", encoding="ascii") as file:
            core = next(line for line in file if line.startswith("Max core file size"))
        assert core.split()[4:6] == ["0", "0"]
        assert metrics_secret not in str(environment)
        if process.pid == worker_.pid:
            # What the database's URL was has been overwritten.
            assert secret not in environment.get("OCC_DATABASE_URL", "")
            continue
        assert secret not in str(environment)
        assert not [name for name in environment if name.startswith(("PG", "OCC_", "NOTIFY", "WATCHDOG", "HTTP"))]
        assert environment["RES_OPTIONS"] == "timeout:1 attempts:1"
    worker_.stop()
    assert secret not in worker_.log


# K04: nothing has to be run, and nobody to be told, for the claims of a worker that is gone.
def test_claims_left_by_a_dead_worker_are_swept_at_the_start(worker, bootstrapped, fake_engine):
    left = Admission(bootstrapped)
    bootstrapped.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
        " lease_expires_at = now() - interval '1 h' where idempotency_key = %s",
        left.key,
    )
    worker_ = worker(engine=fake_engine)
    left.wait_ready()
    assert left.evidence() == ["LEASE_EXPIRED", "RECONCILE_SUCCEEDED"]
    done = worker_.wait_for("worker.completed", workId=left.key, outcome="success")
    assert done["attempt"] == 2
    crashed = worker_.wait_for("worker.completed", workId=left.key, outcome="error")
    assert crashed["code"] == "LEASE_EXPIRED" and crashed["attempt"] == 1


def test_a_new_reconciler_does_not_wait_for_a_poll(worker, bootstrapped, notify, fake_engine):
    """One after another takes one item and is replaced: each finds the next at once, not a minute later."""
    waiting = [Admission(bootstrapped) for _ in range(4)]
    # Nor for the end of a lease, which is a reason to look as well.
    flags = ("--reconcilers=1", "--recycle-passes=1", "--poll-interval-ms=60000", "--lease-duration-ms=120000")
    worker_ = started(worker, notify, *flags, engine=fake_engine)
    for namespace in waiting:
        namespace.wait_ready(6)
    assert worker_.stop() == 0


def test_what_waits_at_the_start_does_not_wait_for_a_poll(worker, bootstrapped, fake_engine):
    """The first look at the queue comes before any reconciler rests, and the next is a minute away."""
    waiting = [Admission(bootstrapped) for _ in range(3)]
    worker_ = worker("--poll-interval-ms=60000", "--lease-duration-ms=120000", engine=fake_engine)
    for namespace in waiting:
        namespace.wait_ready(10)
    assert worker_.stop() == 0


# K64
def test_a_long_poll_interval_is_no_hang(worker, bootstrapped, notify, fake_engine):
    """An idle dispatcher is heard of more often than it looks at the queue: every 12 seconds it must be."""
    worker_ = started(worker, notify, "--poll-interval-ms=60000", engine=fake_engine)
    dispatcher = worker_.child("dispatcher").pid
    never(lambda: worker_.events("worker.child-exited"), 14)
    assert worker_.child("dispatcher").pid == dispatcher


WEEK = [f"--{name}-ms=604800000" for name in ("lease-duration", "poll-interval", "database-timeout", "drain-timeout")]
WEEK += [f"--{name}-ms=604800000" for name in ("start-timeout", "recycle-age", "convergence-timeout")]


@pytest.mark.parametrize(
    "flags",
    [
        [*WEEK, "--recycle-passes=2147483647", "--max-attempts=2147483647", "--reconcilers=16"],
        ["--poll-interval-ms=1", "--drain-timeout-ms=1", "--recycle-passes=1", "--max-attempts=1", "--reconcilers=1"],
        ["--recycle-age-ms=1", "--lease-duration-ms=1000", "--reconcilers=2"],
    ],
)
def test_the_ends_of_the_ranges_are_settings_too(worker, bootstrapped, notify, fake_engine, flags):
    worker_ = started(worker, notify, *flags, engine=fake_engine)
    Admission(bootstrapped).wait_ready(20)
    worker_.child("reconciler").kill()
    Admission(bootstrapped).wait_ready(20)
    assert worker_.stop() == 0
    assert not worker_.events("worker.error")


# K27
def test_one_admission_does_not_wake_everybody(worker, bootstrapped, notify, fake_engine, folder):
    path = folder / "occ.yaml"
    path.write_text(STARTUP.replace("level: info", "level: debug"))
    env = {"OCC_CONFIG_PATH": path, "DOCKER_HOST": fake_engine.host}
    worker_ = started(worker, notify, "--reconcilers=6", "--poll-interval-ms=60000", env=env)
    worker_.wait_for("worker.completed", outcome="success")
    poll(lambda: idle_reconcilers(worker_) == 6, 10)
    mark = worker_.mark()
    Admission(bootstrapped).wait_ready()
    worker_.wait_for("worker.completed", since=mark, outcome="success")
    poll(lambda: idle_reconcilers(worker_) == 6, 10)
    woken = [record for record in worker_.records[mark:] if record.get("to") == "working"]
    # Or two: the dispatcher looks again after a few milliseconds, and may find the row not claimed yet.
    assert 1 <= len(woken) <= 2, woken


def idle_reconcilers(worker):
    """How many are idle, by the last state that the log tells of each."""
    last = {record["slot"]: record["to"] for record in worker.events("worker.child-state", role="reconciler")}
    return list(last.values()).count("idle")


# K91
def test_a_marker_that_cannot_be_written_costs_nothing(worker, bootstrapped, fake_engine, folder):
    away = folder / "away"
    worker_ = worker(f"--readiness-path={away}/ready", f"--liveness-path={away}/live", engine=fake_engine)
    error = worker_.wait_for("worker.error", code="HEALTH_UNAVAILABLE")
    assert error["role"] == "supervisor" and str(away) in error["message"]
    namespace = Admission(bootstrapped)
    namespace.wait_ready()
    assert namespace.work["attempt_count"] == 1 and namespace.evidence() == ["RECONCILE_SUCCEEDED"]
    away.mkdir()
    poll(lambda: (away / "ready").exists() and (away / "live").exists(), 15)
    # Once for each of the two, however often it was tried.
    assert len(worker_.events("worker.error", code="HEALTH_UNAVAILABLE")) == 2
    assert worker_.stop() == 0


def _has_begun(process):
    return process.descriptors() and not any("memfd" in target for target in process.descriptors().values())


def test_a_child_has_its_channel_and_nothing_of_the_others(worker, notify, fake_engine):
    worker_ = started(worker, notify, engine=fake_engine)
    # READY=1 needs one idle reconciler; the others may still be at their start.
    poll(lambda: all(_has_begun(process) for process in worker_.children()), 10)
    seen = set()
    for process in worker_.everyone():
        found = process.descriptors()
        sockets = {target for target in found.values() if target.startswith("socket:")}
        assert not sockets & seen, "two processes share a socket"
        seen |= sockets
        if process.pid == worker_.pid:
            continue
        assert found[3].startswith("socket:")
        assert not [target for target in found.values() if "memfd" in target], "the snapshot was read and closed"
        # SIGINT and SIGTERM of a whole group are the supervisor's to handle.
        ignored = int(process.status()["SigIgn"], 16)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            assert ignored & (1 << (number - 1))
        assert int(process.status()["SigBlk"], 16) == 0


# K45, K46, K47
def test_the_supervisor_has_one_thread_and_no_connection(worker, notify, bootstrapped, fake_engine):
    worker_ = started(worker, notify, engine=fake_engine)
    Admission(bootstrapped).wait_ready()
    (supervisor,) = [process for process in worker_.everyone() if process.pid == worker_.pid]
    assert supervisor.status()["Threads"] == "1"
    # A channel for each child, and the service manager's socket.
    sockets = [target for target in supervisor.descriptors().values() if target.startswith("socket:")]
    assert len(sockets) == len(worker_.children()) + 1


# K27, K32
def test_an_idle_worker_asks_little(worker, bootstrapped, notify, fake_engine):
    started(worker, notify, "--poll-interval-ms=250", "--reconcilers=8", engine=fake_engine)
    calls = (
        "select coalesce(sum(calls), 0) from pg_stat_statements s join pg_database d on d.oid = s.dbid"
        " join pg_roles r on r.oid = s.userid where d.datname = %s and r.rolname = 'occ_app'"
    )
    bootstrapped.query("create extension if not exists pg_stat_statements")
    poll(lambda: not Unsettled(bootstrapped, calls).moving, 20, interval=0.5)
    before, at = bootstrapped.one(calls, bootstrapped.name), time.monotonic()
    never(lambda: False, 4)
    asked = bootstrapped.one(calls, bootstrapped.name) - before
    assert asked <= (time.monotonic() - at) / 0.25 + 2


class Unsettled:
    """Whether more is asked than an idle worker asks, right after its start."""

    def __init__(self, database, calls):
        before, at = database.one(calls, database.name), time.monotonic()
        never(lambda: False, 1)
        self.moving = database.one(calls, database.name) - before > (time.monotonic() - at) / 0.25 + 2


def test_stop_is_logged_from_signal_to_end(worker, notify, fake_engine):
    # K124
    worker_ = started(worker, notify, engine=fake_engine)
    assert worker_.stop(signal.SIGINT) == 0
    assert worker_.events("worker.draining")[0]["reason"] == "SIGINT"
    ended = worker_.events("worker.stopped")[0]
    assert ended["exit"] == 0 and ended["drainMs"] >= 0 and ended["uptimeMs"] > 0


def test_help_and_version():
    assert "--reconcilers" in run("occ-worker", "--help").ok().out
    assert "occ-worker" in run("occ-worker", "--version").ok().out


def test_the_hidden_role_is_not_for_people():
    result = run("occ-worker", "--role=reconciler", "--slot=1")
    assert result.status == 2
    assert "own use" in result.err


def test_recycling(worker, bootstrapped, notify, fake_engine):
    worker_ = started(
        worker, notify, "--reconcilers=1", "--recycle-passes=3", "--recycle-age-ms=86400000", engine=fake_engine
    )
    first = worker_.child("reconciler").pid
    namespaces = [Admission(bootstrapped) for _ in range(8)]
    for namespace in namespaces:
        namespace.wait_ready(20)
    assert worker_.child("reconciler").pid != first
    assert not worker_.events("worker.child-exited", signal=lambda value: value is not None)


def test_levels_come_from_the_startup_file(worker, bootstrapped, notify, fake_engine, folder):
    path = folder / "occ.yaml"
    path.write_text(STARTUP.replace("level: info", "level: debug"))
    worker_ = started(worker, notify, engine=None, env={"OCC_CONFIG_PATH": path, "DOCKER_HOST": fake_engine.host})
    health = worker_.wait_for("worker.health")
    assert health["severity"] == "DEBUG" and health["status"] == "ready"
    assert health["pending"] in (0, 1) and health["oldestPendingAgeMs"] >= 0


STARTUP = """\
occ:
  cluster: test
logging:
  level: info
drivers:
  iam: {id: native-iam, configuration: {}}
  configuration: {id: config-filesystem, configuration: {}}
  compute: {id: compute-docker-development, configuration: {}}
"""


def test_reload_takes_the_file_again(worker, bootstrapped, notify, fake_engine, folder):
    path = folder / "occ.yaml"
    path.write_text(STARTUP)
    worker_ = started(worker, notify, env={"OCC_CONFIG_PATH": path, "DOCKER_HOST": fake_engine.host})
    before = {child.pid for child in worker_.children()}
    path.write_text(STARTUP.replace("level: info", "level: debug"))
    worker_.send(signal.SIGHUP)
    reloaded = worker_.wait_for("worker.reloaded", deadline=20)
    assert reloaded["generation"] == 2
    assert notify.seen("RELOADING", "1")
    poll(lambda: len(notify.seen("READY", "1")) == 2, 5)
    assert not before & {child.pid for child in worker_.children()}
    worker_.wait_for("worker.health")
    Admission(bootstrapped).wait_ready()


def test_a_bad_reload_changes_nothing(worker, bootstrapped, notify, fake_engine, folder):
    path = folder / "occ.yaml"
    path.write_text(STARTUP)
    worker_ = started(worker, notify, env={"OCC_CONFIG_PATH": path, "DOCKER_HOST": fake_engine.host})
    before = {child.pid for child in worker_.children()}
    path.write_text(STARTUP + "unknown: 1\n")
    worker_.send(signal.SIGHUP)
    worker_.wait_for("worker.error", role="reload", deadline=20)
    poll(lambda: "Reload failed" in (notify.status or ""), 5)
    assert before == {child.pid for child in worker_.children()}
    Admission(bootstrapped).wait_ready()
    path.unlink()
    mark = worker_.mark()
    worker_.send(signal.SIGHUP)
    worker_.wait_for("worker.error", role="reload", since=mark, deadline=20)
    assert worker_.stop() == 0


def test_a_reload_does_not_move_to_another_installation(
    worker, bootstrapped, database, notify, fake_engine, folder
):
    url = folder / "url"
    url.write_text(bootstrapped.app_url)
    url.chmod(0o600)
    worker_ = started(worker, notify, env={"OCC_DATABASE_URL_FILE": url, "DOCKER_HOST": fake_engine.host})
    database.query(
        "insert into occ.installation (id, name) values ('ins_' || gen_random_uuid(), 'Other');"
        "insert into occ.iam_identities (id, kind, issuer, subject) values ('a', 'principal', 'i', 's');"
        "insert into occ.iam_roles (id, name, permissions) values"
        " ('r', 'administrator', '[{\"action\": \"administer\", \"resourceKind\": \"installation\"}]');"
        "insert into occ.iam_access_bindings (id, identity_subject_id, role_id) values ('b', 'a', 'r')"
    )
    url.write_text(database.app_url)
    worker_.send(signal.SIGHUP)
    worker_.wait_for("worker.error", code="INSTALLATION_MISMATCH", deadline=20)
    poll(lambda: "INSTALLATION_MISMATCH" in notify.status, 5)
    Admission(bootstrapped).wait_ready()


def test_a_pooler_is_told_once_and_polled_through(worker, bootstrapped, pgbouncer, notify, fake_engine):
    # K29, K30
    url = bootstrapped.url(host="127.0.0.1", port=pgbouncer.port)
    worker_ = started(worker, notify, env={"OCC_DATABASE_URL": url}, engine=fake_engine)
    for _ in range(10):
        Admission(bootstrapped).wait_ready()
    assert len(worker_.events("worker.warning", code="DATABASE_POOLED")) == 1
    assert not worker_.events("worker.error")


def test_through_notifications_claims_are_at_once(worker, bootstrapped, notify, fake_engine):
    """With a poll interval of a minute, only LISTEN can be this fast."""
    started(worker, notify, "--poll-interval-ms=60000", engine=fake_engine)
    for _ in range(5):
        begun = time.monotonic()
        Admission(bootstrapped).wait_ready()
        assert time.monotonic() - begun < 10


def test_several_admitted_together_wake_several(worker, bootstrapped, notify, fake_engine):
    """One commit, one notification, four rows: all four are under way at once."""
    gate = threading.Event()
    Admission(bootstrapped, "first")
    started(worker, notify, "--poll-interval-ms=60000", engine=fake_engine)
    poll(lambda: {row["state"] for row in bootstrapped.work()} == {"succeeded"}, 15)
    fake_engine.on("GET", r"/networks/?.*", Answer(200, [], stall=gate))
    connection = bootstrapped.connect(autocommit=False)
    holder = type("Holder", (), {"query": lambda self, sql, *values: connection.cursor().execute(sql, values)})()
    namespaces = [Admission(holder) for _ in range(4)]
    connection.commit()
    for namespace in namespaces:
        namespace.database = bootstrapped
        namespace.wait_state("claimed", deadline=5)
    fake_engine.off()
    gate.set()
    for namespace in namespaces:
        namespace.wait_ready(30)


def test_as_a_user_without_rights(worker, bootstrapped, notify, fake_engine):
    """Nothing of the supervision needs root, with no access to its own processes' /proc either."""
    worker_ = started(worker, notify, engine=fake_engine, user="postgres")
    Admission(bootstrapped).wait_ready()
    for process in worker_.everyone():
        assert process.status()["Uid"].split()[0] != "0"
        # Another process of that user cannot read its memory, nor does a core handler get it: its /proc is root's.
        if os.geteuid() == 0 and not os.environ.get("OCC_TEST_SANITIZERS"):
            assert os.stat(f"/proc/{process.pid}/environ").st_uid == 0
    worker_.child("reconciler").kill()
    Admission(bootstrapped).wait_ready()
    assert worker_.stop() == 0
