# SPDX-License-Identifier: MIT
"""The storm's trouble: who asks for work, and what is done to everybody meanwhile (see storm.py)."""

import collections
import pathlib
import random
import shutil
import signal
import subprocess
import threading
import time
import uuid

import psycopg2
from support import tree
from support.admission import ADMINISTRATOR
from support.database import Database
from support.engine import Engine
from support.fake_engine import Answer, FakeEngine
from support.pgbouncer import PgBouncer
from support.program import BROKEN, environment
from support.tcp_proxy import TcpProxy
from support.waiting import poll
from support.worker import Worker, role_of

RECONCILERS = 3


class Service:
    """One worker, started again whenever it ends, as a service manager would."""

    def __init__(self, storm, number, flags):
        self.storm, self.number = storm, number
        folder = storm.folder / f"worker-{number}"
        folder.mkdir(exist_ok=True)
        self.readiness, self.liveness = folder / "ready", folder / "live"
        self.flags = [*flags, f"--readiness-path={self.readiness}", f"--liveness-path={self.liveness}"]
        self.past, self.statuses = [], []
        self.worker = None
        self.wanted = True
        self.start()
        self.thread = threading.Thread(target=self._watch, daemon=True, name=f"service {number}")
        self.thread.start()

    def start(self):
        self.worker = Worker(self.flags, self.storm.variables)
        self.past.append(self.worker)

    def _watch(self):
        while self.wanted:
            try:
                self.worker.process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            status = self.worker.wait()  # and its log has been read
            nonsense = self.worker.events("worker.startup-error", code="DOCKER_ANSWER_INVALID")
            # A signal in its very first moments finds no program yet that would know better.
            early = -status in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM) and not self.worker.text
            self.statuses.append(0 if early or (status == 78 and nonsense) else status)
            if self.wanted:
                self.start()

    @property
    def everyone(self):
        return self.worker.everyone()

    def end(self):
        self.wanted = False
        self.thread.join()
        status = self.worker.stop(deadline=30)
        self.statuses.append(status)
        return status


class Storm:
    agents = False

    def __init__(self, cluster, folder, seed=1, workers=2, clients=3, out=None, without=(), pooled=False, engine="fake"):
        from conftest import bootstrap

        self.begun = time.monotonic()
        self.random = random.Random(seed)
        self.cluster, self.folder, self.out = cluster, pathlib.Path(folder), out
        self.database = Database.create(cluster).migrate()
        bootstrap(self.database, self.folder).ok()
        self.key_file = self.folder / "service-key.json"
        self.bouncer = PgBouncer(cluster).start() if pooled else None
        self.proxy = TcpProxy(self.bouncer.port if pooled else cluster.port)
        without = (*without, *self.make_world(engine))
        self.url_file = self.folder / "url"
        self.url_file.write_text(self.database.url(port=self.proxy.port))
        self.url_file.chmod(0o600)
        self.variables = {
            "NODE_ENV": "development",
            "OCC_DATABASE_URL_FILE": self.url_file,
            **self.world,
        }
        self.secrets = [self.database.url().split("@")[0], cluster.passwords["occ_app"], "occ_sk_"]
        self.actions = [(action, weight) for action, weight in self.ACTIONS if action.__name__ not in without]
        self.over = threading.Event()
        self.done = collections.Counter()
        self.odd = []
        self.pauses = []  # [pid, when it was stopped, when it went on]: milliseconds since the epoch
        self.clients = [threading.Thread(target=self._client, args=(seed * 1000 + n,), daemon=True) for n in range(clients)]
        flags = [f"--reconcilers={RECONCILERS}", "--lease-duration-ms=2000", "--max-attempts=6"]
        flags += ["--database-timeout-ms=5000", "--drain-timeout-ms=3000", "--start-timeout-ms=20000"]
        self.services = [Service(self, number, flags) for number in range(workers)]

    def say(self, text):
        if self.out:
            print(f"{time.monotonic() - self.begun:7.2f} {text}", file=self.out, flush=True)

    # What the workers act on.

    def make_world(self, engine):
        """`world` are the variables that select it; gives the actions that do not fit it."""
        self.real = engine != "fake"
        self.engine = Engine(engine).start() if self.real else FakeEngine(self.folder / "engine.sock")
        self.world = {"DOCKER_HOST": self.engine.host}
        return ("mood", "stop_engine") if self.real else ()

    def close_world(self):
        if self.real:
            self.engine.remove()
        else:
            self.engine.close()

    def prepare(self):
        """What is there before the trouble begins."""

    # Who asks for Namespaces.

    def occctl(self, *arguments):
        env = {"NODE_ENV": "development", "OCC_SERVICE_KEY_FILE": self.key_file, **self.database.environment(), **self.world}
        return subprocess.run(
            [tree.program("occctl"), *arguments], env=environment(env), cwd="/", capture_output=True, text=True, check=False
        )

    def _client(self, seed):
        chance = random.Random(seed)
        connection = None
        # A real Engine makes a few networks a second.
        while not self.over.wait(chance.uniform(0.02, 0.3) * (8 if self.real else 1)):
            try:
                if connection is None or connection.closed:
                    connection = self.cluster.connect(self.database.name)
                self.ask(connection, chance)
            except psycopg2.Error:
                if connection is not None:
                    connection.close()
                connection = None

    def ask(self, connection, chance):
        what = chance.random()
        if what < 0.5:
            self.create(connection, chance.choice((1, 1, 1, 2, 1 if self.real else 10)))
        elif what < 0.6:
            self.look("namespace create", f"n-{uuid.uuid4()}")
        else:
            self.delete(connection, chance)

    def create(self, connection, count):
        with connection.cursor() as cursor:
            for _ in range(count):
                made = f"ns_{uuid.uuid4()}"
                cursor.execute(
                    "with n as (insert into occ.namespaces (id, name) values (%s, %s) returning id)"
                    " insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target)"
                    f" select %s, n.id, ({ADMINISTRATOR}), 'ready' from n",
                    (made, made[3:], f"namespace:{made}:reconcile:ready"),
                )
                self.done["created"] += 1

    def delete(self, connection, chance):
        """Also those that are not ready yet, and deletions that failed."""
        with connection.cursor() as cursor:
            cursor.execute("select id from occ.namespaces where deleted_at is null order by random() limit 1")
            row = cursor.fetchone()
        if row and chance.random() < 0.9:
            self.look("namespace delete", row[0])

    def look(self, what, *arguments):
        """occctl, which may refuse but must not do anything else."""
        result = self.occctl(*what.split(), *arguments)
        self.done[f"{what} {result.returncode}"] += 1
        if result.returncode not in (0, 1, 3, 4, 69, 75) or BROKEN.search(result.stderr):
            self.odd.append(f"occctl {what}: {result}")
        return result

    # The Engine's moods.

    def _mood(self, trouble, seed):
        chance = random.Random(seed)
        lock = threading.Lock()

        def answer(request):
            with lock:
                roll, size, effect = chance.random(), chance.random(), chance.random() < 0.5
            if roll > trouble:
                return None
            kind = int(roll / trouble * 7)
            if kind == 0:
                time.sleep(size * 0.3)
                return None
            if kind == 1:
                return Answer(500, {"message": "storm"}, effect=effect)
            if kind == 2:
                return Answer(503, {"message": "storm"}, {"Retry-After": "1"})
            if kind == 3:
                return Answer(200, {"message": "storm"}, cut_after=int(size * 60), effect=effect)
            if kind == 4:
                return Answer(raw=b"not HTTP at all\r\n\r\n", effect=effect)
            if kind == 5:
                return Answer(409 if request.method == "POST" else 404, {"message": "storm"})
            gate = threading.Event()
            timer = threading.Timer(size * 4, gate.set)
            timer.daemon = True
            timer.start()
            return Answer(500, {"message": "late"}, stall=gate, effect=effect)

        if self.real:
            return
        self.calm()
        if trouble:
            self.engine.on(None, r".*", answer)

    def calm(self):
        if not self.real:
            self.engine.off()

    # What is done to them.

    def _any_process(self, role=None):
        service = self.random.choice(self.services)
        found = [process for process in service.everyone if role is None or role_of(process) == role]
        return service, self.random.choice(found) if found else None

    def kill_child(self):
        _, process = self._any_process(self.random.choice(("dispatcher", "reconciler", "reconciler", "preflight")))
        if process:
            process.kill()
        return process and role_of(process)

    def stop_child(self):
        _, process = self._any_process(self.random.choice((None, "dispatcher", "reconciler")))
        if process:
            self._pause([process], self.random.choice((0.05, 0.5, 2, 5)))
        return process and (role_of(process) or "supervisor")

    def stop_all(self):
        service = self.random.choice(self.services)
        pause = self.random.choice((0.5, 1.5, 3))
        self._pause(service.everyone, pause)
        return pause

    def _pause(self, stopped, seconds):
        kept = [[process.pid, time.time() * 1000, None] for process in stopped]
        self.pauses += kept
        for process in stopped:
            process.kill(signal.SIGSTOP)

        def go_on():
            for process, pause in zip(stopped, kept):
                pause[2] = time.time() * 1000
                process.kill(signal.SIGCONT)

        self._later(seconds, go_on)

    def kill_supervisor(self):
        service = self.random.choice(self.services)
        if service.worker.running:
            service.worker.send(signal.SIGKILL)

    def drain(self):
        service = self.random.choice(self.services)
        if service.worker.running:
            service.worker.send(self.random.choice((signal.SIGTERM, signal.SIGINT)))
            if self.random.random() < 0.3:
                time.sleep(self.random.uniform(0, 0.5))
                service.worker.send(signal.SIGTERM)

    def reload(self):
        service = self.random.choice(self.services)
        times = self.random.choice((1, 1, 2, 20))
        for _ in range(times):
            if service.worker.running:
                service.worker.send(signal.SIGHUP)
        return times

    def cut(self):
        self.proxy.cut()

    def cut_after(self):
        self.proxy.cut_after(self.random.randrange(1, 4000))

    def silence(self):
        pause = self.random.choice((0.1, 1, 3, 7))
        self.proxy.silence()
        self._later(pause, self.proxy.restore)
        return pause

    def refuse(self):
        pause = self.random.choice((0.2, 1, 2))
        self.proxy.down()
        self._later(pause, self.proxy.restore)
        return pause

    def slow(self):
        self.proxy.slow(self.random.choice((0, 0, 0.001, 0.02)))

    def end_sessions(self):
        self.database.query(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and usename = 'occ_app'"
            " and random() < 0.5",
            self.database.name,
        )

    def restart_database(self):
        how = self.random.choice((signal.SIGINT, signal.SIGQUIT))
        self.cluster.stop(how)
        time.sleep(self.random.uniform(0, 2))
        self.cluster.start()
        return how.name

    def stop_engine(self):
        pause = self.random.uniform(0.1, 2)
        self.engine.stop()
        time.sleep(pause)
        self.engine.start()

    def mood(self):
        trouble = self.random.choice((0, 0.05, 0.2, 0.6))
        self._mood(trouble, self.random.random())
        return trouble

    ACTIONS = (
        (kill_child, 8),
        (stop_child, 5),
        (stop_all, 1),
        (kill_supervisor, 2),
        (drain, 2),
        (reload, 3),
        (cut, 4),
        (cut_after, 6),
        (silence, 2),
        (refuse, 2),
        (slow, 2),
        (end_sessions, 2),
        (restart_database, 1),
        (stop_engine, 2),
        (mood, 5),
    )

    def _later(self, seconds, call, *arguments):
        timer = threading.Timer(seconds, call, arguments)
        timer.daemon = True
        timer.start()
        self.timers.append(timer)

    def blow(self, seconds):
        self.timers = []
        self._await_ready()
        self.prepare()
        self.before = self.measure()
        for client in self.clients:
            client.start()
        end = time.monotonic() + seconds
        actions, weights = zip(*self.actions)
        while time.monotonic() < end:
            action = self.random.choices(actions, weights)[0]
            try:
                told = getattr(self, action.__name__)()
            except (psycopg2.Error, ProcessLookupError) as problem:
                told = type(problem).__name__
            self.say(f"{action.__name__} {'' if told is None else told}")
            self.done[action.__name__] += 1
            time.sleep(self.random.choice((0.02, 0.1, 0.3, 0.6)))

    # The end.

    def settle(self):
        """Ends all trouble and waits until there is nothing more to do."""
        self.over.set()
        for client in self.clients:
            client.join()
        for timer in self.timers:
            timer.cancel()
        for pause in self.pauses:
            pause[2] = pause[2] or time.time() * 1000
        self.proxy.restore()
        self.proxy.cut_after(None)
        self.proxy.slow(0)
        self.calm()
        for service in self.services:
            for process in service.everyone:
                process.kill(signal.SIGCONT)
        self.say("quiet")
        self.quiet_at = time.monotonic()
        self.await_idle()
        self._await_ready()
        self.say("idle")

    def await_idle(self):
        poll(self._idle, 100, interval=0.2, what="the end of all work", patience=True)

    def _idle(self):
        # Nobody waits for a long delay; that delays are kept is another test.
        self.database.query(
            "update occ.controller_work set available_at = now() where state = 'queued' and available_at > now()"
            " and idempotency_key not like '%:maintenance:%' returning 1"
        )
        return not self.database.query(
            "select idempotency_key, state, attempt_count, lease_expires_at - now() as lease from occ.controller_work"
            " where state in ('queued', 'claimed') and idempotency_key not like '%:maintenance:%' limit 5"
        )

    def _await_ready(self):
        def ready():
            return all(
                service.worker.running
                and len(service.worker.children("reconciler")) == RECONCILERS
                and len(service.worker.children("dispatcher")) == 1
                and not service.worker.children("preflight")
                and service.readiness.exists()
                for service in self.services
            )

        poll(ready, 60, interval=0.1, what="all workers ready")

    def measure(self):
        """{(worker's pid, role, pid): (descriptors, kilobytes)}"""
        found = {}
        for service in self.services:
            for process in service.everyone:
                key = (service.worker.pid, role_of(process) or "supervisor", process.pid)
                found[key] = (len(process.descriptors()), int(process.status()["VmRSS"].split()[0]))
        return found

    def codes(self):
        found = collections.Counter()
        for service in self.services:
            for worker in service.past:
                for record in worker.records:
                    found[" ".join(str(record.get(n, "")) for n in ("event", "role", "code", "outcome", "reason", "cause"))] += 1
        return found

    def close(self):
        self.over.set()
        for service in self.services:
            service.wanted = False
            service.thread.join()
            for worker in service.past:
                worker._end_all()
        self.proxy.close()
        self.close_world()
        if self.bouncer:
            self.bouncer.remove()
        self.database.close()

    def keep(self, folder):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for service in self.services:
            for number, worker in enumerate(service.past):
                (folder / f"worker-{service.number}-{number}.log").write_text(worker.log + "\n")
        shutil.copy2(self.cluster.log, folder / "postgresql.log")
        with open(folder / "rows", "w", encoding="utf-8") as file:
            for row in self.database.query("select * from occ.audit_events order by occurred_at, id"):
                print(dict(row), file=file)
            for row in self.database.work():
                print(dict(row), file=file)
