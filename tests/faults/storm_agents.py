# SPDX-License-Identifier: MIT
"""The storm on Agents: who asks for them, and how the scripted Driver misbehaves (see storm.py)."""

import json
import pathlib
import random
import shutil
import time

from support.scripted import Scripted
from support.tenant import OPENCLAW
from storm_trouble import Storm

HOMES = 3
MOST_AGENTS = 24
GRANT = """
insert into occ.iam_access_bindings (id, identity_subject_id, role_id, resource_kind, resource_id)
select gen_random_uuid()::text, a.service_principal_id, %s, 'secret', a.harness_auth_secret_id from occ.agents a where a.id = %s
on conflict do nothing
"""

# Who has which lane from when to when, as PostgreSQL's clock has it, and which revision was active when: the rows
# themselves only tell how it ended.
WITNESS = """
create schema storm;
create table storm.claim (token uuid primary key, key text, lane text, began timestamptz, lease timestamptz, ended timestamptz);
create table storm.active (agent text, revision text, number bigint, at timestamptz);
create function storm.see_work() returns trigger language plpgsql security definer as $$ begin
  if old.state = 'claimed' and (tg_op = 'DELETE' or new.state <> 'claimed' or new.claim_token <> old.claim_token) then
    update storm.claim set ended = clock_timestamp() where token = old.claim_token and ended is null;
  end if;
  if tg_op = 'UPDATE' and new.state = 'claimed' then
    insert into storm.claim values (new.claim_token, new.idempotency_key, coalesce(new.agent_id, new.namespace_id),
                                    clock_timestamp(), new.lease_expires_at)
    on conflict (token) do update set lease = excluded.lease;
  end if;
  return null;
end $$;
create trigger storm_work after update or delete on occ.controller_work for each row execute function storm.see_work();
create function storm.see_agent() returns trigger language plpgsql security definer as $$ begin
  if new.active_revision_id is distinct from old.active_revision_id then
    insert into storm.active select new.id, new.active_revision_id,
      (select revision_number from occ.agent_revisions where id = new.active_revision_id), clock_timestamp();
  end if;
  return null;
end $$;
create trigger storm_agent after update on occ.agents for each row execute function storm.see_agent();
"""

# What an operation does, and how often; the codes tell the three ways of failing apart.
STEPS = (
    ("pending STORM_WAITS {short}", 12),
    ("effect + pending STORM_WAITS {short}", 6),
    ("retryable STORM_DOWN {short}", 6),
    ("effect + retryable STORM_DOWN", 3),
    ("delay {short} + ready", 12),
    ("delay {long} + ready", 3),
    ("spin {short} + ready", 3),
    ("sleep {short} + ready", 3),
    ("sleep {long} + ready", 1),
    ("kill", 4),
    ("effect + kill", 5),
    ("crash", 2),
    ("effect + exit 0", 2),
    ("effect + abort", 1),
    ("hang", 1),
    ("effect + sleep 600000", 1),
    ("permanent STORM_REFUSED", 2),
    ("effect + permanent STORM_REFUSED", 2),
    ("foreign namespace", 1),
    ("mute", 1),
    ("garbage names", 1),
    ("warn STORM_WARNS it blows + ready", 3),
    ("cancelled", 1),
)
OPERATIONS = (
    "ensure_namespace", "delete_namespace", "bind_agent", "provision_agent_credentials", "prepare_revision",
    "activate_revision", "stop_revision", "retire_revision", "delete_agent_credentials",
)  # fmt: skip


class AgentStorm(Storm):
    agents = True

    def make_world(self, engine):
        self.real = False
        package = self.random.choice(("scripted", "scripted-early", "scripted-maintained"))
        self.alone = self.random.random() < 0.4
        self.scripted = Scripted(self.folder, package, ("compute", "configuration", "secret"))
        self.maintained = package == "scripted-maintained"
        if self.alone:
            self.scripted.needs_stopped("embedded")
        self.say(f"{package}{', predecessors are stopped first' if self.alone else ''}")
        self.world = self.scripted.env
        self.witnessed = 0  # since when the witness sees all, in milliseconds since the epoch
        self.homes = []
        return ("stop_engine",)

    def close_world(self):
        """Its folder goes with the storm's."""

    def calm(self):
        self.scripted.off()

    def mood(self):
        trouble = self.random.choice((0, 0.1, 0.3, 0.6))
        self._mood(trouble, self.random.random())
        return trouble

    def _mood(self, trouble, seed):
        chance = random.Random(seed)
        self.calm()
        # Which steps were used is read with each call.
        (self.scripted.folder / "progress").unlink(missing_ok=True)
        if not trouble:
            return
        steps, weights = zip(*STEPS)
        for operation in OPERATIONS:
            told = []
            for _ in range(100):
                if chance.random() > trouble:
                    told.append("ready")
                    continue
                step = chance.choices(steps, weights)[0]
                told.append(step.format(short=chance.choice((10, 100, 400)), long=chance.choice((1000, 3000, 6000))))
            self.scripted.on(operation, *told)

    # Who asks.

    def done_by(self, *arguments):
        """The document of what must succeed."""
        result = self.occctl(*arguments, "-o", "json")
        assert result.returncode == 0, result
        return json.loads(result.stdout) if result.stdout.strip() else None

    def prepare(self):
        self.await_idle()
        self.database.execute(WITNESS)
        self.witnessed = time.time() * 1000
        self.role = self.done_by("iam", "role", "create", "storm", "--permission", "secret:operate")["id"]
        value, document = self.folder / "value", self.folder / "document.json"
        value.write_text("s3cr3t")
        value.chmod(0o600)
        document.write_text(json.dumps(OPENCLAW))
        for number in range(HOMES):
            name = f"home-{number}"
            self.done_by("namespace", "create", name, "--wait")
            self.done_by("secret", "create", "model", "-n", name, "--value-file", str(value))
            made = self.done_by("configuration", "create", str(document), "-n", name)
            self.homes.append((name, made["id"]))
        self._mood(0.3, self.random.random())

    def ask(self, connection, chance):
        what = chance.random()
        if what < 0.50:
            self._deploy(connection, chance)
        elif what < 0.57:
            self._about(connection, chance, "agent stop")
        elif what < 0.62:
            self._about(connection, chance, "agent delete")
        elif what < 0.78:
            self._draft(connection, chance)
        elif what < 0.82:
            self._withdraw(connection, chance)
        elif what < 0.86:
            self._retry(connection)
        elif what < 0.95:
            self.create(connection, chance.choice((1, 1, 2)))
        else:
            self.delete(connection, chance)

    def delete(self, connection, chance):
        with connection.cursor() as cursor:
            cursor.execute(
                "select id from occ.namespaces where deleted_at is null and name not like 'home-%' order by random() limit 1"
            )
            row = cursor.fetchone()
        if row:
            self.look("namespace delete", row[0])

    def _agent(self, connection, chance):
        """One of the newest, mostly: it has company."""
        with connection.cursor() as cursor:
            cursor.execute("select id from occ.agents where status = 'active' order by created_at desc, id")
            rows = [row[0] for row in cursor.fetchall()]
        return chance.choice(rows[:6] if chance.random() < 0.6 else rows) if rows else None

    def _draft(self, connection, chance):
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from occ.agents")
            if cursor.fetchone()[0] >= MOST_AGENTS:
                return
        home, configuration = chance.choice(self.homes)
        name = f"a-{chance.getrandbits(64):x}"
        more = ("--configuration", configuration, "--execution-mode", "embedded", "--harness-auth", "api_key=model")
        result = self.look("agent create", name, "-n", home, *more, "-o", "json")
        if result.returncode == 0:
            self.grant(connection, json.loads(result.stdout)["id"])

    def grant(self, connection, agent):
        with connection.cursor() as cursor:
            cursor.execute(GRANT, (self.role, agent))

    def _deploy(self, connection, chance):
        agent = self._agent(connection, chance)
        for _ in range(chance.choice((1, 1, 1, 2, 3)) if agent else 0):
            self.look("agent deploy", agent)

    def _about(self, connection, chance, what):
        agent = self._agent(connection, chance)
        if agent:
            self.look(what, agent)

    def _withdraw(self, connection, chance):
        """What an Agent may, taken away or given back."""
        with connection.cursor() as cursor:
            cursor.execute(
                "select id from occ.agents a where status = 'active' and not exists (select from occ.iam_access_bindings b"
                " where b.identity_subject_id = a.service_principal_id) order by random() limit 1"
            )
            row = cursor.fetchone()
        agent = row[0] if row and chance.random() < 0.7 else self._agent(connection, chance)
        if not agent:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "delete from occ.iam_access_bindings b using occ.agents a"
                " where a.id = %s and b.identity_subject_id = a.service_principal_id",
                (agent,),
            )
            gone = cursor.rowcount
        if not gone:
            self.grant(connection, agent)
        self.done["withdrawn" if gone else "given"] += 1

    def _retry(self, connection):
        with connection.cursor() as cursor:
            cursor.execute(
                "select idempotency_key from occ.controller_work where state = 'failed_permanent'"
                " and idempotency_key like '%:reconcile:deleted' order by random() limit 1"
            )
            row = cursor.fetchone()
        if row:
            self.look("work retry", row[0])

    def keep(self, folder):
        super().keep(folder)
        for name in ("journal", "script"):
            path = self.scripted.folder / name
            if path.exists():
                shutil.copy2(path, pathlib.Path(folder) / name)
        shutil.copytree(self.scripted.folder / "world", pathlib.Path(folder) / "world", dirs_exist_ok=True)
        with open(pathlib.Path(folder) / "claims", "w", encoding="utf-8") as file:
            for table in ("claim order by began", "active order by at"):
                for row in self.database.query(f"select * from storm.{table}"):
                    print(dict(row), file=file)
