# SPDX-License-Identifier: MIT
"""occctl agent stop, delete and status: what is admitted, what is shown, and --wait. A worker's part is done by hand."""

import json
import re
import threading
import uuid

import pytest

from support.operator import Operator, events, finish, in_background, refused
from support.tenant import Tenant
from support.waiting import poll


class Desk:
    """An Agent "support", and what the worker would do with it."""

    def __init__(self, occctl, database, folder):
        self.occctl = occctl
        self.database = database
        self.tenant = Tenant(database, folder)
        self.configuration = self.tenant.configuration()
        arguments = ("-n", "acme", "--configuration", self.configuration, "--execution-mode", "embedded")
        self.id = occctl("agent", "create", "support", *arguments, "-o", "json").ok().json["id"]

    def run(self, *arguments, **more):
        return self.occctl("agent", *arguments, self.id, "-o", "json", **more)

    def revision(self, number, generation=1):
        """A deployment, as its admission leaves it; its work's key."""
        made = f"rev_{uuid.uuid4()}"
        spec = {
            "configuration_id": self.configuration, "configuration_kind": "agent",
            "configuration_generation": generation, "draft_spec": {"model": "x"},
            "harness": {"id": "openclaw", "version": "1", "mode": "embedded"},
            "compute": {"id": "compute-scripted", "implementation": "scripted-1"}, "harness_auth": None,
        }  # fmt: skip
        key = f"agent_revision:{made}:reconcile"
        self.database.execute(
            "insert into occ.agent_revisions (id, namespace_id, agent_id, revision_number, admitted_spec)"
            " values (%s, %s, %s, %s, %s)", made, self.tenant.id, self.id, number, json.dumps(spec),
        )  # fmt: skip
        self.set(desired_runtime_state="running")
        self.database.execute(
            "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, revision_id, actor_id)"
            " values (%s, %s, %s, %s, 'actor')", key, self.tenant.id, self.id, made,
        )  # fmt: skip
        return key

    def set(self, **columns):
        for name, value in columns.items():
            self.database.execute(f"update occ.agents set {name} = %s where id = %s", value, self.id)

    def activate(self, key):
        self.set(active_revision_id=key.split(":")[1])

    def evidence(self, key, code, **details):
        self.database.execute(
            "insert into occ.audit_events (kind, action, namespace_id, outcome, details)"
            " values ('mutation', 'reconcile', %s, 'failure', %s)",
            self.tenant.id, json.dumps({"workId": key, "reasonCode": code, "attemptCount": 1, **details}),
        )  # fmt: skip

    def defer(self, key, **columns):
        """Waits a minute before the next attempt."""
        self.database.execute(
            "update occ.controller_work set available_at = now() + interval '60 s' where idempotency_key = %s", key
        )

    def remove(self, key):
        """What a worker's last transaction of a deletion does."""
        token = str(uuid.uuid4())
        self.database.execute(
            "update occ.controller_work set state = 'claimed', attempt_count = attempt_count + 1, claim_token = %s,"
            " lease_expires_at = now() + interval '1 minute' where idempotency_key = %s", token, key,
        )  # fmt: skip
        assert self.database.one("select occ.delete_agent(%s, %s::uuid)", key, token)

    state = property(lambda self: self.run("get").ok().json["state"])
    status = property(lambda self: self.run("status").ok().json)


@pytest.fixture
def desk(occctl, bootstrapped, folder):
    return Desk(occctl, bootstrapped, folder)


# ---- Stop


def test_stop(desk, bootstrapped):
    first, second = desk.run("stop").ok().json, desk.run("stop").ok().json
    keys = [document["work"]["id"] for document in (first, second)]
    assert keys[0] != keys[1] and all(re.fullmatch(rf"agent:{desk.id}:reconcile:stopped:[0-9a-f-]{{36}}", k) for k in keys)
    for key in keys:
        work = bootstrapped.work(key)
        assert work["state"] == "queued" and work["agent_target"] == "stopped" and work["revision_id"] is None
    rows = events(bootstrapped, "openclaw.agents.stop")
    assert [row["details"]["workId"] for row in rows] == keys
    assert rows[0]["details"]["decision"]["permission"] == "agent:operate" and rows[0]["resource_id"] == desk.id
    assert first["state"] == "stopping" and desk.tenant.agent("support")["desired_runtime_state"] == "stopped"


def test_stop_names_the_deployment_that_is_under_way(desk):
    assert desk.run("stop").err == ""
    desk.activate(desk.revision(1))
    for row in desk.database.query("select idempotency_key as key from occ.controller_work"):
        finish(desk.database, row["key"])
    assert desk.run("stop").ok().err == ""
    desk.revision(2)
    desk.revision(3)
    result = desk.run("stop").ok()
    assert "revision 3 is under way" in result.err and result.json["desiredRuntimeState"] == "stopped"


def test_wait_for_a_stop(desk):
    desk.activate(desk.revision(1))
    waiting = in_background(desk.run, "stop", "--wait")
    (key,) = poll(lambda: stops(desk), what="the admitted stop")
    desk.set(active_revision_id=None)
    finish(desk.database, key, "AGENT_STOPPED")
    result = waiting().ok()
    assert result.json["state"] == "stopped" and "support: succeeded" in result.err and "AGENT_STOPPED" in result.err


def stops(desk):
    rows = desk.database.query("select idempotency_key as key from occ.controller_work where agent_target = 'stopped'")
    return [row["key"] for row in rows]


def test_a_stop_that_a_deployment_overtook(desk):
    """The work has succeeded, and yet the Agent is not what was waited for."""
    waiting = in_background(desk.run, "stop", "--wait")
    (key,) = poll(lambda: stops(desk), what="the admitted stop")
    deployment = desk.revision(1)
    desk.activate(deployment)
    finish(desk.database, deployment, "REVISION_ACTIVATED")
    finish(desk.database, key, "STOP_SUPERSEDED")
    result = waiting()
    assert result.status == 5 and "the Agent is running revision 1 and not stopped" in result.err


def test_a_stop_that_fails(desk):
    waiting = in_background(desk.run, "stop", "--wait")
    (key,) = poll(lambda: stops(desk), what="the admitted stop")
    finish(desk.database, key, "COMPUTE_DRIVER_MISMATCH", "failed_permanent")
    result = waiting()
    assert result.status == 5 and "failed with COMPUTE_DRIVER_MISMATCH" in result.err
    assert result.json["state"] == "failed"


# ---- Deletion


def test_delete(desk, bootstrapped):
    desk.activate(desk.revision(1))
    document = desk.run("delete").ok().json
    key = f"agent:{desk.id}:reconcile:deleted"
    work = bootstrapped.work(key)
    assert document["work"]["id"] == key and document["status"] == "deleting" and document["state"] == "stopping"
    assert work["state"] == "queued" and work["agent_target"] == "deleted"
    assert desk.tenant.agent("support")["desired_runtime_state"] == "stopped"
    (event,) = events(bootstrapped, "openclaw.agents.delete")
    assert event["details"]["workId"] == key and event["details"]["decision"]["permission"] == "agent:delete"
    again = desk.run("delete")
    assert again.status == 0 and "under way already" in again.err
    assert len(events(bootstrapped, "openclaw.agents.delete")) == 1


def test_wait_for_a_deletion(desk, bootstrapped):
    """The work goes with the Agent; the name is free again."""
    waiting = in_background(desk.run, "delete", "--wait")
    key = f"agent:{desk.id}:reconcile:deleted"
    poll(lambda: bootstrapped.work(key), what="the admitted deletion")
    desk.remove(key)
    result = waiting().ok()
    assert result.json == {"id": desk.id, "name": "support", "state": "deleted"}
    assert bootstrapped.one("select count(*) from occ.iam_identities where agent_id is not null") == 0
    refused(desk.occctl("agent", "get", "support", "-n", "acme"), 3, "AGENT_NOT_FOUND")
    arguments = ("-n", "acme", "--configuration", desk.configuration, "--execution-mode", "embedded")
    assert desk.occctl("agent", "create", "support", *arguments, "-o", "json").ok().json["id"] != desk.id


def test_many_deletions_at_once_are_one(desk, bootstrapped):
    results = []
    threads = [threading.Thread(target=lambda: results.append(desk.run("delete"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == [0] * 4, results
    assert len(events(bootstrapped, "openclaw.agents.delete")) == 1


def test_a_failed_deletion_is_queued_again(desk, bootstrapped):
    """K96; by many at once, too."""
    key = desk.run("delete").ok().json["work"]["id"]
    finish_deletion(desk, key)
    assert desk.state == "failed"
    before = bootstrapped.work(key)
    results = []
    threads = [threading.Thread(target=lambda: results.append(desk.run("delete"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == [0] * 4, results
    after = bootstrapped.work(key)
    assert after["state"] == "queued" and after["attempt_count"] == 0 and after["created_at"] == before["created_at"]
    first, second = events(bootstrapped, "openclaw.agents.delete")
    assert "repeated" not in first["details"] and second["details"]["repeated"] is True


def finish_deletion(desk, key):
    desk.database.execute(
        "update occ.controller_work set state = 'claimed', attempt_count = 1, claim_token = gen_random_uuid(),"
        " lease_expires_at = now() + interval '1 minute' where idempotency_key = %s", key,
    )  # fmt: skip
    desk.database.execute(
        "update occ.controller_work set state = 'failed_permanent', lease_expires_at = null, completed_at = now(),"
        " reason_code = 'MAX_ATTEMPTS_EXHAUSTED' where idempotency_key = %s", key,
    )  # fmt: skip


def test_a_takeover(desk, bootstrapped, folder):
    """K96: refused while the first still may."""
    first = Operator(bootstrapped, folder, "agent:read", "agent:delete")
    key = desk.run("delete", env=first.env).ok().json["work"]["id"]
    finish_deletion(desk, key)
    refused(desk.run("delete"), 4, "DELETION_HELD", first.id)
    first.revoke_all()
    desk.run("delete").ok()
    event = events(bootstrapped, "openclaw.agents.delete")[-1]
    assert event["details"]["takenOverFrom"] == first.id and bootstrapped.work(key)["actor_id"] == event["actor_id"]


def test_a_namespace_names_its_agents(desk):
    """Also one that is being deleted, until it is gone."""
    refused(desk.occctl("namespace", "delete", "acme"), 4, "NAMESPACE_NOT_EMPTY", "1 Agent, 1 Configuration")
    key = desk.run("delete").ok().json["work"]["id"]
    refused(desk.occctl("namespace", "delete", "acme"), 4, "NAMESPACE_NOT_EMPTY", "1 Agent, 1 Configuration")
    desk.remove(key)
    refused(desk.occctl("namespace", "delete", "acme"), 4, "NAMESPACE_NOT_EMPTY", "owns 1 Configuration:")


# ---- State and status


def test_every_state(desk):
    assert desk.state == "draft"
    first = desk.revision(1)
    assert desk.state == "deploying"
    desk.activate(first)
    assert desk.state == "deploying"  # its activation is not finished
    finish(desk.database, first, "REVISION_ACTIVATED")
    assert desk.state == "running"
    second = desk.revision(2)
    assert desk.state == "deploying"
    finish(desk.database, second, "CONVERGENCE_DEADLINE_EXCEEDED", "failed_permanent")
    assert desk.state == "failed"
    key = desk.run("stop").ok().json["work"]["id"]
    assert desk.state == "stopping"
    desk.set(active_revision_id=None)
    finish(desk.database, key, "AGENT_STOPPED")
    assert desk.state == "stopped"
    third = desk.revision(3)
    desk.activate(third)
    finish(desk.database, third, "REVISION_ALREADY_ACTIVE")
    assert desk.state == "running"
    key = desk.run("stop").ok().json["work"]["id"]
    finish(desk.database, key, "COMPUTE_DRIVER_MISMATCH", "failed_permanent")
    assert desk.state == "failed"
    desk.run("delete").ok()
    assert desk.state == "stopping"


def test_status_of_a_deployment_that_waits(desk):
    """The code in words, the message, the next attempt, and what is wrong with the runtime."""
    key = desk.revision(1)
    failure = {"component": "gateway", "check": "readiness-probe", "checkedAt": "2026-11-29T00:00:00.000Z", "code": "CRASH_LOOP"}
    desk.evidence(key, "REVISION_INCOMPLETE", message="The Pod gateway-1 restarts.", failure=failure)
    desk.defer(key)
    status = desk.status
    work = status["work"]
    assert status["state"] == "deploying" and status["error"] is None and status["failure"] == failure
    assert work["code"] == "REVISION_INCOMPLETE" and work["meaning"] == "The revision's workload is not ready yet."
    assert work["message"] == "The Pod gateway-1 restarts." and work["why"] == "converging"
    assert work["nextAttemptAt"] and 0 < work["nextAttemptInMs"] <= 60000
    assert status["activeRevision"] is None and status["newestRevision"]["number"] == 1
    fields = desk.occctl("agent", "status", desk.id).ok().out
    for words in ("Meaning:", "not ready yet", "CRASH_LOOP", "readiness-probe", "Next attempt in:"):
        assert words in fields, fields


def test_status_of_a_failure(desk):
    first = desk.revision(1)
    desk.activate(first)
    finish(desk.database, first, "REVISION_ACTIVATED")
    second = desk.revision(2)
    desk.evidence(second, "CONVERGENCE_DEADLINE_EXCEEDED", warnings=[{"code": "OLD", "message": "The cluster is old."}])
    status = desk.status
    assert status["warnings"] == ["The cluster is old.", "Revision 1 is active until revision 2 is."]
    finish(desk.database, second, "CONVERGENCE_DEADLINE_EXCEEDED", "failed_permanent")
    status = desk.status
    assert status["state"] == "failed" and status["warnings"] == ["Revision 1 is still active."]
    assert status["error"] == (
        "CONVERGENCE_DEADLINE_EXCEEDED: It did not become ready within the convergence timeout."
    )


def test_status_with_a_code_of_a_driver(desk):
    """A code that is not in the table is told as it is, with its message."""
    key = desk.revision(1)
    finish(desk.database, key, "ODD_DRIVER_CODE", "failed_permanent")
    desk.evidence(key, "ODD_DRIVER_CODE", message="The thing is odd.")
    status = desk.status
    assert status["work"]["meaning"] is None and status["error"] == "ODD_DRIVER_CODE: The thing is odd."


def test_status_tells_of_a_newer_configuration(desk):
    key = desk.revision(1, generation=2)
    desk.activate(key)
    finish(desk.database, key, "REVISION_ACTIVATED")
    desk.database.execute("update occ.configurations set generation = 2 where id = %s", desk.configuration)
    assert desk.status["warnings"] == []
    desk.database.execute("update occ.configurations set generation = 4 where id = %s", desk.configuration)
    (warning,) = desk.status["warnings"]
    assert "generation 4" in warning and "froze generation 2" in warning


def test_status_when_no_worker_comes(desk):
    """K123."""
    key = desk.revision(1)
    desk.database.execute(
        "update occ.controller_work set available_at = now() - interval '1 minute' where idempotency_key = %s", key
    )
    assert desk.status["work"]["why"].startswith("waits for a worker, and none has come for 6")


def test_revisions_need_their_own_permission(desk, bootstrapped, folder):
    key = desk.revision(1)
    asking = Operator(bootstrapped, folder, "agent:read")
    revision = key.split(":")[1]
    result = desk.run("revisions", env=asking.env)
    refused(result, 1, "AUTHORIZATION_DENIED", "agent_revision:read", revision)
    desk.revision(2)
    asking.grant("agent_revision:read", resource=("agent_revision", revision))
    assert [row["number"] for row in desk.run("revisions", env=asking.env).ok().json] == [1]
    only = Operator(bootstrapped, folder, "agent_revision:read")
    refused(desk.run("revisions", env=only.env), 1, "AUTHORIZATION_DENIED", "agent:read", desk.id)
    for command in ("get", "status"):
        desk.run(command, env=asking.env).ok()
