# SPDX-License-Identifier: MIT
"""Rows of the queue and of what it is about, by SQL; and the program that sends the queue's statements."""

import json
import queue
import subprocess
import threading
import uuid

from . import tree
from .program import check_log, environment
from .waiting import PATIENCE

PERMISSIONS = [
    {"action": action, "resourceKind": kind}
    for action, kind in [("create", "namespace"), ("delete", "namespace"), ("read", "namespace")]
    + [("administer", "installation"), ("operate", "agent"), ("delete", "agent"), ("deploy", "agent")]
    + [("read", "configuration"), ("read", "service_account"), ("operate", "secret")]
]


class Queue:
    """What an Installation with one administrator has admitted. `db` is a migrated Database, where it is made; with
    `actor`, one who may do all, it is there already.
    """

    def __init__(self, db, actor=None):
        self.db = db
        self.actor = actor
        if not actor:
            self._install()

    def _install(self):
        self.installation = self.id("ins")
        self.actor = self.identity()
        self.role = self.new_role()
        self.db.execute("insert into occ.installation (id, name) values (%s, 'Test')", self.installation)
        self.binding = self.bind(self.actor, self.role)

    @staticmethod
    def id(prefix):
        return f"{prefix}_{uuid.uuid4()}"

    def identity(self):
        made = str(uuid.uuid4())
        self.db.execute("insert into occ.iam_identities (id, kind) values (%s, 'service_principal')", made)
        return made

    def person(self):
        made = str(uuid.uuid4())
        self.db.execute(
            "insert into occ.iam_identities (id, kind, issuer, subject) values (%s, 'principal', 'test', %s)", made, made
        )
        return made

    def new_role(self, permissions=None, namespace=None):
        made = str(uuid.uuid4())
        self.db.execute(
            "insert into occ.iam_roles (id, name, namespace_id, permissions) values (%s, %s, %s, %s::jsonb)",
            made, made, namespace, json.dumps(PERMISSIONS if permissions is None else permissions),
        )  # fmt: skip
        return made

    def bind(self, identity, role, namespace=None, kind=None, resource=None, group=None):
        made = str(uuid.uuid4())
        self.db.execute(
            "insert into occ.iam_access_bindings (id, identity_subject_id, group_subject_id, role_id, namespace_id,"
            " resource_kind, resource_id) values (%s, %s, %s, %s, %s, %s, %s)",
            made, identity, group, role, namespace, kind, resource,
        )  # fmt: skip
        return made

    def restrict(self, action, kind, namespace=None, resource=None):
        made = str(uuid.uuid4())
        self.db.execute(
            "insert into occ.iam_restrictions (id, action, resource_kind, namespace_id, resource_id)"
            " values (%s, %s, %s, %s, %s)",
            made, action, kind, namespace, resource,
        )  # fmt: skip
        return made

    def namespace(self, status="provisioning", existing=None):
        made = self.id("ns")
        self.db.execute(
            "insert into occ.namespaces (id, name, status, existing_namespace) values (%s, %s, %s, %s)",
            made, made, status, existing,
        )  # fmt: skip
        return made

    def admit(self, target="ready", namespace=None, actor=None, attempts=0, due="0 s", age="0 s", existing=None):
        """Work for a (new) Namespace; gives its key. `due` and `age` are intervals: from now, and before now."""
        namespace = namespace or self.namespace("provisioning" if target == "ready" else "deleting", existing)
        key = f"namespace:{namespace}:reconcile:{target}"
        self.db.execute(
            "insert into occ.controller_work (idempotency_key, namespace_id, namespace_target, actor_id,"
            " attempt_count, available_at, created_at) values (%s, %s, %s, %s, %s,"
            " now() + %s::interval, now() - %s::interval)",
            key, namespace, target, actor or self.actor, attempts, due, age,
        )  # fmt: skip
        return key

    def row(self, key):
        return self.db.work(key)

    def settled(self, key):
        """What has become of an item: (state, code, attempts)."""
        row = self.row(key)
        return row["state"], row["reason_code"], row["attempt_count"]

    def status(self, key):
        return self.db.query("select status, deleted_at from occ.namespaces where id = %s", key.split(":")[1])[0]

    def events(self, key):
        """[(action, outcome, code)] of an item, oldest first."""
        rows = self.db.query(
            "select action, outcome, details->>'reasonCode' as code from occ.audit_events"
            " where details->>'workId' = %s order by occurred_at, id",
            key,
        )
        return [(row["action"], row["outcome"], row["code"]) for row in rows]

    def latest(self, key, action="reconcile"):
        rows = self.db.query(
            "select * from occ.audit_events where details->>'workId' = %s and action = %s"
            " order by occurred_at desc, id desc limit 1",
            key, action,
        )  # fmt: skip
        return rows[0] if rows else None

    def expire(self, key):
        """Lets the lease of a claim have run out a second ago."""
        self.db.execute(
            "update occ.controller_work set lease_expires_at = statement_timestamp() - interval '1 s'"
            " where idempotency_key = %s",
            key,
        )

    def due(self, key):
        """Makes a queued row available now."""
        self.db.execute(
            "update occ.controller_work set available_at = statement_timestamp() where idempotency_key = %s", key
        )


class Probe:
    """tests/integration/queue_probe: probe("claim", token, 5000, 5) sends one statement and gives its answer."""

    def __init__(self, url):
        self.process = subprocess.Popen(
            [str(tree.BUILD / "tests" / "integration" / "queue_probe")],
            env=environment({"OCC_DATABASE_URL": url}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def send(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self, deadline=20.0):
        line = self._answers.get(timeout=deadline * PATIENCE)
        if line is None:
            raise AssertionError(f"queue_probe ended: {self.process.stderr.read()[-2000:]}")
        return json.loads(line)

    def silent(self, seconds):
        """Whether no answer comes for that long."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return True
        self._answers.put(line)
        return False

    def __call__(self, *words):
        self.send(*words)
        return self.answer()

    def claim(self, lease=30000, attempts=5, *position):
        """Claims; gives the answer with its token in it."""
        token = str(uuid.uuid4())
        return {**self("claim", token, lease, attempts, *position), "token": token}

    def outcome(self, kind, token, code="X_CODE", retry_after=0, timeout=900000, attempts=5, denied=0, ask="outcome"):
        return self(ask, kind, token, code, retry_after, timeout, attempts, denied)

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(20 * PATIENCE)
        text = self.process.stderr.read()
        check_log(text, "queue_probe")
        assert status == 0, f"queue_probe: {status}: {text[-2000:]}"
