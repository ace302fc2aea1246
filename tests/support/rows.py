# SPDX-License-Identifier: MIT
"""Rows of the schema, written as a program would write them, as occ_app."""

import json
import uuid

import psycopg2
import pytest

from support.waiting import poll

CODE = {
    "check": "23514",
    "unique": "23505",
    "foreign": "23503",
    "null": "23502",
    "denied": "42501",
    "key": "OC001",
    "closed": "OC002",
    "owned": "OC003",
}


def new(prefix=""):
    return prefix + str(uuid.uuid4())


class Store:
    """Rows as the programs write them."""

    def __init__(self, database, role="occ_app"):
        self.connection = database.connect(role)

    def run(self, sql, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else cursor.rowcount

    def value(self, sql, *values):
        return self.run(sql, *values)[0][0]

    def refused(self, what, sql, *values, by=None):
        """The statement fails with that SQLSTATE, and by that constraint. Gives the message."""
        with pytest.raises(psycopg2.Error) as raised:
            self.run(sql, *values)
        error = raised.value
        self.connection.rollback()
        assert error.pgcode == CODE[what], f"{error.pgcode}: {error}"
        if by is not None:
            assert error.diag.constraint_name == by, f"{error.diag.constraint_name}: {error}"
        return str(error)

    def insert(self, table, **columns):
        self.run(*insertion(table, columns))
        return columns.get("id")

    def refused_row(self, what, by, table, **columns):
        return self.refused(what, *insertion(table, columns), by=by)

    def namespace(self, status="ready", **more):
        return self.insert("namespaces", **{"id": new("ns_"), "name": new(), "status": status, **more})

    def configuration(self, namespace, **more):
        return self.insert("configurations", **{"id": new("cfg_"), "namespace_id": namespace, **more})

    def secret(self, namespace, **more):
        row = {
            "id": new("sec_"),
            "namespace_id": namespace,
            "name": new(),
            "driver_id": "secret-kubernetes",
            "backend_namespace_name": "oce-1",
            "backend_name": new(),
            "backend_key": "value",
        }
        return self.insert("secrets", **{**row, **more})

    def service_account(self, namespace, secret, **more):
        row = {
            "id": new("sa_"),
            "namespace_id": namespace,
            "name": new(),
            "credential": json.dumps(reference(namespace, secret)),
        }
        return self.insert("service_accounts", **{**row, **more})

    def agent(self, namespace, **more):
        agent, principal = new("agt_"), new()
        row = {
            "id": agent,
            "namespace_id": namespace,
            "name": new(),
            "execution_mode": "embedded",
            "service_principal_id": principal,
        }
        if "configuration_id" not in more:
            row["configuration_id"] = self.configuration(namespace)
        row.update(more)
        self.run("begin")
        try:
            self.insert("agents", **row)
            self.insert(
                "iam_identities", id=principal, kind="service_principal", agent_id=agent, namespace_id=namespace
            )
        except psycopg2.Error:
            self.run("rollback")
            raise
        self.run("commit")
        return agent

    def revision(self, namespace, agent, number=1, **more):
        row = {
            "id": new("rev_"),
            "namespace_id": namespace,
            "agent_id": agent,
            "revision_number": number,
            "admitted_spec": json.dumps(admitted_spec()),
        }
        return self.insert("agent_revisions", **{**row, **more})

    def work(self, namespace, target="ready", **more):
        row = {
            "idempotency_key": f"namespace:{namespace}:reconcile:{target}",
            "namespace_id": namespace,
            "actor_id": "actor",
            "namespace_target": target,
        }
        row.update(more)
        self.insert("controller_work", **row)
        return row["idempotency_key"]

    def deletion(self, namespace):
        self.run("update occ.namespaces set status = 'deleting' where id = %s", namespace)
        return self.work(namespace, "deleted")

    def agent_deletion(self, namespace, agent):
        self.run(
            "update occ.agents set status = 'deleting', desired_runtime_state = 'stopped' where id = %s", agent
        )
        row = {
            "idempotency_key": f"agent:{agent}:reconcile:deleted",
            "namespace_id": namespace,
            "actor_id": "actor",
            "agent_id": agent,
            "agent_target": "deleted",
        }
        self.insert("controller_work", **row)
        return row["idempotency_key"]

    def claim(self, key, lease="5 s", token=None):
        token = token or new()
        assert 1 == self.run(
            "update occ.controller_work set state = 'claimed', attempt_count = attempt_count + 1, claim_token = %s,"
            " lease_expires_at = statement_timestamp() + %s::interval, updated_at = statement_timestamp()"
            " where idempotency_key = %s and state = 'queued'",
            token,
            lease,
            key,
        )
        return token

    def finish(self, key, state="succeeded", reason="RECONCILE_SUCCEEDED"):
        assert 1 == self.run(
            "update occ.controller_work set state = %s, lease_expires_at = null, completed_at = statement_timestamp(),"
            " reason_code = %s where idempotency_key = %s",
            state,
            reason,
            key,
        )

    def fail(self, key):
        self.claim(key)
        self.finish(key, "failed_permanent", "OWNERSHIP_CONFLICT")

    def row(self, key):
        rows = self.run("select row_to_json(w) from occ.controller_work as w where idempotency_key = %s", key)
        return rows[0][0] if rows else None


def insertion(table, columns):
    names = ", ".join(columns)
    return (f"insert into occ.{table} ({names}) values ({', '.join(['%s'] * len(columns))})", *columns.values())


def reference(namespace, secret):
    return {"kind": "secret", "namespaceId": namespace, "id": secret}


def admitted_spec(**change):
    spec = {
        "configuration_id": new("cfg_"),
        "configuration_kind": "agent",
        "configuration_generation": 1,
        "draft_spec": {"logging": {"level": "info"}},
        "harness": {"id": "openclaw", "version": "1.2.3", "mode": "embedded"},
        "compute": {"id": "compute-kubernetes", "implementation": "kubernetes"},
        "harness_auth": None,
    }
    spec.update(change)
    return {name: value for name, value in spec.items() if value is not ...}


def blocked(database, store):
    pid = store.connection.get_backend_pid()
    poll(
        lambda: database.one("select cardinality(pg_blocking_pids(%s)) > 0", pid),
        10,
        what="a session that waits for a lock",
    )


def permissions(*pairs):
    return json.dumps([{"action": action, "resourceKind": kind} for action, kind in pairs])
