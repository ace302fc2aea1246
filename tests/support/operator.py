# SPDX-License-Identifier: MIT
"""Another caller of occctl than the administrator, a worker's outcome by hand, and how refusals are read."""

import hashlib
import json
import secrets
import subprocess
import threading
import uuid

from . import tree
from .program import environment
from .waiting import poll


class Operator:
    """A service principal with exactly these permissions, and its key. `env` makes occctl ask as this one.

    `permissions` are "kind:action", granted Installation-wide or where said.
    """

    def __init__(self, database, folder, *permissions, namespace_id=None, resource=None, expires="30 days"):
        self.database = database
        self.id = str(uuid.uuid4())
        self.key_id = str(uuid.uuid4())
        self.key = "occ_sk_" + secrets.token_urlsafe(32)
        self.path = folder / f"key-{self.key_id}.json"
        database.execute("insert into occ.iam_identities (id, kind) values (%s, 'service_principal')", self.id)
        database.execute(
            "insert into occ.apikey (id, name, key_hash, service_principal_id, created_at, expires_at)"
            " values (%s, 'operator', %s, %s, now() - interval '90 days', now() + %s::interval)",
            self.key_id,
            hashlib.sha256(self.key.encode()).hexdigest(),
            self.id,
            expires,
        )
        if permissions:
            self.grant(*permissions, namespace_id=namespace_id, resource=resource)
        self.write()

    env = property(lambda self: {"OCC_SERVICE_KEY_FILE": self.path})

    def write(self, **change):
        data = {
            "id": self.key_id,
            "servicePrincipalId": self.id,
            "name": "operator",
            "expiresAt": "2999-01-01T00:00:00.000Z",
            "key": self.key,
        }
        meta = {"installationId": self.database.one("select id from occ.installation")}
        data.update({name: value for name, value in change.items() if name in data})
        meta.update({name: value for name, value in change.items() if name in meta})
        self.path.write_text(json.dumps({"data": data, "meta": meta}))
        self.path.chmod(0o600)

    def grant(self, *permissions, namespace_id=None, resource=None):
        """Gives the permissions by a role and a binding of their own; the binding's id."""
        role, binding = str(uuid.uuid4()), str(uuid.uuid4())
        listed = [dict(zip(("resourceKind", "action"), each.split(":"))) for each in permissions]
        kind, resource_id = resource or (None, None)
        self.database.execute(
            "insert into occ.iam_roles (id, name, permissions) values (%s, %s, %s)", role, role, json.dumps(listed)
        )
        self.database.execute(
            "insert into occ.iam_access_bindings"
            " (id, identity_subject_id, role_id, namespace_id, resource_kind, resource_id)"
            " values (%s, %s, %s, %s, %s, %s)",
            binding,
            self.id,
            role,
            namespace_id,
            kind,
            resource_id,
        )
        return binding

    def revoke_all(self):
        self.database.execute("delete from occ.iam_access_bindings where identity_subject_id = %s", self.id)


def finish(database, work_id, code="RECONCILE_SUCCEEDED", state="succeeded"):
    """Ends an item of work as a worker would, by the administrator's hand; a Namespace follows."""
    database.execute("begin")
    database.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = attempt_count + 1,"
        " claim_token = gen_random_uuid(), lease_expires_at = now() + interval '5 s' where idempotency_key = %s",
        work_id,
    )
    database.execute(
        "insert into occ.audit_events (kind, actor_id, action, namespace_id, outcome, details)"
        " select 'mutation', actor_id, 'reconcile', namespace_id, 'success', jsonb_build_object('workId',"
        " idempotency_key, 'reasonCode', %s::text, 'attemptCount', attempt_count) from occ.controller_work"
        " where idempotency_key = %s",
        code,
        work_id,
    )
    if work_id.endswith(":deleted") and state == "succeeded":
        token = database.one("select claim_token::text from occ.controller_work where idempotency_key = %s", work_id)
        database.one("select occ.tombstone_namespace(%s, %s::uuid)", work_id, token)
    database.execute(
        "update occ.controller_work set state = %s, completed_at = now(), reason_code = %s, lease_expires_at = null"
        " where idempotency_key = %s",
        state,
        code,
        work_id,
    )
    if work_id.endswith(":ready"):
        database.execute(
            "update occ.namespaces set status = %s where id = %s and status = 'provisioning'",
            "ready" if state == "succeeded" else "failed",
            work_id.split(":")[1],
        )
    database.execute("commit")


def start(database, *arguments, **more):
    """occctl on the database as its administrator, not waited for: a Popen with text pipes."""
    env = {"NODE_ENV": "development", "OCC_SERVICE_KEY_FILE": database.key_file, **database.environment()}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    return subprocess.Popen([tree.program("occctl"), *arguments], env=environment(env), cwd="/", **pipes)


def refused(result, status, code, *words):
    """A refusal: nothing on stdout, one line on stderr that ends with the code and holds the words."""
    assert result.status == status, result
    assert result.out == ""
    (line,) = result.err.splitlines()
    assert line.startswith("occctl: ") and line.endswith(f"[{code}]"), line
    for word in words:
        assert word in line, (word, line)
    return line


def events(database, action):
    """Audit events of one action, oldest first."""
    return database.query("select * from occ.audit_events where action = %s order by occurred_at", action)


def failed_deletion(occctl, database, env=None):
    occctl("namespace", "create", "acme", env=env).ok()
    document = occctl("namespace", "delete", "acme", "-o", "json", env=env).ok().json
    finish(database, document["work"]["id"], "MAX_ATTEMPTS_EXHAUSTED", "failed_permanent")
    return document


def in_background(occctl, *arguments, **more):
    results = []
    thread = threading.Thread(target=lambda: results.append(occctl(*arguments, **more)))
    thread.start()

    def result():
        thread.join()
        return results[0]

    return result


def work_of(database, name, target):
    def found():
        row = database.namespace(name)
        key = row and f"namespace:{row['id']}:reconcile:{target}"
        return key if key and database.work(key) else None

    return poll(found, what="the admitted work")
