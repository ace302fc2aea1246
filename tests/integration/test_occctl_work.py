# SPDX-License-Identifier: MIT
"""occctl work, audit and status: what there is, why it is not done yet, and who may see it."""

import json
import queue
import signal
import threading
import uuid

import pytest

from support.operator import Operator, events, failed_deletion, finish, in_background, refused, start
from support.waiting import poll


def new_work(occctl, name="acme"):
    return occctl("namespace", "create", name, "-o", "json").ok().json["work"]["id"]


def listed(occctl, *flags, env=None):
    return occctl("work", "list", "-o", "json", *flags, env=env).ok().json


def get(occctl, key):
    return occctl("work", "get", key, "-o", "json").ok().json


def set_work(database, key, sql):
    assert database.execute(f"update occ.controller_work set {sql} where idempotency_key = %s", key) == 1


CLAIM = (
    "state = 'claimed', attempt_count = attempt_count + 1, claim_token = gen_random_uuid(),"
    " lease_expires_at = now() + interval '1 minute'"
)


def test_list_filters(occctl, bootstrapped):
    acme, beta = new_work(occctl, "acme"), new_work(occctl, "beta")
    default = f"namespace:{bootstrapped.namespace('default')['id']}:reconcile:ready"
    finish(bootstrapped, acme)
    finish(bootstrapped, beta, "OWNERSHIP_CONFLICT", "failed_permanent")
    occctl("namespace", "delete", "acme").ok()
    deletion = acme.replace(":ready", ":deleted")

    def ids(*flags):
        return [row["id"] for row in listed(occctl, *flags)]

    assert ids() == [default, acme, beta, deletion]
    assert ids("--state", "queued") == ids("--state=pending") == [default, deletion]
    assert ids("--state", "succeeded") == [acme]
    assert ids("--state", "failed_permanent") == [beta]
    assert ids("--state", "claimed") == []
    assert ids("--kind", "namespace_delete") == [deletion]
    assert ids("--kind", "agent_revision") == []
    assert ids("--namespace", "acme") == ids("-n", acme.split(":")[1]) == [acme, deletion]
    assert ids("--namespace", "acme", "--state", "succeeded", "--kind", "namespace_ensure") == [acme]
    assert ids("--limit", "2") == [beta, deletion]
    rows = {row["id"]: row for row in listed(occctl)}
    assert rows[beta]["code"] == "OWNERSHIP_CONFLICT" and rows[beta]["why"] == "failed; it is not tried again"
    assert rows[acme]["code"] == "RECONCILE_SUCCEEDED" and rows[acme]["completedAt"]
    assert occctl("work", "list", env={"OCC_NAMESPACE": "beta"}).ok().out.count("namespace:") == 1
    table = occctl("work", "list").ok().lines
    assert table[0].split() == ["ID", "NAMESPACE", "STATE", "ATTEMPT", "CODE", "AGE", "WHY", "NEXT"]


def test_why_it_is_not_done(occctl, bootstrapped):
    key = new_work(occctl)
    assert get(occctl, key)["why"] == "waits for a worker"

    set_work(bootstrapped, key, CLAIM)
    row = get(occctl, key)
    assert row["why"] == "a worker is carrying it out" and row["leaseExpiresAt"] and row["attempt"] == 1

    occctl("namespace", "delete", "acme").ok()
    other = get(occctl, key.replace(":ready", ":deleted"))
    assert other["why"] == f"waits for the end of {key}" and other["nextAttemptAt"] is None

    set_work(bootstrapped, key, "lease_expires_at = now() - interval '1 s'")
    assert get(occctl, key)["why"] == "its worker is gone; any worker queues it again"

    set_work(bootstrapped, key, "state = 'queued', lease_expires_at = null, available_at = now() + interval '90 s'")
    bootstrapped.execute(
        "insert into occ.audit_events (kind, action, outcome, details) values ('mutation', 'reconcile', 'failure',"
        " jsonb_build_object('workId', %s::text, 'reasonCode', 'DOCKER_ADDRESS_POOL_EXHAUSTED', 'attemptCount', 1,"
        " 'message', 'all of 10.0.0.0/8 is used'))",
        key,
    )
    row = get(occctl, key)
    assert row["why"] == "waits before it is tried again"
    assert row["code"] == "DOCKER_ADDRESS_POOL_EXHAUSTED" and row["codeAt"]
    assert row["message"] == "all of 10.0.0.0/8 is used"
    assert row["message"] in occctl("audit", "list", "--work", key).ok().out
    assert 60_000 < row["nextAttemptInMs"] <= 90_000
    assert row["nextAttemptAt"] == row["availableAt"]

    set_work(bootstrapped, key, "available_at = now() - interval '1 minute'")
    assert get(occctl, key)["why"].startswith("waits for a worker, and none has come for ")
    finish(bootstrapped, key)
    row = get(occctl, key)
    assert row["why"] is None and row["state"] == "succeeded" and row["nextAttemptAt"] is None


def test_get_what_is_not_there(occctl):
    refused(occctl("work", "get", "namespace:nothing"), 3, "WORK_NOT_FOUND", "namespace:nothing")


def test_only_readable_namespaces(occctl, bootstrapped, folder):
    acme, _ = new_work(occctl, "acme"), new_work(occctl, "beta")
    tenant = Operator(bootstrapped, folder, "namespace:read", namespace_id=acme.split(":")[1])
    assert [row["id"] for row in listed(occctl, env=tenant.env)] == [acme]
    default = f"namespace:{bootstrapped.namespace('default')['id']}:reconcile:ready"
    refused(occctl("work", "get", default, env=tenant.env), 1, "AUTHORIZATION_DENIED", "namespace:read")
    refused(
        occctl("work", "list", "--namespace", "beta", env=tenant.env), 1, "AUTHORIZATION_DENIED", "namespace:read"
    )
    assert listed(occctl, env=Operator(bootstrapped, folder).env) == []


# ---- Retry


def test_retry_of_a_failed_deletion(occctl, bootstrapped):
    """K96."""
    document = failed_deletion(occctl, bootstrapped)
    key = document["work"]["id"]
    assert get(occctl, key)["why"] == "failed; occctl work retry starts it again"
    row = occctl("work", "retry", key, "-o", "json").ok().json
    assert row["state"] == "queued" and row["attempt"] == 0
    assert len(events(bootstrapped, "openclaw.namespaces.delete")) == 2
    again = occctl("work", "retry", key)
    assert again.status == 0 and "under way already" in again.err
    assert len(events(bootstrapped, "openclaw.namespaces.delete")) == 2


def test_retry_and_wait(occctl, bootstrapped):
    key = failed_deletion(occctl, bootstrapped)["work"]["id"]
    result = in_background(occctl, "work", "retry", key, "--wait", "-o", "json")
    poll(lambda: bootstrapped.work(key)["state"] == "queued", what="the retry")
    finish(bootstrapped, key)
    assert result().ok().json["state"] == "succeeded"


@pytest.mark.parametrize(
    "state, words",
    [
        ("queued", "tried again by itself"),
        ("succeeded", "has succeeded"),
        ("failed_permanent", "create another under a new name"),
    ],
)
def test_what_is_not_retried(occctl, bootstrapped, state, words):
    key = new_work(occctl)
    if state != "queued":
        finish(bootstrapped, key, "OWNERSHIP_CONFLICT", state)
    refused(occctl("work", "retry", key), 4, "WORK_NOT_RETRYABLE", words)
    assert bootstrapped.work(key)["state"] == state


def test_retry_needs_the_deletions_permission(occctl, bootstrapped, folder):
    key = failed_deletion(occctl, bootstrapped)["work"]["id"]
    reader = Operator(bootstrapped, folder, "namespace:read")
    refused(occctl("work", "retry", key, env=reader.env), 1, "AUTHORIZATION_DENIED", "namespace:delete")
    refused(occctl("work", "retry", "nothing"), 3, "WORK_NOT_FOUND")
    assert bootstrapped.work(key)["state"] == "failed_permanent"


# ---- Audit


def test_audit_list(occctl, bootstrapped):
    new_work(occctl)
    acme = bootstrapped.namespace("acme")["id"]
    rows = occctl("audit", "list", "-o", "json").ok().json
    assert [row["action"] for row in rows] == [
        "openclaw.installation.bootstrap",
        "openclaw.namespaces.create",
        "openclaw.namespaces.create",
    ]
    assert rows[0]["kind"] == "bootstrap" and rows[2]["details"]["name"] == "acme"

    def actions(*flags):
        return [row["action"] for row in occctl("audit", "list", "-o", "json", *flags).ok().json]

    assert actions("--namespace", "acme") == ["openclaw.namespaces.create"]
    assert actions("--kind", "bootstrap") == ["openclaw.installation.bootstrap"]
    assert actions("--limit", "1") == ["openclaw.namespaces.create"]
    assert actions("--action", "openclaw.namespaces.delete") == []
    assert len(actions("--actor", rows[0]["actorId"])) == 3
    assert actions("--work", f"namespace:{acme}:reconcile:ready") == ["openclaw.namespaces.create"]
    table = occctl("audit", "list").ok().lines
    titles = ["TIME", "ACTION", "OUTCOME", "CODE", "RESOURCE", "ACTOR", "PERMISSION", "MESSAGE"]
    assert table[0].split() == titles and len(table) == 4


def test_audit_needs_the_administrator(occctl, bootstrapped, folder):
    reader = Operator(bootstrapped, folder, "installation:read", "namespace:read")
    refused(occctl("audit", "list", env=reader.env), 1, "AUTHORIZATION_DENIED", "installation:administer")
    (denial,) = occctl("audit", "list", "--kind", "authorization_denial").ok().out.splitlines()[1:]
    assert "denied" in denial and "installation:administer" in denial


def lines_of(process):
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)

    threading.Thread(target=read, daemon=True).start()
    return lines


def test_audit_follow(bootstrapped):
    process = start(bootstrapped, "audit", "list", "--follow", "-o", "json", "--limit", "1")
    lines = lines_of(process)
    try:
        first = json.loads(lines.get(timeout=30))
        assert first["action"] == "openclaw.namespaces.create"
        # An event whose transaction is longer than the others: its time is earlier than what was shown before it.
        slow = bootstrapped.connect("postgres", autocommit=False)
        insert = (
            "insert into occ.audit_events (kind, action, outcome, details)"
            " values ('mutation', %s, 'success', '{}')"
        )
        slow.cursor().execute(insert, ("slow",))
        bootstrapped.execute(insert, "quick")
        assert json.loads(lines.get(timeout=30))["action"] == "quick"
        slow.commit()
        assert json.loads(lines.get(timeout=30))["action"] == "slow"
        bootstrapped.execute(insert, "last")
        assert json.loads(lines.get(timeout=30))["action"] == "last"
        assert lines.empty()
    finally:
        process.kill()
        process.communicate()


def test_audit_follow_ends_with_its_reader(bootstrapped):
    process = start(bootstrapped, "audit", "list", "-f")
    assert process.stdout.readline().startswith("TIME")
    process.stdout.close()
    bootstrapped.execute("insert into occ.audit_events (kind, action, outcome) values ('mutation', 'x', 'success')")
    assert process.wait(timeout=30) != 0
    process.stderr.close()


def test_audit_follow_ends_with_its_reader_when_nothing_happens(bootstrapped):
    process = start(bootstrapped, "audit", "list", "-f")
    assert process.stdout.readline().startswith("TIME")
    process.stdout.close()
    assert process.wait(timeout=30) == -signal.SIGPIPE
    assert process.stderr.read() == ""
    process.stderr.close()


def test_audit_follow_survives_a_lost_session(bootstrapped):
    process = start(bootstrapped, "audit", "list", "-f", "-o", "json", "--limit", "1")
    lines = lines_of(process)
    try:
        lines.get(timeout=30)
        bootstrapped.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'occctl'")
        bootstrapped.execute("insert into occ.audit_events (kind, action, outcome) values ('mutation', 'x', 'success')")
        assert json.loads(lines.get(timeout=30))["action"] == "x"
    finally:
        process.kill()
        process.communicate()


# ---- Status


def status(occctl):
    return occctl("status", "-o", "json").ok().json


def test_status(occctl, bootstrapped):
    document = status(occctl)
    assert document["installation"]["name"] == "Test Installation"
    assert document["schema"]["state"] == "current"
    assert document["schema"]["applied"] == document["schema"]["known"] > 0
    assert document["namespaces"] == {"provisioning": 1, "ready": 0, "failed": 0, "deleting": 0, "deleted": 0}
    assert document["queue"]["queued"] == document["queue"]["eligible"] == 1
    assert document["queue"]["oldestPendingAgeMs"] >= document["queue"]["longestWaitMs"] >= 0
    assert occctl("status").ok().out.startswith("Installation:")


def test_status_says_whether_a_worker_is_claiming(occctl, bootstrapped):
    """K123."""
    key = f"namespace:{bootstrapped.namespace('default')['id']}:reconcile:ready"
    set_work(bootstrapped, key, "available_at = now(), created_at = created_at")
    assert status(occctl)["workers"]["claiming"] == "unknown"
    set_work(bootstrapped, key, "available_at = now() - interval '1 minute'")
    assert status(occctl)["workers"]["claiming"] == "no"
    set_work(bootstrapped, key, CLAIM)
    document = status(occctl)
    assert document["workers"]["claiming"] == "yes" and document["workers"]["liveClaims"] == 1
    set_work(bootstrapped, key, "lease_expires_at = now() - interval '1 s'")
    assert status(occctl)["workers"]["claiming"] == "unknown"
    finish_now = "state = 'succeeded', completed_at = now(), reason_code = 'RECONCILE_SUCCEEDED', lease_expires_at = null"
    set_work(bootstrapped, key, finish_now)
    session = bootstrapped.connect("occ_app")
    session.cursor().execute("set application_name = 'occ-worker preflight'")
    assert status(occctl)["workers"]["claiming"] == "unknown"
    session.cursor().execute("set application_name = 'occ-worker dispatcher'")
    document = status(occctl)
    assert document["workers"]["claiming"] == "yes" and document["workers"]["sessions"] == 1
    assert document["workers"]["lastOutcomeAt"] and document["queue"]["oldestPendingAgeMs"] is None


def test_status_and_installation_need_their_permission(occctl, bootstrapped, folder):
    nobody, reader = Operator(bootstrapped, folder), Operator(bootstrapped, folder, "installation:read")
    for command in (("status",), ("installation", "get")):
        refused(occctl(*command, env=nobody.env), 1, "AUTHORIZATION_DENIED", "installation:read", "ins_")
        occctl(*command, env=reader.env).ok()
    document = occctl("installation", "get", "-o", "json").ok().json
    assert document["id"] == bootstrapped.one("select id from occ.installation")


def test_agent_work_is_shown_and_retried(occctl, bootstrapped, folder):
    """An Agent's failed deletion needs agent:delete; its failed stop is not retried."""
    namespace_id = bootstrapped.namespace("default")["id"]
    agent, configuration, principal = f"agt_{uuid.uuid4()}", f"cfg_{uuid.uuid4()}", str(uuid.uuid4())
    actor = bootstrapped.one("select service_principal_id from occ.apikey")
    stop, deletion = f"agent:{agent}:reconcile:stopped:{uuid.uuid4()}", f"agent:{agent}:reconcile:deleted"
    bootstrapped.execute("begin")
    bootstrapped.execute("insert into occ.configurations (id, namespace_id) values (%s, %s)", configuration, namespace_id)
    bootstrapped.execute(
        "insert into occ.agents (id, namespace_id, name, configuration_id, execution_mode, service_principal_id, status)"
        " values (%s, %s, 'agent', %s, 'embedded', %s, 'deleting')",
        agent,
        namespace_id,
        configuration,
        principal,
    )
    bootstrapped.execute(
        "insert into occ.iam_identities (id, kind, agent_id, namespace_id) values (%s, 'service_principal', %s, %s)",
        principal,
        agent,
        namespace_id,
    )
    for key, target in ((stop, "stopped"), (deletion, "deleted")):
        bootstrapped.execute(
            "insert into occ.controller_work (idempotency_key, namespace_id, agent_id, actor_id, agent_target)"
            " values (%s, %s, %s, %s, %s)",
            key,
            namespace_id,
            agent,
            actor,
            target,
        )
    bootstrapped.execute("commit")
    for key in (stop, deletion):
        set_work(bootstrapped, key, CLAIM)
        set_work(
            bootstrapped,
            key,
            "state = 'failed_permanent', completed_at = now(), reason_code = 'MAX_ATTEMPTS_EXHAUSTED',"
            " lease_expires_at = null",
        )
    kinds = {row["id"]: row["kind"] for row in listed(occctl)}
    assert kinds[stop] == "agent_stop" and kinds[deletion] == "agent_delete"
    refused(occctl("work", "retry", stop), 4, "WORK_NOT_RETRYABLE", "stop the Agent again")
    operator = Operator(bootstrapped, folder, "namespace:read", "namespace:delete")
    refused(occctl("work", "retry", deletion, env=operator.env), 1, "AUTHORIZATION_DENIED", "agent:delete", agent)
    occctl("work", "retry", deletion).ok()
    assert bootstrapped.work(deletion)["state"] == "queued"
    (event,) = [row for row in events(bootstrapped, "openclaw.agents.delete") if row["kind"] == "mutation"]
    assert event["resource_id"] == agent
    refused(occctl("namespace", "delete", "default"), 4, "NAMESPACE_NOT_EMPTY", "1 Agent, 1 Configuration")
