# SPDX-License-Identifier: MIT
"""The whole way on real engines: occctl admits, occ-worker makes it true, the Engine shows it."""

import time

from support.waiting import poll

LABEL = "org.openclaw.enterprise"


# K111
def test_a_namespace_from_its_creation_to_its_end(worker, occctl, bootstrapped, any_engine):
    worker_ = worker(engine=any_engine)
    occctl("namespace", "create", "acme", "--wait", deadline=60).ok()
    row = bootstrapped.namespace("acme")
    assert row["status"] == "ready"
    labels = {f"{LABEL}.namespace-id": row["id"]}
    (network,) = any_engine.networks([f"{name}={value}" for name, value in labels.items()])
    assert network["Labels"][f"{LABEL}.managed"] == "true"
    assert network["Labels"][f"{LABEL}.compute-driver"] == "docker"
    assert network["Labels"][f"{LABEL}.installation-id"] == bootstrapped.one("select id from occ.installation")
    occctl("namespace", "delete", "acme", "--wait", deadline=60).ok()
    assert bootstrapped.namespace("acme")["deleted_at"] is not None
    assert not any_engine.networks([f"{name}={value}" for name, value in labels.items()])
    operations = [record["operation"] for record in worker_.events("worker.completed", namespaceId=row["id"])]
    assert operations[0] == "namespace.ensure" and operations[-1] == "namespace.delete"
    assert worker_.stop() == 0


def test_what_an_engine_needs_shows_in_the_log(worker, bootstrapped, any_engine):
    begun = time.monotonic()
    worker_ = worker(engine=any_engine)
    done = worker_.wait_for("worker.completed", outcome="success", deadline=30)
    assert done["code"] == "NAMESPACE_RECONCILED"
    assert done["durationMs"] <= (time.monotonic() - begun) * 1000
    poll(lambda: bootstrapped.namespace("default")["status"] == "ready", 10)
