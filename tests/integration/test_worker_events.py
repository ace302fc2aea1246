# SPDX-License-Identifier: MIT
"""The records of a running worker against what occ-worker(8) promises: events, fields, order, levels."""

import json
import re
import signal

import pytest
from support import tree
from support.admission import Admission
from support.fake_engine import Answer
from support.waiting import poll

FIRST = ["severity", "time", "service", "event", "pid"]
# What reads the log counts on these: present wherever they apply.
COMPLETED = {"namespaceId", "workId", "operation", "attempt", "outcome", "code", "durationMs"}


def documented():
    """{event: field names} of the manual's DIAGNOSTICS."""
    text = (tree.SOURCE / "man" / "occ-worker.8").read_text()
    text = text[text.index(".Sh DIAGNOSTICS") : text.index(".Sh SEE ALSO")]
    found = {}
    for item in text.split("\n.It Sy ")[1:]:
        heading, _, rest = item.partition("\n")
        for event in heading.split(" , "):
            found[event] = set(re.findall(r"\b[a-z][A-Za-z]+\b", rest))
    return found


@pytest.fixture
def debugging(worker, notify, fake_engine, folder):
    """debugging(*flags): a worker that is ready and logs all that it ever logs."""
    path = folder / "occ.yaml"
    path.write_text(
        "logging: {level: debug}\npresets: {}\ndrivers:\n"
        "  iam: {id: native-iam, configuration: {}}\n"
        "  compute: {id: compute-docker-development, configuration: {}}\n"
    )

    def start(*flags):
        env = {"OCC_CONFIG_PATH": path, "DOCKER_HOST": fake_engine.host, "NOTIFY_SOCKET": notify.path}
        made = worker(*flags, env=env)
        poll(lambda: notify.ready or not made.running, 15, what="READY")
        assert made.running, made.log
        return made

    return start


def check_records(worker):
    known = documented()
    for text, record in zip(worker.text, worker.records):
        assert list(record)[:5] == FIRST, record
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["time"]), record
        assert record["severity"] in ("DEBUG", "INFO", "WARN", "ERROR") and record["service"] == "occ-worker"
        assert len(text.encode()) < 4096 and json.loads(text) == record
        fields = set(record) - set(FIRST)
        undocumented = fields - known.get(record["event"], set()) - {"suppressed"}
        assert not undocumented, (record, undocumented)
        assert all(isinstance(record[name], (str, int, bool)) for name in fields), record


def test_each_record_has_the_fields_of_the_manual(debugging, bootstrapped):
    worker = debugging()
    Admission(bootstrapped).wait_ready()
    worker.wait_for("worker.completed", count=2, outcome="success")
    worker.wait_for("worker.health")
    worker.child("reconciler").kill()
    worker.wait_for("worker.child-exited", signal=int(signal.SIGKILL))
    worker.send(signal.SIGHUP)
    worker.wait_for("worker.reloaded", deadline=20)
    assert worker.stop() == 0
    check_records(worker)
    seen = {record["event"] for record in worker.records}
    assert seen >= {
        *("worker.started", "worker.health", "worker.completed", "worker.child-exited", "worker.child-state"),
        *("worker.warning", "worker.reloaded", "worker.draining", "worker.stopped"),
    }
    (started,) = worker.events("worker.started")
    assert started["severity"] == "INFO" and set(started) - set(FIRST) == {
        *("version", "mode", "computeDriverId", "computeImplementation", "reconcilers", "databaseHost"),
        *("databaseName", "installationId", "iamDriverId"),
    }
    health = worker.events("worker.health")[0]
    assert health["severity"] == "DEBUG"
    assert set(health) - set(FIRST) == {"status", "pending", "oldestPendingAgeMs"}
    for done in worker.events("worker.completed"):
        assert done["severity"] == "INFO" and set(done) - set(FIRST) == COMPLETED
    (warning,) = worker.events("worker.warning")[:1]
    assert warning["severity"] == "WARN" and warning["code"] == "STARTUP_SECTION_IGNORED"


def test_the_start_names_every_selected_driver(worker, scripted, bootstrapped):
    scripted.select(drivers=("compute", "secret", "iam", "configuration"))
    made = worker(env=scripted.env)
    started = made.wait_for("worker.started")
    assert {name: value for name, value in started.items() if name.endswith("DriverId")} == {
        "computeDriverId": "compute-scripted",
        "iamDriverId": "iam-scripted",
        "configurationDriverId": "config-scripted",
        "secretDriverId": "secret-scripted",
    }
    assert made.stop() == 0


# K103
def test_a_pending_pass_keeps_its_own_code_dependency_and_cause(debugging, bootstrapped, fake_engine):
    worker = debugging()
    worker.wait_for("worker.completed", outcome="success")
    fake_engine.stop()
    namespace = Admission(bootstrapped)
    told = worker.wait_for("worker.completed", workId=namespace.key)
    assert (told["outcome"], told["code"]) == ("retry", "DOCKER_ENGINE_UNAVAILABLE")
    assert (told["dependency"], told["cause"]) == ("docker", "unreachable")
    assert set(told) - set(FIRST) == COMPLETED | {"dependency", "cause"}
    # Which socket, the log has no room for: the evidence tells.
    message = bootstrapped.one(
        "select details ->> 'message' from occ.audit_events where action = 'reconcile'"
        " and details ->> 'workId' = %s order by occurred_at limit 1",
        namespace.key,
    )
    assert "no Docker Engine answers at /" in message
    fake_engine.start()
    fake_engine.on(None, r"/networks.*", Answer(503, {"message": "busy"}))
    told = worker.wait_for("worker.completed", workId=namespace.key, deadline=20, cause="unavailable")
    assert told["outcome"] in ("pending", "retry") and told["dependency"] == "docker"
    fake_engine.off()
    namespace.wait_ready(30)
    check_records(worker)


def test_a_denied_pass_and_a_lost_claim(debugging, bootstrapped, fake_engine):
    worker = debugging("--reconcilers=1")
    worker.wait_for("worker.completed", outcome="success")
    bootstrapped.execute("insert into occ.iam_restrictions (id, action, resource_kind) values ('r', 'create', 'namespace')")
    before = len(fake_engine.requests)
    denied = Admission(bootstrapped)
    told = worker.wait_for("worker.completed", workId=denied.key)
    assert (told["outcome"], told["code"]) == ("permanent", "AUTHORIZATION_DENIED")
    assert denied.status == "failed" and len(fake_engine.requests) == before
    bootstrapped.execute("delete from occ.iam_restrictions")
    # K15: one worker.error a claim, beside the pass's own record.
    mark = worker.mark()
    fake_engine.on("GET", r"/networks/?.*", Answer(200, [], delay=1))
    taken = Admission(bootstrapped)
    taken.wait_state("claimed")
    bootstrapped.execute("update occ.controller_work set lease_expires_at = now() - interval '1 s' where state = 'claimed'")
    told = worker.wait_for("worker.completed", since=mark, outcome="claim_lost", deadline=20)
    assert told["workId"] == taken.key and told["code"] == "CLAIM_LOST"
    fake_engine.off()
    taken.wait_ready(30)
    (error,) = worker.events("worker.error", code="CLAIM_LOST")
    assert (error["severity"], error["workId"], error["attempt"]) == ("ERROR", taken.key, 1)
    assert taken.evidence()[0] == "LEASE_EXPIRED"
    assert worker.stop() == 0
    check_records(worker)


def test_an_error_is_all_that_the_level_error_leaves(worker, bootstrapped, fake_engine, notify, folder):
    path = folder / "occ.yaml"
    path.write_text("logging: {level: error}\n")
    made = worker(env={"OCC_CONFIG_PATH": path, "DOCKER_HOST": fake_engine.host, "NOTIFY_SOCKET": notify.path})
    poll(lambda: notify.ready or not made.running, 15, what="READY")
    Admission(bootstrapped).wait_ready()
    assert made.stop() == 0
    assert made.records == []
