# SPDX-License-Identifier: MIT
"""Work for the worker, admitted by SQL as the programs admit it: tests of the worker need no occctl."""

import uuid

from .waiting import poll

ADMINISTRATOR = """
select b.identity_subject_id from occ.iam_access_bindings b join occ.iam_roles r on r.id = b.role_id
 where b.namespace_id is null and b.resource_kind is null and b.identity_subject_id is not null
   and r.permissions @> '[{"action": "create", "resourceKind": "namespace"}]' order by b.id limit 1
"""


class Admission:
    """A Namespace whose work was admitted. `key` is the work's."""

    def __init__(self, database, name=None, target="ready"):
        self.database = database
        self.id = f"ns_{uuid.uuid4()}"
        self.name = name or self.id[3:]
        self.key = f"namespace:{self.id}:reconcile:{target}"
        database.query(
            "with n as (insert into occ.namespaces (id, name) values (%s, %s) returning id)"
            " insert into occ.controller_work (idempotency_key, namespace_id, actor_id, namespace_target)"
            f" select %s, n.id, ({ADMINISTRATOR}), %s from n returning 1",
            self.id,
            self.name,
            self.key,
            target,
        )

    @property
    def work(self):
        return self.database.work(self.key)

    @property
    def state(self):
        return self.work["state"]

    @property
    def status(self):
        return self.database.one("select status from occ.namespaces where id = %s", self.id)

    def wait_state(self, *states, deadline=15.0, patience=True):
        poll(
            lambda: self.work["state"] in states,
            deadline,
            interval=0.002,
            what=f"{self.key} in state {states}",
            patience=patience,
        )
        return self.work

    def wait_ready(self, deadline=15.0):
        self.wait_state("succeeded", deadline=deadline)
        assert self.status == "ready"

    def messages(self):
        """What its `reconcile` events tell, oldest first; None: nothing."""
        rows = self.database.query(
            "select details->>'message' as message from occ.audit_events where action = 'reconcile'"
            " and details->>'workId' = %s order by occurred_at, id",
            self.key,
        )
        return [row["message"] for row in rows]

    def evidence(self):
        """The reason codes of its `reconcile` events, oldest first."""
        rows = self.database.query(
            "select details->>'reasonCode' as code from occ.audit_events where action = 'reconcile'"
            " and details->>'workId' = %s order by occurred_at, id",
            self.key,
        )
        return [row["code"] for row in rows]
