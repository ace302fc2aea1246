# SPDX-License-Identifier: MIT
"""Admissions, passes, lost claims, recovery and deletions of the same Agents at the same time: nobody waits in a circle."""

import contextlib
import json
import random
import threading
import time

from support.agents import Agents
from support.queue import Probe
from support.waiting import PATIENCE, poll

SECONDS = 4 * PATIENCE


class Rush:
    """What goes on at once. As the admissions do (lib/admit): Namespace, then Agent, then the rest."""

    def __init__(self, database):
        self.database = database
        self.over = threading.Event()
        self.threads = []
        self.errors = []

    def start(self, body, *arguments):
        def run():
            try:
                body(*arguments)
            except Exception as error:  # told at the end
                self.errors.append(repr(error))

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(20 * PATIENCE)
        assert not self.errors

    @contextlib.contextmanager
    def admission(self, agents):
        connection = self.database.connect("occ_app", autocommit=False)
        try:
            with connection.cursor() as cursor:
                cursor.execute("select from occ.namespaces where id = %s for share", (agents.namespace,))
                cursor.execute("select from occ.agents where id = %s for no key update", (agents.agent,))
                yield cursor
            connection.commit()
        finally:
            connection.close()

    def work(self, cursor, agents, revision, target, key):
        cursor.execute(
            "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, agent_target,"
            " actor_id, created_at, available_at) values (%s, %s, %s, %s, %s, %s, statement_timestamp(), statement_timestamp())",
            (key, agents.namespace, agents.agent, revision, target, agents.work.actor),
        )

    def deploy(self, agents, spec):
        revision = agents.work.id("rev")
        with self.admission(agents) as cursor:
            cursor.execute(
                "insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec, admitted_at)"
                " select %s, %s, %s, (select coalesce(max(revision_number), 0) + 1 from occ.agent_revisions"
                " where agent_id = %s), %s::jsonb, statement_timestamp()",
                (revision, agents.namespace, agents.agent, agents.agent, json.dumps(spec)),
            )
            cursor.execute("update occ.agents set desired_runtime_state = 'running' where id = %s", (agents.agent,))
            self.work(cursor, agents, revision, None, f"agent_revision:{revision}:reconcile")

    def stop(self, agents):
        with self.admission(agents) as cursor:
            cursor.execute("update occ.agents set desired_runtime_state = 'stopped' where id = %s", (agents.agent,))
            self.work(cursor, agents, None, "stopped", f"agent:{agents.agent}:reconcile:stopped:{agents.work.id('x')[2:]}")

    def delete(self, agents):
        with self.admission(agents) as cursor:
            cursor.execute(
                "update occ.agents set status = 'deleting', desired_runtime_state = 'stopped' where id = %s", (agents.agent,)
            )
            self.work(cursor, agents, None, "deleted", f"agent:{agents.agent}:reconcile:deleted")

    def admit(self, agents, seed):
        chance = random.Random(seed)
        spec = agents.spec
        while not self.over.wait(chance.uniform(0, 0.2)):
            if chance.random() < 0.7:
                self.deploy(agents, spec)
            else:
                self.stop(agents)

    def lose(self):
        """Leases run out under their owners."""
        while not self.over.wait(0.3):
            self.database.execute(
                "update occ.controller_work set lease_expires_at = statement_timestamp() where state = 'claimed'"
                " and idempotency_key in"
                " (select idempotency_key from occ.controller_work where state = 'claimed' order by random() limit 1)"
            )

    def sweep(self, probe):
        while not self.over.wait(0.05):
            probe("sweep", 3)

    def go(self, pass_):
        number = 0
        while not self.over.is_set():
            number += 1
            with contextlib.suppress(Exception):
                pass_.wait("rest", number, 5)
            pass_.order("go")


def test_nobody_waits_in_a_circle(work, reconciler, database):
    probes = [Probe(database.app_url) for _ in range(2)]
    all_agents = [Agents(work) for _ in range(2)]
    for agents in all_agents:
        first = agents.deployable(1)
        agents.spec = database.one("select admitted_spec from occ.agent_revisions where id = %s", first)
        agents.admit(revision=first)
    rush = Rush(database)
    for number in range(3):
        steps = ["ready"] if number else ["prepare:pending=X_WAIT", "activate:retry=X_AWAY", "stop:pending=X_WAIT", "ready"]
        rush.start(rush.go, reconciler("--agents", "--attempts", 3, "--maintenance", 50, *steps))
    for probe in probes:
        rush.start(rush.sweep, probe)
    rush.start(rush.lose)
    for number, agents in enumerate(all_agents * 2):
        rush.start(rush.admit, agents, number)
    begun = time.monotonic()
    twice = 0
    while time.monotonic() - begun < SECONDS:
        twice += database.one(
            "select count(*) from (select from occ.controller_work where idempotency_key like '%:maintenance:%'"
            " and state in ('queued', 'claimed') group by revision_id having count(*) > 1) more"
        )
        time.sleep(0.05)
    rush.end()
    for probe in probes:
        probe.close()
    passes = database.one("select count(*) from occ.audit_events where action = 'reconcile'")
    assert twice == 0 and passes > 30
    # And then all goes.
    last = reconciler("--agents", "--attempts", 3, "--maintenance", 3600000, "ready")
    last.rest()
    for agents in all_agents:
        rush.delete(agents)
    last.order("go")

    def gone():
        database.execute("update occ.controller_work set available_at = statement_timestamp() where state = 'queued'")
        with contextlib.suppress(OSError):
            last.order("go")
        return database.one("select count(*) from occ.agents") == 0

    poll(gone, 20, what="the Agents' end")
    said = database.cluster.log.read_text(errors="replace").splitlines()
    assert [line for line in said if "deadlock detected" in line and database.name in line] == []
