# SPDX-License-Identifier: MIT
"""After the storm on Agents: what the queue, the evidence and the scripted world say of them (see storm.py)."""

import collections

# How much later than the database's clock a line of the journal may seem to be: it has whole milliseconds.
SLACK_MS = 2
# An operation that begins right after its process was stopped by us, between the look at its claim and the Driver.
EXCUSE_MS = 1000
# What ends an item without a pass, so that nothing could be taken back.
BY_RECOVERY = ("LEASE_EXPIRED", "WORKER_CRASHED", "WORKER_HUNG", "MAX_ATTEMPTS_EXHAUSTED")
ACTIVATED = ("REVISION_ACTIVATED", "REVISION_ALREADY_ACTIVE")
RUNS = ("prepared", "active")


class Lanes:
    """The journal by lane and claim. `wrong`: what was done without one; `late`: lanes in which something was changed after
    its claim was over, by an operation that had begun before."""

    def __init__(self, storm):
        self.storm = storm
        self.wrong, self.late = [], set()
        self.begun = collections.Counter()
        self.claims = collections.defaultdict(list)
        # Maintenance goes on: what is in the journal by now was claimed before what is read next.
        entries = storm.scripted.journal()
        for row in storm.database.query(
            "select token::text, key, lane, extract(epoch from began) * 1000 as began,"
            " extract(epoch from lease) * 1000 as lease, extract(epoch from ended) * 1000 as ended"
            " from storm.claim order by began"
        ):
            ended, lease = row["ended"], float(row["lease"])
            self.claims[row["lane"]].append(
                {
                    "key": row["key"], "began": float(row["began"]), "lease": lease, "pids": {},
                    "settled": ended is not None and float(ended) <= lease,
                    "over": min(float(ended), lease) if ended is not None else lease,
                }  # fmt: skip
            )
        self._read(entries)

    def _read(self, entries):
        running = {}
        for entry in entries:
            lane = entry.get("agentId") or entry.get("namespaceId")
            if entry["atMs"] < self.storm.witnessed or not lane or "." in entry["operation"] or entry["operation"] == "validate_harness_auth":
                continue
            place = (entry["pid"], lane)
            if entry["what"] == "begin":
                running[place] = self._begin(lane, entry)
            elif entry["what"] == "effect" and entry["changed"]:
                claim = running.get(place)
                if claim is None or entry["atMs"] > claim["over"] + SLACK_MS:
                    self.late.add(lane)
            elif entry["what"] == "end":
                claim = running.pop(place, None)
                if claim and claim["settled"] and entry["atMs"] > claim["over"] + SLACK_MS:
                    self.wrong.append(f"{entry['operation']} of {lane} ended after {claim['key']} was settled")

    def _begin(self, lane, entry):
        """The claim that an operation began under."""
        self.begun[entry["operation"]] += 1
        at = entry["atMs"]
        before = [claim for claim in self.claims[lane] if claim["began"] <= at + 1]
        claim = before[-1] if before else None
        if claim is None or at > claim["over"] + SLACK_MS:
            if not self._was_stopped(entry["pid"], at):
                over = f"{at - claim['over']:.0f} ms after {claim['key']} was over" if claim else "before any claim"
                self.wrong.append(f"{entry['operation']} of {lane} by {entry['pid']} began {over}")
            return None
        claim["pids"].setdefault(entry["pid"], at)
        if len(claim["pids"]) > 1:
            # One of the two goes on with a claim that it has lost.
            if not any(self._was_stopped(pid, when) for pid, when in claim["pids"].items()):
                self.wrong.append(f"two processes work on {claim['key']} under one claim: {claim['pids']}")
            return None
        return claim

    def _was_stopped(self, pid, at):
        return any(each == pid and start <= at and at - end <= EXCUSE_MS for each, start, end in self.storm.pauses)


def check(storm):
    lanes = Lanes(storm)
    evidence = Evidence(storm)
    problems = lanes.wrong + _violations(storm, lanes) + check_rows(storm, evidence) + check_activations(storm, evidence, lanes)
    problems += check_world(storm, lanes)
    storm.done["operations"] = sum(lanes.begun.values())
    storm.done["late effects"] = len(lanes.late)
    problems += heal(storm)
    lanes = Lanes(storm)
    return problems + lanes.wrong + check_healed(storm, lanes) + _not_maintained(storm)


def _violations(storm, lanes):
    """What the Driver saw that a host must never ask for, but for Agents that a late effect had spoilt."""
    return [
        f"{entry['why']}: {entry}"
        for entry in storm.scripted.journal(what="violation")
        if entry.get("agentId") not in lanes.late and not (not entry.get("agentId") and entry.get("namespaceId") in lanes.late)
    ]


class Evidence:
    """The audit, by work, by action; and what the deployments said of their revisions."""

    def __init__(self, storm):
        # Maintenance goes on: what has ended by now has its evidence in what is read next.
        self.works = storm.database.work()
        self.of_work, self.of_action = collections.defaultdict(list), collections.defaultdict(list)
        for row in storm.database.query(
            "select action, resource_id, outcome, details, occurred_at from occ.audit_events order by occurred_at, id"
        ):
            self.of_action[row["action"]].append(row)
            if row["action"] == "reconcile":
                self.of_work[row["details"]["workId"]].append(row)
        self.numbers, self.owners = {}, {}
        for row in self.of_action["openclaw.agents.deploy"]:
            if row["outcome"] == "success":
                self.numbers[row["details"]["revisionId"]] = row["details"]["revisionNumber"]
                self.owners[row["details"]["revisionId"]] = row["resource_id"]

    def codes(self, key):
        return [row["details"]["reasonCode"] for row in self.of_work[key]]


def check_rows(storm, evidence):
    problems = []
    deletions = collections.Counter(row["resource_id"] for row in evidence.of_action["openclaw.agents.delete"])
    changed = collections.Counter(
        row["details"].get("workId") for action, rows in evidence.of_action.items() for row in rows
        if action.startswith("openclaw.agents.lifecycle.")
    )  # fmt: skip
    for work in evidence.works:
        if work["namespace_target"]:
            continue
        key, told = work["idempotency_key"], evidence.of_work[work["idempotency_key"]]
        if ":maintenance:" in key:
            problems += _maintenance(work, told, changed[key])
            continue
        most = max(1, deletions[work["agent_id"]]) if work["agent_target"] == "deleted" else 1
        # A refusal that waits until its candidate is stopped is told before it is the end.
        last = [
            row for row in told
            if row["details"]["reasonCode"] == work["reason_code"] and "stop" not in row["details"]
            and int(row["details"]["attemptCount"]) == work["attempt_count"]
        ]  # fmt: skip
        done = [row for row in told if row["outcome"] == "success"]

        def wrong(what, work=work, told=told):
            codes = [(row["details"]["reasonCode"], row["details"]["attemptCount"]) for row in told]
            problems.append(f"{work['idempotency_key']} {work['state']} {work['reason_code']}: {what}; events {codes}")

        if work["state"] not in ("succeeded", "failed_permanent"):
            wrong("is not terminal")
        if len(done) != (work["state"] == "succeeded"):
            wrong(f"{len(done)} successful events")
        if not 1 <= len(last) <= most:
            wrong(f"{len(last)} terminal events")
        if told and told[-1] not in last:
            wrong("its last event is not its end")
        if changed[key] > most:
            wrong(f"{changed[key]} lifecycle events")
        if work["attempt_count"] > 6:
            wrong(f"{work['attempt_count']} attempts")
    left = {row["id"]: row for row in storm.database.query("select * from occ.agents")}
    for row in evidence.of_action["openclaw.agents.create"]:
        agent = row["resource_id"]
        ends = [
            len([each for each in evidence.of_action["openclaw.agents.lifecycle.delete"] if each["resource_id"] == agent]),
            evidence.codes(f"agent:{agent}:reconcile:deleted").count("AGENT_DELETED"),
        ]
        if row["outcome"] == "success" and ends != ([0, 0] if agent in left else [1, 1]):
            problems.append(f"{agent} is {'there' if agent in left else 'gone'}, with {ends} events of its end")
    storm.done["agents"] = len(evidence.of_action["openclaw.agents.create"])
    storm.done["revisions"] = len(evidence.numbers)
    storm.done["agents gone"] = len(evidence.of_action["openclaw.agents.lifecycle.delete"])
    return problems


def _maintenance(work, told, changes):
    """It comes again for ever; one that has ended has told so once, and changed nothing."""
    ends = [row for row in told if row["details"]["reasonCode"] == work["reason_code"]
            and int(row["details"]["attemptCount"]) == work["attempt_count"]]  # fmt: skip
    if changes or (work["completed_at"] and len(ends) != 1):
        return [f"{work['idempotency_key']} {work['state']} {work['reason_code']}: {len(ends)} ends, {changes} changes"]
    return []


def _not_maintained(storm):
    """A revision that runs is looked after by exactly one item that is still to come."""
    if not storm.maintained:
        return []
    rows = storm.database.query(
        "select a.id, a.active_revision_id, count(w.idempotency_key) as waiting from occ.agents a"
        " left join occ.controller_work w on w.agent_id = a.id and w.revision_id = a.active_revision_id"
        " and w.idempotency_key like '%:maintenance:%' and w.completed_at is null"
        " where a.desired_runtime_state = 'running' and a.active_revision_id is not null"
        " and exists (select from occ.controller_work d where d.state = 'succeeded'"
        " and d.idempotency_key = 'agent_revision:' || a.active_revision_id || ':reconcile') group by 1, 2"
    )
    storm.done["maintained"] = len(rows)
    return [f"{row} is looked after by {row['waiting']} items" for row in rows if row["waiting"] != 1]


def check_activations(storm, evidence, lanes):
    """Each deployment that succeeded has one activation, and none goes back to an older revision."""
    problems = []
    events = collections.defaultdict(list)
    for row in evidence.of_action["openclaw.agents.lifecycle.activate"]:
        events[row["resource_id"]].append(row)
    for revision in evidence.numbers:
        codes = evidence.codes(f"agent_revision:{revision}:reconcile")
        ended = [code for code in codes if code in ACTIVATED]
        if len(ended) > 1 or len(events[revision]) > 1 or (ended and not events[revision]):
            problems.append(f"{revision} has {len(events[revision])} activations, and its deployment ended with {codes}")
    told = collections.defaultdict(list)
    for row in evidence.of_action["openclaw.agents.lifecycle.activate"]:
        told[evidence.owners[row["resource_id"]]].append(evidence.numbers[row["resource_id"]])
    routed = collections.defaultdict(list)
    for entry in storm.scripted.changes("activate_revision"):
        if entry["agentId"] not in lanes.late:
            routed[entry["agentId"]].append(entry["number"])
    became = collections.defaultdict(list)
    for row in storm.database.query("select agent, number from storm.active where number is not null order by at"):
        became[row["agent"]].append(row["number"])
    for what, numbers in (("events", told), ("routes", routed), ("rows", became)):
        problems += [f"{agent}: the {what} of its revisions go back: {each}" for agent, each in numbers.items()
                     if each != sorted(each)]  # fmt: skip
    storm.done["activations"] = sum(map(len, told.values()))
    return problems


def _states(storm):
    """{agent: {number: state}}"""
    found = collections.defaultdict(dict)
    for each in storm.scripted.made("revision").values():
        found[each["agentId"]][each["number"]] = each["state"]
    return found


def _rows(storm):
    """Agents with the number and work of their active revision, and the latest work of their lifecycle."""
    return storm.database.query(
        "select a.id, a.status, a.desired_runtime_state as wanted, r.revision_number as active,"
        " (select max(revision_number) from occ.agent_revisions n where n.agent_id = a.id) as newest,"
        " (select w.state from occ.controller_work w where w.idempotency_key = 'agent_revision:' || r.id || ':reconcile')"
        " as deployed,"
        " (select w.state from occ.controller_work w where w.agent_id = a.id and w.agent_target = 'stopped'"
        "   order by w.created_at desc limit 1) as stopped,"
        " (select array_agg(n.revision_number) from occ.agent_revisions n join occ.controller_work w"
        "   on w.idempotency_key = 'agent_revision:' || n.id || ':reconcile'"
        "   where n.agent_id = a.id and w.state = 'failed_permanent' and w.reason_code = any(%s)) as unattended,"
        " exists (select from occ.agent_revisions n join occ.controller_work w"
        "   on w.idempotency_key = 'agent_revision:' || n.id || ':reconcile'"
        "   where n.agent_id = a.id and n.revision_number > r.revision_number and w.state = 'failed_permanent') as overtaken"
        " from occ.agents a left join occ.agent_revisions r on r.id = a.active_revision_id",
        list(BY_RECOVERY),
    )


def _gone(storm, states, rows):
    """Nothing is left of an Agent that was deleted, nor anything of a Namespace that was."""
    problems, known = [], {row["id"] for row in rows}
    for kind in ("agent", "credentials"):
        problems += [f"{kind} of {agent}, which is gone" for agent in storm.scripted.made(kind) if agent not in known]
    for agent, revisions in states.items():
        left = {number: state for number, state in revisions.items() if state != "retired"}
        if agent not in known and left:
            problems.append(f"revisions of {agent}, which is gone: {left}")
    made = storm.scripted.made("namespace")
    for space in storm.database.query("select id, status, deleted_at from occ.namespaces"):
        if space["deleted_at"] and space["id"] in made:
            problems.append(f"{space['id']} is deleted, and there")
        if space["status"] == "ready" and space["id"] not in made:
            problems.append(f"{space['id']} is ready, and not there")
    return problems


def check_world(storm, lanes):
    """As far as the items succeeded, the world is as they say."""
    states, rows = _states(storm), _rows(storm)
    problems = [each for each in _gone(storm, states, rows) if not any(lane in each for lane in lanes.late)]
    for row in rows:
        mine, active = states[row["id"]], row["active"]
        if row["id"] in lanes.late or row["status"] == "deleting":
            continue
        runs = {number: state for number, state in mine.items() if state in RUNS}
        unattended = set(row["unattended"] or ())
        if active:
            # What stopped its predecessors and then failed has left nothing that is served.
            if storm.alone and row["overtaken"]:
                continue
            if row["deployed"] == "succeeded" and row["wanted"] == "running":
                served = [number for number, state in mine.items() if state == "active"]
                if served != [active]:
                    problems.append(f"{row}: {mine}, and served is {served}")
                older = {number: state for number, state in mine.items() if number < active and state != "retired"}
                if older:
                    problems.append(f"{row}: older revisions are left: {older}")
            newer = {number: state for number, state in runs.items() if number > active and number not in unattended}
        else:
            newer = {number: state for number, state in runs.items() if number not in unattended}
            if row["wanted"] == "stopped" and row["stopped"] == "succeeded":
                newer = runs
        if newer:
            problems.append(f"{row}: revisions that are not active run: {newer}")
    return problems


def heal(storm):
    """Each Agent is asked for once more: a third is deleted, a third stopped, a third deployed, and failed deletions go on."""
    connection = storm.database.connect()
    for number, row in enumerate(sorted(_rows(storm), key=lambda each: each["id"])):
        if row["status"] == "deleting" or number % 3 == 0:
            storm.look("agent delete", row["id"])
        elif number % 3 == 1:
            storm.look("agent stop", row["id"])
        else:
            storm.grant(connection, row["id"])
            storm.look("agent deploy", row["id"])
    storm.await_idle()
    return []


def check_healed(storm, lanes):
    states, rows = _states(storm), _rows(storm)
    problems = _gone(storm, states, rows)
    for row in rows:
        mine = states[row["id"]]
        if row["status"] == "deleting":
            problems.append(f"{row}: is not deleted")
        if row["id"] in lanes.late:
            continue
        if row["wanted"] == "running":
            older = {number: state for number, state in mine.items() if number != row["active"] and state != "retired"}
            if row["active"] != row["newest"] or mine.get(row["active"]) != "active" or older:
                problems.append(f"{row}: was deployed at the end, and is {mine}")
        elif row["active"] or any(state in RUNS for state in mine.values()):
            problems.append(f"{row}: was stopped at the end, and is {mine}")
    return problems
