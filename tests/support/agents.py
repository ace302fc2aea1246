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

    def revision(self, number=1, harness="openclaw", mode="embedded", auth=None, active=False):
        made = self.work.id("rev")
        spec = {
            "configuration_id": self.configuration, "configuration_kind": "agent", "configuration_generation": 1,
            "draft_spec": {}, "harness": {"id": harness, "version": "1", "mode": mode}, "compute": self.compute,
            "harness_auth": auth,
        }  # fmt: skip
        self.work.db.execute(
            "insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec)"
            " values (%s, %s, %s, %s, %s::jsonb)",
            made, self.namespace, self.agent, number, json.dumps(spec),
        )  # fmt: skip
        if active:
            self.set(active_revision_id=made)
        return made

    def admit(self, target=None, revision=None):
        key = f"agent_revision:{revision}:reconcile" if revision else f"agent:{self.agent}:reconcile:{target}"
        if target == "stopped":
            key += f":{uuid.uuid4()}"
        self.work.db.execute(
            "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, agent_target,"
            " actor_id) values (%s, %s, %s, %s, %s, %s)",
            key, self.namespace, self.agent, revision, target, self.work.actor,
        )  # fmt: skip
        return key
