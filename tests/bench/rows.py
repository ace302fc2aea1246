# SPDX-License-Identifier: MIT
"""The rows of the table: each function measures and gives Row after Row."""

import statistics
import threading
import time
import uuid
from dataclasses import dataclass

from support.fake_engine import Answer
from support.notify import NotifySocket
from support.waiting import poll

POLL_MS = 250


@dataclass
class Row:
    what: str
    measured: str
    figure: str = ""
    good: object = None

    @property
    def missed(self):
        return self.good is False

    @property
    def verdict(self):
        return {None: "", True: "ok", False: "MISSED"}[self.good]


def _admit(stage, connection):
    """Asks for a Namespace as the API would: state, audit and work in one transaction. Gives the key."""
    namespace = f"ns_{uuid.uuid4()}"
    key = f"namespace:{namespace}:reconcile:ready"
    with connection.cursor() as cursor:
        cursor.execute("insert into occ.namespaces (id, name) values (%s, %s)", (namespace, f"bench {namespace}"))
        cursor.execute(
            "insert into occ.audit_events (kind, actor_id, action, namespace_id, resource_kind, resource_id, outcome)"
            " values ('mutation', %s, 'openclaw.namespaces.create', %s, 'namespace', %s, 'success')",
            (stage.actor, namespace, namespace),
        )
        cursor.execute(
            "insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target)"
            " values (%s, %s, %s, 'ready')",
            (key, namespace, stage.actor),
        )
    connection.commit()
    return namespace, key


def _state(stage, key):
    return stage.database.one("select state from occ.controller_work where idempotency_key = %s", key)


def _held(stage):
    """An Engine that holds every creation until the event is set: the item stays claimed so long."""
    release = threading.Event()
    rule = stage.engine.on("POST", "/networks/create", lambda request: None if release.is_set() else Answer(stall=release))
    return release, rule


def _latencies(stage, count, **how):
    """Milliseconds between the two commits, as the server recorded them."""
    worker = stage.worker(f"--poll-interval-ms={POLL_MS}", **how)
    found = []
    connection = stage.database.connect("occ_app", autocommit=False)
    try:
        worker.wait_for("worker.started", deadline=30)
        poll(lambda: not stage.database.query("select 1 from occ.controller_work where state in ('queued', 'claimed')"), 30)
        for _ in range(count):
            release, rule = _held(stage)
            namespace, key = _admit(stage, connection)
            poll(lambda: _state(stage, key) == "claimed", 10, interval=0.002)
            found.append(
                stage.database.one(
                    "select extract(epoch from pg_xact_commit_timestamp(w.xmin) - pg_xact_commit_timestamp(a.xmin)) * 1000"
                    " from occ.controller_work w, occ.audit_events a where w.idempotency_key = %s"
                    " and a.action = 'openclaw.namespaces.create' and a.namespace_id = %s",
                    key,
                    namespace,
                )
            )
            stage.engine.off(rule)
            release.set()
            poll(lambda: _state(stage, key) == "succeeded", 10, interval=0.002)
    finally:
        connection.close()
        stage.end(worker)
    return [float(value) for value in found]


def latency(stage):
    count = 20 if stage.quick else 100
    found = _latencies(stage, count)
    middle, tail = statistics.median(found), sorted(found)[int(len(found) * 0.95)]
    yield Row("admission committed -> claimed, LISTEN, p50 (p95)", f"{middle:.2f} ms ({tail:.2f})", "p50 <= 1 ms", middle <= 1)
    found = _latencies(stage, count // 2, url=stage.bouncer.url(stage.database))
    worst = max(found)
    yield Row(
        "admission committed -> claimed, polling, p50 (worst)",
        f"{statistics.median(found):.0f} ms ({worst:.0f})",
        f"<= one interval, {POLL_MS} ms",
        sorted(found)[int(len(found) * 0.95)] <= POLL_MS * 1.1,
    )


def own_cost(stage):
    """A plain worker parses and plans each statement, as clients do unless told else; prepared ones are told too."""
    size = 1000 if stage.quick else 4000
    ours, plain, prepared = [], [], []
    for _ in range(stage.rounds):
        for found, measure in (
            (plain, lambda: stage.pgbench(size)),
            (ours, lambda: stage.passes()[0]),
            (prepared, lambda: stage.pgbench(size, protocol="prepared")),
        ):
            stage.empty_queue()
            stage.fill(queued=size)
            found.append(measure())
    stage.empty_queue()
    ratio = statistics.median(a / b for a, b in zip(ours, plain))
    yield Row("passes a second, 4 reconcilers, Compute does nothing", f"{statistics.median(ours):.0f}")
    yield Row("pgbench, plain five statements, 4 clients, a second", f"{statistics.median(plain):.0f}")
    yield Row("pgbench, the same prepared", f"{statistics.median(prepared):.0f}")
    yield Row("passes against pgbench", f"{ratio:.2f} x", ">= 1.5 x", ratio >= 1.5)


def deployments(stage):
    """First and following revisions of the same Agents in turn: the latter retire a predecessor."""
    agents = 200 if stage.quick else 2000
    first, next_, statements, trips = [], [], [], []
    database = stage.database
    sent = "select coalesce(sum(calls), 0) from pg_stat_statements where toplevel and userid = 'occ_app'::regrole"
    ended = "select xact_commit from pg_stat_database where datname = current_database()"
    for number in range(stage.rounds + 1):
        stage.empty_queue()
        stage.deploy(agents)
        database.query("select pg_stat_statements_reset()")
        before = database.one(ended)
        (next_ if number else first).append(stage.passes()[0])
        statements.append(int(database.one(sent)) / agents)
        # Every trip is a transaction; what a session counted comes within the second after it has ended.
        trips.append((database.one(ended) - before) / agents)
        active = database.one(
            "select count(*) from occ.agents a join occ.agent_revisions r on r.id = a.active_revision_id"
            " where r.revision_number = %s",
            number + 1,
        )
        assert active == agents, f"{active} of {agents} Agents run their revision {number + 1}"
    what = "deployments a second, 4 reconcilers, Compute does nothing"
    yield Row(f"{what}, first", f"{statistics.median(first):.0f}")
    yield Row(f"{what}, next", f"{statistics.median(next_):.0f}")
    yield Row("statements a deployment, first (next)", f"{statements[0]:.1f} ({statistics.median(statements[1:]):.1f})")
    yield Row("round trips a deployment, first (next)", f"{trips[0]:.1f} ({statistics.median(trips[1:]):.1f})")


CLAIMS = """
select sum(total_exec_time) / sum(calls) as ms, sum(calls) as calls from pg_stat_statements
where query ~* 'update\\s+(only\\s+)?occ\\.controller_work' and query ~* 'skip locked' and calls > 20
"""


def _claim_ms(stage, seconds):
    """Mean time of the claim in the server, over some seconds of one reconciler's passes."""
    stage.database.query("select pg_stat_statements_reset()")
    stage.passes(reconcilers=1, seconds=seconds)
    found = stage.database.query(CLAIMS)[0]
    assert found["calls"], "no claim was found in pg_stat_statements"
    return float(found["ms"])


def size(stage):
    few, many, queued = 1000, (20_000 if stage.quick else 1_000_000), (2_000 if stage.quick else 100_000)
    seconds = 1 if stage.quick else 2
    small = []
    for _ in range(stage.rounds):
        stage.empty_queue()
        stage.fill(queued=few * 4)
        small.append(_claim_ms(stage, seconds))
    stage.empty_queue()
    stage.fill(queued=queued, finished=many)
    large = [_claim_ms(stage, seconds) for _ in range(stage.rounds)]
    stage.empty_queue()
    ratio = statistics.median(large) / statistics.median(small)
    what = f"claim at {many} finished, {queued} queued rows, against {few}"
    yield Row(what, f"{ratio:.2f} x ({statistics.median(large):.3f} ms)", "<= 1.5 x", ratio <= 1.5)


def open_transaction(stage):
    before, held = (4, 8) if stage.quick else (15, 60)
    stage.empty_queue()
    stage.fill(queued=20_000 if stage.quick else 300_000)
    _, without = stage.passes(seconds=before)
    other = stage.database.connect(autocommit=False)
    with other.cursor() as cursor:
        # A snapshot that sees nothing of what follows, and an id that vacuum must respect.
        cursor.execute("set transaction isolation level repeatable read")
        cursor.execute("select pg_current_xact_id(), (select count(*) from occ.installation)")
    _, during = stage.passes(seconds=held)
    other.rollback()
    other.close()
    stage.empty_queue()
    base, last = statistics.median(without), statistics.median(during[-max(2, held // 4) :])
    ratio = last / base
    what = f"passes a second with a transaction open for {held} s, at its end"
    yield Row(what, f"{ratio:.2f} x ({last:.0f} of {base:.0f})", ">= 0.5 x", ratio >= 0.5)


def idle(stage):
    seconds = 3 if stage.quick else 10
    worker = stage.worker(f"--poll-interval-ms={POLL_MS}", "--reconcilers=16")
    worker.wait_for("worker.started", deadline=30)
    poll(lambda: not stage.database.query("select 1 from occ.controller_work where state in ('queued', 'claimed')"), 30)
    role = "(select oid from pg_roles where rolname = 'occ_app')"
    count = f"select coalesce(sum(calls), 0) from pg_stat_statements where userid = {role}"

    def quiet():
        """A whole poll interval in which nobody but the poll sent anything."""
        before = int(stage.database.one(count))
        time.sleep(POLL_MS / 1000)
        return int(stage.database.one(count)) - before <= 1

    poll(quiet, 20, interval=0)
    stage.database.query("select pg_stat_statements_reset()")
    began = time.monotonic()
    time.sleep(seconds)
    calls, took = int(stage.database.one(count)), time.monotonic() - began
    stage.end(worker)
    each = calls / (took * 1000 / POLL_MS)
    # One more in the whole time is where the measurement begins and ends.
    good = calls - 1 <= took * 1000 / POLL_MS
    yield Row("statements of an idle worker a poll interval, 16 reconcilers", f"{each:.2f}", "<= 1", good)


def memory(stage):
    worker = stage.worker("--reconcilers=4")
    worker.wait_for("worker.started", deadline=30)
    connection = stage.database.connect("occ_app", autocommit=False)
    keys = [_admit(stage, connection)[1] for _ in range(40)]
    poll(lambda: all(_state(stage, key) == "succeeded" for key in keys), 30, interval=0.1)
    connection.close()
    total = 0
    for process in worker.everyone():
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    count = len(worker.everyone())
    stage.end(worker)
    yield Row(f"memory (PSS) of {count} processes, after 40 passes", f"{total / 1024:.1f} MiB", "<= 20 MiB", total <= 20 * 1024)


def start(stage):
    found = []
    for _ in range(max(stage.rounds, 5)):
        notify = NotifySocket(stage.folder / "notify.sock")
        worker = stage.worker(NOTIFY_SOCKET=notify.path)
        poll(lambda: notify.ready, 30, interval=0.001)
        found.append((notify.seen("READY", "1")[0][0] - worker.started) * 1000)
        stage.end(worker)
        notify.close()
        (stage.folder / "notify.sock").unlink()
    middle = statistics.median(found)
    yield Row("start to READY", f"{middle:.0f} ms", "<= 150 ms", middle <= 150)


def kill(stage):
    requeued, finished = [], []
    worker = stage.worker("--reconcilers=4")
    worker.wait_for("worker.started", deadline=30)
    connection = stage.database.connect("occ_app", autocommit=False)
    for _ in range(max(stage.rounds, 5)):
        release, rule = _held(stage)
        before = stage.engine.count("POST", "/networks/create")
        _, key = _admit(stage, connection)
        stage.engine.wait_asked("POST", "/networks/create", before + 1)
        busy = _busy(stage, worker)
        stage.engine.off(rule)
        began = time.monotonic()
        busy.kill()
        poll(lambda: _state(stage, key) != "claimed", 10, interval=0.001)
        requeued.append((time.monotonic() - began) * 1000)
        poll(lambda: _state(stage, key) == "succeeded", 10, interval=0.002)
        finished.append((time.monotonic() - began) * 1000)
        release.set()
    connection.close()
    stage.end(worker)
    middle = statistics.median(requeued)
    yield Row("SIGKILL of a reconciler -> its item is queued again", f"{middle:.0f} ms", "<= 100 ms", middle <= 100)
    good = max(finished) <= 1000 + 500
    yield Row("SIGKILL of a reconciler -> its item is finished, worst", f"{max(finished):.0f} ms", "<= 1 backoff (1 s)", good)


def _busy(stage, worker):
    """The reconciler that is connected to the Engine's socket right now: the one with one socket more than the others."""
    found = worker.children("reconciler")
    assert found, "no reconciler"
    return max(found, key=lambda child: sum(target.startswith("socket:") for target in child.descriptors().values()))


ALL = {
    "latency": latency,
    "pass": own_cost,
    "revisions": deployments,
    "size": size,
    "open": open_transaction,
    "idle": idle,
    "memory": memory,
    "start": start,
    "kill": kill,
}
