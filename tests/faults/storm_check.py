# SPDX-License-Identifier: MIT
"""After the storm: whether anything was lost, doubled or left over (see storm.py)."""

import collections
import os
import signal
import time

import storm_agents_check
from support import processes
from support.compute import LABEL, network_name
from support.program import BROKEN
from support.waiting import PATIENCE, DeadlineExceeded, poll
from storm_trouble import RECONCILERS

SUCCESS = ("RECONCILE_SUCCEEDED", "SUPERSEDED_TARGET")

# What comes again for ever is never done.
ASKED = " and idempotency_key not like '%:maintenance:%'"

# What a worker may end with: 0 asked to; 69 the database or the Engine was away at a start; 70 children kept ending (they
# were killed faster than their delays allow); -9 by our hand. And 78 where what listens at the Engine's socket at a start
# talks nonsense.
STATUSES = {0, 69, 70, -signal.SIGKILL}


def check_rows(storm):
    events = collections.defaultdict(list)
    for row in storm.database.query(
        "select action, namespace_id, outcome, details, occurred_at from occ.audit_events"
        " where namespace_id is not null order by occurred_at, id"
    ):
        events[row["namespace_id"]].append(row)
    spaces = {row["id"]: row for row in storm.database.query("select * from occ.namespaces")}
    problems = []
    for work in storm.database.work():
        if not work["namespace_target"]:
            continue
        key, space = work["idempotency_key"], spaces[work["namespace_id"]]
        mine = events[work["namespace_id"]]
        told = [row for row in mine if row["action"] == "reconcile" and row["details"]["workId"] == key]
        done = [row for row in told if row["details"]["reasonCode"] in SUCCESS]
        last = [
            row
            for row in told
            if row["details"]["reasonCode"] == work["reason_code"]
            and int(row["details"]["attemptCount"]) == work["attempt_count"]
        ]
        deletes = key.endswith(":deleted")
        asked = [row for row in mine if row["action"] == "openclaw.namespaces.delete" and row["outcome"] == "success"]
        action = f"openclaw.namespaces.lifecycle.{'delete' if deletes else 'ensure'}"
        changes = [row for row in mine if row["action"] == action]
        completions = max(1, len(asked)) if deletes else 1

        def wrong(what, work=work, told=told):
            codes = [(row["details"]["reasonCode"], row["details"]["attemptCount"]) for row in told]
            problems.append(f"{work['idempotency_key']} {work['state']} {work['reason_code']}: {what}; events {codes}")

        if work["state"] not in ("succeeded", "failed_permanent"):
            wrong("is not terminal")
        if len(done) != (work["state"] == "succeeded"):
            wrong(f"{len(done)} successful events")
        if not 1 <= len(last) <= completions:
            wrong(f"{len(last)} terminal events")
        if told and told[-1] not in last:
            wrong("its last event is not its end")
        if len(changes) > completions:
            wrong(f"{len(changes)} lifecycle events")
        if work["attempt_count"] > 6:
            wrong(f"{work['attempt_count']} attempts")
        if deletes:
            if (space["deleted_at"] is not None) != (work["state"] == "succeeded" and work["reason_code"] in SUCCESS):
                wrong(f"the Namespace is {space['status']}, deleted {space['deleted_at']}")
        elif space["status"] not in ("deleting", {"succeeded": "ready"}.get(work["state"], "failed")):
            wrong(f"the Namespace is {space['status']}")
    storm.done["rows"] = len(spaces)
    return problems


def check_engine(storm):
    problems = []
    networks = collections.defaultdict(list)
    for network in storm.engine.networks() if storm.real else storm.engine.networks.values():
        networks[network["Labels"].get(f"{LABEL}namespace-id")].append(network)
    spaces = storm.database.query("select * from occ.namespaces")
    for space in spaces:
        found = networks.pop(space["id"], [])
        if space["status"] == "ready" and len(found) != 1:
            problems.append(f"{space['id']} is ready and has {len(found)} networks")
        if space["deleted_at"] and found:
            problems.append(f"{space['id']} is deleted and has {len(found)} networks")
        if len(found) > 1 or any(network["Name"] != network_name(space["id"]) for network in found):
            problems.append(f"{space['id']} has networks {[network['Name'] for network in found]}")
    if networks:
        problems.append(f"networks of nobody: {dict(networks)}")
    return problems


def check_world(storm):
    return storm_agents_check.check(storm) if storm.agents else check_engine(storm)


def check_processes(storm):
    problems = []
    now = storm.measure()
    # A worker that has just started is the measure of one that came through all of it.
    # A reconciler that has worked has three more than one that has not: curl's pair, and its connection.
    least = {"reconciler": 9}
    for (_, role, _), (descriptors, _) in storm.before.items():
        least[role] = max(least.get(role, 0), descriptors)
    for (worker, role, pid), (descriptors, kilobytes) in now.items():
        if descriptors > least.get(role, 0) + 1:
            points = processes.look(pid).descriptors()
            problems.append(f"{role} {pid} has {descriptors} descriptors, had {least.get(role)}: {points}")
        grown = kilobytes - storm.before.get((worker, role, pid), (0, kilobytes))[1]
        # The address sanitizer keeps what is freed for a while, and has its leak check instead.
        if grown > 4096 and not os.environ.get("OCC_TEST_SANITIZERS"):
            problems.append(f"{role} {pid} has grown by {grown} KiB to {kilobytes}")
    for service in storm.services:
        dead = [child for child in processes.children(service.worker.pid) if child.state == "Z"]
        if dead:
            problems.append(f"zombies: {dead}")
        for marker in (service.readiness, service.liveness):
            age = time.time() * 1000 - int(marker.read_text())
            if age > 12000 * PATIENCE:
                problems.append(f"{marker} is {age:.0f} ms old")
    most = 4 if storm.bouncer else len(storm.services) * (RECONCILERS + 1)
    try:
        poll(lambda: len(storm.database.sessions()) <= most, 5)
    except DeadlineExceeded:
        sessions = storm.database.sessions()
        problems.append(f"{len(sessions)} sessions, at most {most}: {[s['application_name'] for s in sessions]}")
    return problems


def check_new_work(storm):
    """After all of it, work is done at once."""
    begun = time.monotonic()
    connection = storm.database.connect()
    for _ in range(5):
        storm.create(connection, 1)
    poll(lambda: not storm.database.query("select 1 from occ.controller_work where completed_at is null" + ASKED), 10)
    storm.done["ms for five at the end"] = int((time.monotonic() - begun) * 1000)
    return check_world(storm)


def check_end(storm):
    problems = []
    for service in storm.services:
        status = service.end()
        if service.worker.events("worker.child-exited", reason="WORKER_HUNG", retryInMs=None):
            problems.append(f"worker {service.number} had to kill a child that was to leave: {service.worker.text[-3:]}")
        if status != 0:
            problems.append(f"worker {service.number} ended with {service.statuses[-1]}")
        odd = [status for status in service.statuses if status not in STATUSES]
        if odd:
            problems.append(f"worker {service.number} ended with {odd}")
        for worker in service.past:
            try:
                poll(lambda worker=worker: not worker.everyone(), 5)
            except DeadlineExceeded:
                problems.append(f"left: {worker.everyone()}")
        left = [path.name for path in service.readiness.parent.iterdir() if path.name not in ("ready", "live")]
        if len(left) > len(service.past):
            problems.append(f"files beside the markers: {left}")
    return problems


def check_logs(storm):
    problems = []
    for service in storm.services:
        for worker in service.past:
            worker._reader.join(2)
            text = worker.log
            problems += [f"not a record: {line}" for line in worker.noise[:3]]
            problems += [f"a record of {len(line)} bytes" for line in worker.text if len(line.encode()) > 4096]
            problems += [f"a secret: {secret}" for secret in storm.secrets if secret in text]
            problems += [line for line in worker.text if BROKEN.search(line)][:3]
            # From state to state there is a table; and a bug has a class of its own.
            problems += [
                line
                for line in worker.text
                if '"worker.child-state"' in line or '"_STATEMENT_FAILED"' in line or "WORKER_PROTOCOL" in line
            ][:3]
            rate = collections.Counter(
                record["time"][:18] for record in worker.records if record["event"] != "worker.completed"
            )
            for tenth, count in rate.items():
                if count > 150:
                    problems.append(f"{count} records beside worker.completed in the ten seconds from {tenth}")
            storm.done["records"] += len(worker.records)
    return problems


def check(storm):
    """All that is wrong, as texts."""
    problems = list(storm.odd)
    for part in (check_rows, check_world, check_processes, check_new_work, check_end):
        try:
            problems += part(storm)
        except (AssertionError, OSError) as problem:
            problems.append(f"{part.__name__}: {problem}")
    return problems + check_logs(storm)
