# SPDX-License-Identifier: MIT
"""Rows of an Agent, its revisions and its work, by SQL, for tests of passes."""

import json
import uuid


class Agents:
    """One Agent in a ready Namespace. `work` is a Queue."""

    def __init__(self, work, compute="compute-docker-development", implementation="docker-local"):
        self.work = work
        self.compute = {"id": compute, "implementation": implementation}
        self.namespace = work.namespace("ready")
        self.configuration = work.id("cfg")
        self.agent = work.id("agt")
        self.principal = str(uuid.uuid4())
        self.operates = None  # the binding that lets it use Secrets
        connection = work.db.connect("postgres", autocommit=False)
        with connection.cursor() as cursor:
            cursor.execute(
                "insert into occ.configurations (id, namespace_id) values (%s, %s)", (self.configuration, self.namespace)
            )
            cursor.execute(
                "insert into occ.agents (id, namespace_id, name, configuration_id, execution_mode,"
                " service_principal_id) values (%s, %s, 'a', %s, 'embedded', %s)",
                (self.agent, self.namespace, self.configuration, self.principal),
            )
            cursor.execute(
                "insert into occ.iam_identities (id, kind, agent_id, namespace_id)"
                " values (%s, 'service_principal', %s, %s)",
                (self.principal, self.agent, self.namespace),
            )
        connection.commit()

    def set(self, **columns):
        for name, value in columns.items():
            self.work.db.execute(f"update occ.agents set {name} = %s where id = %s", value, self.agent)

    def force(self, statement, **values):
        """What no trigger and no foreign key would let happen."""
        connection = self.work.db.connect("postgres", autocommit=False)
        with connection.cursor() as cursor:
            cursor.execute("set local session_replication_role = replica")
            cursor.execute(statement, values)
            assert cursor.rowcount == 1
        connection.commit()

    def secret(self):
        """A Secret's metadata, which the Agent's own principal may use."""
        made = self.work.id("sec")
        self.work.db.execute(
            "insert into occ.secrets (id, namespace_id, name, driver_id, backend_namespace_name, backend_name,"
            " backend_key) values (%s, %s, %s, 'secret-kubernetes', 'oce-x', %s, 'value')",
            made, self.namespace, made, made,
        )  # fmt: skip
        if not self.operates:
            role = self.work.new_role([{"action": "operate", "resourceKind": "secret"}], self.namespace)
            self.operates = self.work.bind(self.principal, role, self.namespace)
        return made

    def reference(self, secret):
        return {"kind": "secret", "namespaceId": self.namespace, "id": secret}

    def account(self, secret):
        made = self.work.id("sa")
        self.work.db.execute(
            "insert into occ.service_accounts (id, namespace_id, name, credential) values (%s, %s, %s, %s::jsonb)",
            made, self.namespace, made, json.dumps(self.reference(secret)),
        )  # fmt: skip
        return made

    def api_key(self):
        return {"method": "api_key", "source": self.reference(self.secret())}

    def deployable(self, number=1, **more):
        """A revision whose Harness can authenticate, of an Agent that is to run."""
        self.set(desired_runtime_state="running")
        return self.revision(number, **{"auth": self.api_key(), **more})

    def deploy(self, number=1, **more):
        """The same, and the key of its work."""
        return self.admit(revision=self.deployable(number, **more))

    def active(self):
        return self.work.db.one("select active_revision_id from occ.agents where id = %s", self.agent)

    def revision(self, number=1, harness="openclaw", mode="embedded", auth=None, active=False, **spec):
        made = self.work.id("rev")
        spec = {
            "configuration_id": self.configuration, "configuration_kind": "agent", "configuration_generation": 1,
            "draft_spec": {}, "harness": {"id": harness, "version": "1", "mode": mode}, "compute": self.compute,
            "harness_auth": auth, **spec,
        }  # fmt: skip
        self.work.db.execute(
            "insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec)"
            " values (%s, %s, %s, %s, %s::jsonb)",
            made, self.namespace, self.agent, number, json.dumps(spec),
        )  # fmt: skip
        if active:
            self.activate(made)
        return made

    def activate(self, revision):
        """It became active while the Agent was to run, whatever is wanted of the Agent now."""
        wanted = self.work.db.one("select desired_runtime_state from occ.agents where id = %s", self.agent)
        self.set(desired_runtime_state="running", active_revision_id=revision)
        self.set(desired_runtime_state=wanted)

    def admit(self, target=None, revision=None, actor=None, attempts=0, age="0 s", due="0 s"):
        key = f"agent_revision:{revision}:reconcile" if revision else f"agent:{self.agent}:reconcile:{target}"
        if target == "stopped":
            key += f":{uuid.uuid4()}"
        return self._insert(key, revision, target, actor, attempts, age, due)

    def maintain(self, revision, bucket=1, interval=3600000, **more):
        """A maintenance item that is due now, whatever its bucket."""
        key = self._insert(f"agent_revision:{revision}:maintenance:{bucket}", revision, **more)
        self.work.db.execute(
            "update occ.controller_work set result_data = jsonb_build_object('maintenanceIntervalMs', %s)"
            " where idempotency_key = %s",
            interval, key,
        )  # fmt: skip
        return key

    def _insert(self, key, revision, target=None, actor=None, attempts=0, age="0 s", due="0 s"):
        self.work.db.execute(
            "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, agent_target,"
            " actor_id, attempt_count, created_at, available_at) values (%s, %s, %s, %s, %s, %s, %s,"
            " now() - %s::interval, now() + %s::interval)",
            key, self.namespace, self.agent, revision, target, actor or self.work.actor, attempts, age, due,
        )  # fmt: skip
        return key

    def maintenance(self, revision):
        """The revision's maintenance items, oldest first."""
        return self.work.db.query(
            "select *, split_part(idempotency_key, ':', 4)::bigint as bucket,"
            " round(date_part('epoch', available_at) * 1000)::bigint as due,"
            " round(date_part('epoch', created_at) * 1000)::bigint as admitted from occ.controller_work"
            " where revision_id = %s and idempotency_key like '%%:maintenance:%%' order by bucket",
            revision,
        )
