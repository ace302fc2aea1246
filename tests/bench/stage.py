# SPDX-License-Identifier: MIT
"""What the measurements run on: one PostgreSQL server, with everything durable, and one bootstrapped database."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from conftest import bootstrap
from support import tree
from support.database import Database
from support.fake_engine import FakeEngine
from support.pgbouncer import PgBouncer
from support.postgres import Cluster
from support.program import environment
from support.worker import Worker

SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "track_commit_timestamp": "on",
    "autovacuum_naptime": "10s",
}


class Stage:
    def __init__(self, rounds, quick):
        self.rounds = rounds
        self.quick = quick
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="occ-bench-", dir="/tmp"))
        self.cluster = Cluster(settings=SETTINGS)
        self.database = None
        self.actor = None
        self._engine = None
        self._bouncer = None
        self._workers = []

    def __enter__(self):
        try:
            self.folder.chmod(0o755)
            self.cluster.create().start().create_roles()
            self.database = Database.create(self.cluster).migrate()
            bootstrap(self.database, self.folder).ok()
            self.database.key_file = self.folder / "service-key.json"
            self.database.execute("create extension pg_stat_statements")
            # Whoever asked for the first Namespace: the administrator.
            self.actor = self.database.one("select actor_id from occ.controller_work")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for worker in self._workers:
            worker._end_all()
        if self._engine is not None:
            self._engine.close()
        if self._bouncer is not None:
            self._bouncer.remove()
        self.cluster.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def engine(self):
        if self._engine is None:
            self._engine = FakeEngine(self.folder / "engine.sock")
        return self._engine

    @property
    def bouncer(self):
        if self._bouncer is None:
            self._bouncer = PgBouncer(self.cluster, pool_size=10).start()
        return self._bouncer

    def worker(self, *flags, url=None, **variables):
        env = {"NODE_ENV": "development", "DOCKER_HOST": self.engine.host}
        env["OCC_DATABASE_URL"] = url or self.database.app_url
        made = Worker(flags, {**env, **variables})
        self._workers.append(made)
        return made

    def end(self, worker):
        worker.stop(deadline=60)
        self._workers.remove(worker)
        worker.close()

    def fill(self, queued=0, finished=0):
        """Adds Namespaces with their work, past the triggers: a million admissions one by one take an hour."""
        connection = self.database.connect(autocommit=False)
        with connection.cursor() as cursor:
            cursor.execute("set local session_replication_role = replica")
            for count, status, state in ((queued, "provisioning", "queued"), (finished, "ready", "succeeded")):
                if count:
                    cursor.execute(FILL, {"count": count, "status": status, "state": state, "actor": self.actor})
        connection.commit()
        connection.close()
        # What autovacuum would do within its minute: with the statistics of an empty table the claim is planned badly.
        self.database.execute("vacuum analyze occ.controller_work")
        self.database.execute("vacuum analyze occ.namespaces")
        self.database.execute("checkpoint")

    def deploy(self, agents):
        """Admits the next revision of so many Agents, past the triggers."""
        connection = self.database.connect(autocommit=False)
        with connection.cursor() as cursor:
            cursor.execute("set local session_replication_role = replica")
            cursor.execute("select count(*) from occ.agents")
            for statement in AGENTS if cursor.fetchone()[0] == 0 else ():
                cursor.execute(statement, {"count": agents, "actor": self.actor})
            cursor.execute(DEPLOY, {"actor": self.actor})
        connection.commit()
        connection.close()
        for table in ("controller_work", "agents", "agent_revisions", "iam_identities", "iam_access_bindings"):
            self.database.execute(f"vacuum analyze occ.{table}")
        self.database.execute("checkpoint")

    def empty_queue(self):
        """Takes back what is queued, so that the next measurement starts even."""
        with self.database.connect().cursor() as cursor:
            cursor.execute("set session_replication_role = replica")
            cursor.execute("delete from occ.controller_work where state in ('queued', 'claimed')")
            cursor.execute("set session_replication_role = origin")
        self.database.execute("vacuum analyze occ.controller_work")

    def passes(self, reconcilers=4, seconds=None):
        """Runs reconcilers until nothing is queued, or for some seconds: (passes a second, those of each second)."""
        command = [tree.program("tests/bench/passes"), str(reconcilers)] + ([str(seconds)] if seconds else [])
        done = subprocess.run(
            command,
            env=environment({"OCC_DATABASE_URL": self.database.app_url}),
            capture_output=True,
            text=True,
            check=True,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines[-1]["bad"] == 0, f"passes went wrong: {done.stdout[-500:]} {done.stderr[-500:]}"
        return lines[-1]["passes"] / lines[-1]["seconds"], [line["second"] / line["seconds"] for line in lines[:-1]]

    def pgbench(self, transactions, clients=4, protocol="extended"):
        """The plain five statements, by pgbench: transactions a second. `protocol` is as pgbench's -M."""
        done = subprocess.run(
            [tree.postgresql("pgbench"), "-n", "-M", protocol, "-c", str(clients), "-j", "1", "-h", "127.0.0.1"]
            + ["-p", str(self.cluster.port), "-U", "occ_app", "-t", str(transactions // clients)]
            + ["-f", str(tree.SOURCE / "tests" / "bench" / "plain.sql"), self.database.name],
            env=environment({"PGPASSWORD": self.cluster.passwords["occ_app"]}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return float(re.search(r"tps = ([0-9.]+) \(without", done.stdout)[1])


# One Namespace and one Secret for all of them; each has its own service principal, which may use that Secret.
AGENTS = (
    """
insert into occ.namespaces (id, name, status) values ('ns_00000000-0000-4000-8000-00000000a9e7', 'bench agents', 'ready')
""",
    """
insert into occ.configurations (id, namespace_id)
values ('cfg_00000000-0000-4000-8000-00000000a9e7', 'ns_00000000-0000-4000-8000-00000000a9e7')
""",
    """
insert into occ.secrets (id, namespace_id, name, driver_id, backend_namespace_name, backend_name, backend_key)
values ('sec_00000000-0000-4000-8000-00000000a9e7', 'ns_00000000-0000-4000-8000-00000000a9e7', 's', 'd', 'n', 's', 'k')
""",
    """
insert into occ.iam_roles (id, name, permissions)
values ('bench operator', 'bench operator', '[{"action": "operate", "resourceKind": "secret"}]')
""",
    """
insert into occ.agents (id, namespace_id, name, configuration_id, execution_mode, service_principal_id, harness_auth,
                        desired_runtime_state)
select 'agt_' || gen_random_uuid(), 'ns_00000000-0000-4000-8000-00000000a9e7', 'bench ' || number,
       'cfg_00000000-0000-4000-8000-00000000a9e7', 'embedded', gen_random_uuid()::text,
       '{"method": "api_key", "source": {"kind": "secret", "namespaceId": "ns_00000000-0000-4000-8000-00000000a9e7",
         "id": "sec_00000000-0000-4000-8000-00000000a9e7"}}', 'running'
  from generate_series(1, %(count)s) as number
""",
    """
insert into occ.iam_identities (id, namespace_id, agent_id, kind)
select service_principal_id, namespace_id, id, 'service_principal' from occ.agents
""",
    """
insert into occ.iam_access_bindings (id, namespace_id, identity_subject_id, role_id, resource_kind, resource_id)
select gen_random_uuid()::text, namespace_id, service_principal_id, 'bench operator', 'secret', harness_auth_secret_id
  from occ.agents
""",
)
DEPLOY = """
with revision as (
    insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec)
    select 'rev_' || gen_random_uuid(), a.namespace_id, a.id,
           1 + (select count(*) from occ.agent_revisions r where r.agent_id = a.id),
           jsonb_build_object('configuration_id', a.configuration_id, 'configuration_kind', 'agent',
               'configuration_generation', 1, 'draft_spec', jsonb_build_object('logging', '{"level": "info"}'::jsonb),
               'harness', '{"id": "openclaw", "version": "1", "mode": "embedded"}'::jsonb,
               'compute', '{"id": "compute-nothing", "implementation": "nothing"}'::jsonb,
               'harness_auth', a.harness_auth)
      from occ.agents a
    returning id, namespace_id, agent_id)
insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, actor_id)
select 'agent_revision:' || id || ':reconcile', namespace_id, agent_id, id, %(actor)s from revision
"""

FILL = """
with made as (
    insert into occ.namespaces (id, name, status)
    select 'ns_' || gen_random_uuid(), 'bench ' || gen_random_uuid(), %(status)s from generate_series(1, %(count)s)
    returning id)
insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target, state, attempt_count,
                                 claim_token, completed_at, reason_code)
select 'namespace:' || id || ':reconcile:ready', id, %(actor)s, 'ready', %(state)s, (%(state)s = 'succeeded')::int,
       case when %(state)s = 'succeeded' then gen_random_uuid() end,
       case when %(state)s = 'succeeded' then now() end,
       case when %(state)s = 'succeeded' then 'RECONCILE_SUCCEEDED' end
from made
"""
