# SPDX-License-Identifier: MIT
"""The whole, with nothing replaced: occctl, the queue, occ-worker, and a real Engine."""

import hashlib
import re
import threading

from support.waiting import poll

LABEL = "org.openclaw.enterprise"


def network_name(namespace):
    slug = re.sub(r"[^a-z0-9]+", "-", namespace.lower()).strip("-")[:32].rstrip("-")
    return f"oce-{slug}-{hashlib.sha256(namespace.encode()).hexdigest()[:12]}"


def test_a_namespace_from_asking_to_gone(bootstrapped, occctl, worker, any_engine):
    running = worker("--poll-interval-ms=50", engine=any_engine)
    running.wait_for("worker.started")
    made = occctl("namespace", "create", "acme", "--wait", "-o", "json").ok().json
    assert made["status"] == "ready"
    installation = occctl("installation", "get", "-o", "json").ok().json["id"]

    (network,) = any_engine.networks(f"{LABEL}.namespace-id={made['id']}")
    assert network["Name"] == network_name(made["id"])
    assert network["Labels"] == {
        f"{LABEL}.managed": "true",
        f"{LABEL}.compute-driver": "docker",
        f"{LABEL}.namespace-id": made["id"],
        f"{LABEL}.installation-id": installation,
    }
    key = f"namespace:{made['id']}:reconcile:ready"
    done = running.wait_for("worker.completed", workId=key)
    assert (done["operation"], done["outcome"], done["code"]) == ("namespace.ensure", "success", "NAMESPACE_RECONCILED")
    assert bootstrapped.work(key)["reason_code"] == "RECONCILE_SUCCEEDED"
    actions = [
        row["action"]
        for row in bootstrapped.query(
            "select action from occ.audit_events where namespace_id = %s order by occurred_at, id", made["id"]
        )
    ]
    assert actions[0] == "openclaw.namespaces.create"
    assert sorted(actions[1:]) == ["openclaw.namespaces.lifecycle.ensure", "reconcile"]

    occctl("namespace", "delete", "acme", "--wait").ok()
    assert any_engine.networks(f"{LABEL}.namespace-id={made['id']}") == []
    row = bootstrapped.namespace("acme")
    assert row["status"] == "deleting" and row["deleted_at"] is not None
    # A tombstone keeps its name.
    assert occctl("namespace", "create", "acme").status == 4


def test_work_waits_for_a_worker_and_says_so(occctl, worker, docker_engine):
    """K123: a queue without a worker is seen, and is worked off when one comes."""
    occctl("namespace", "create", "early").ok()
    seen = occctl("work", "list", "-o", "json").ok().json
    assert "queued" in str(seen)
    worker(engine=docker_engine).wait_for("worker.started")
    poll(lambda: occctl("namespace", "get", "early", "-o", "json").ok().json["status"] == "ready", 15)
    # So does what occ-bootstrap asked for.
    poll(lambda: occctl("namespace", "get", "default", "-o", "json").ok().json["status"] == "ready", 15)


def test_many_at_once(bootstrapped, occctl, worker, docker_engine):
    """Two workers share one queue: each Namespace is made ready once, with one network."""
    for _ in range(2):
        worker("--poll-interval-ms=50", engine=docker_engine).wait_for("worker.started")
    names = [f"team-{number}" for number in range(24)]
    results = {}

    def create(part):
        for name in part:
            results[name] = occctl("namespace", "create", name, "--wait", deadline=60)

    threads = [threading.Thread(target=create, args=(names[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: result.status for name, result in results.items()} == {name: 0 for name in names}
    networks = docker_engine.networks()
    ids = {row["id"] for row in bootstrapped.query("select id from occ.namespaces")}
    assert sorted(network["Labels"][f"{LABEL}.namespace-id"] for network in networks) == sorted(ids)
    counts = bootstrapped.query(
        "select details ->> 'workId' as work, count(*) as count from occ.audit_events"
        " where action = 'openclaw.namespaces.lifecycle.ensure' group by 1"
    )
    assert len(counts) == len(ids) and all(row["count"] == 1 for row in counts)


def test_another_worker_goes_on_where_one_stopped(bootstrapped, occctl, worker, docker_engine):
    first = worker("--poll-interval-ms=50", engine=docker_engine)
    first.wait_for("worker.started")
    made = occctl("namespace", "create", "kept", "--wait", "-o", "json").ok().json
    assert first.stop() == 0
    occctl("namespace", "delete", "kept").ok()
    second = worker("--poll-interval-ms=50", engine=docker_engine)
    second.wait_for("worker.completed", operation="namespace.delete", namespaceId=made["id"])
    assert docker_engine.networks(f"{LABEL}.namespace-id={made['id']}") == []
    assert bootstrapped.namespace("kept")["deleted_at"] is not None
