# SPDX-License-Identifier: MIT
"""A reconciler that is killed exactly at each boundary of its steps: after each announcement and trip, before and after each
operation of the Driver. Whatever was done by then, the next one ends in the same state, with one success in the evidence,
and nothing that Compute had done by then is done again.
"""

import uuid

import pytest
from support.agents import Agents
from support.queue import Probe
from support.waiting import poll

RECONCILE = "reconcile"
CRASHES = ("LEASE_EXPIRED", "WORKER_CRASHED")
WAITS = "X_WAIT"
MOST = 120  # boundaries; a pass that has more has a loop


@pytest.fixture
def probe(database):
    made = Probe(database.app_url)
    yield made
    made.close()


class Scenario:
    """One item that waits to be carried out, and what must hold in the end."""

    options = ()
    steps = ("ready",)

    def __init__(self, work):
        self.work = work
        self.key = self.admit()

    def keys(self):
        return [self.key]

    def events(self):
        """The evidence, without that of the crash and of what was waited for."""
        return sorted(event for event in self.work.events(self.key) if event[2] not in (*CRASHES, WAITS))

    def world(self):
        """What Compute has before: {id: state}."""
        return {}

    def look(self, changes):
        """At what Compute has done, in order: each thing once."""
        assert len(changes) == len(set(changes)), changes


class Ensure(Scenario):
    def admit(self):
        return self.work.admit()

    def check(self):
        assert self.work.status(self.key)["status"] == "ready"
        assert self.events() == [
            ("openclaw.namespaces.lifecycle.ensure", "success", "RECONCILE_SUCCEEDED"),
            (RECONCILE, "success", "RECONCILE_SUCCEEDED"),
        ]


class Delete(Scenario):
    def admit(self):
        return self.work.admit("deleted")

    def check(self):
        assert self.work.status(self.key)["deleted_at"] is not None
        assert self.events() == [
            ("openclaw.namespaces.lifecycle.delete", "success", "RECONCILE_SUCCEEDED"),
            (RECONCILE, "success", "RECONCILE_SUCCEEDED"),
        ]


class Adopt(Ensure):
    """Which takes one more trip, for one more right."""

    options = ("--existing",)

    def admit(self):
        return self.work.admit(existing=f"team-{uuid.uuid4()}")


class LateDelete(Delete):
    """K97: past its deadline it looks first, and tries once more."""

    options = ("--timeout", 60000, f"delete:pending={WAITS}", "delete:ready")

    def admit(self):
        return self.work.admit("deleted", age="1 h")


class AgentStop(Scenario):
    options = ("--agents",)

    def admit(self):
        self.agents = Agents(self.work)
        self.agents.revision(1)
        self.agents.revision(2, active=True)
        return self.agents.admit("stopped")

    def check(self):
        assert self.agents.active() is None
        assert self.events() == [
            ("openclaw.agents.lifecycle.stop", "success", "AGENT_STOPPED"), (RECONCILE, "success", "AGENT_STOPPED"),
        ]  # fmt: skip


class AgentDelete(Scenario):
    options = ("--agents", "--binds")
    age = "0 s"

    def admit(self):
        self.agents = Agents(self.work)
        self.agents.revision(1)
        self.agents.revision(2, active=True)
        self.agents.set(status="deleting")
        return self.agents.admit("deleted", age=self.age)

    def check(self):
        agent = self.agents.agent
        assert self.work.db.one("select count(*) from occ.agents where id = %s", agent) == 0
        assert self.work.db.one("select count(*) from occ.controller_work where agent_id = %s", agent) == 0
        assert self.events() == [(RECONCILE, "success", "AGENT_DELETED")]
        assert 1 == self.work.db.one(
            "select count(*) from occ.audit_events where action = 'openclaw.agents.lifecycle.delete' and resource_id = %s",
            agent,
        )


class LateAgentDelete(AgentDelete):
    """K97: the active revision is there yet; so all is removed again."""

    options = ("--timeout", 60000, *AgentDelete.options, f"retire:pending={WAITS}", "retire:ready")
    age = "1 h"


class GoneAgentDelete(AgentDelete):
    """K97: all is gone by now, as it sees."""

    options = ("--timeout", 60000, *AgentDelete.options)
    age = "1 h"

    def look(self, changes):
        assert changes == []


class Deploy(Scenario):
    """A first deployment."""

    options = ("--agents", "--binds", "--maintenance", "3600000")

    def admit(self):
        self.agents = Agents(self.work)
        return self.agents.deploy()

    def check(self):
        revision = self.key.split(":")[1]
        assert self.agents.active() == revision
        row = self.work.row(self.key)
        # An end that was lost after the publication finds the revision active.
        assert (row["state"], row["reason_code"] in ("REVISION_ACTIVATED", "REVISION_ALREADY_ACTIVE")) == (
            "succeeded", True,
        )  # fmt: skip
        assert self.events() == [
            ("openclaw.agents.lifecycle.activate", "success", row["reason_code"]),
            (RECONCILE, "success", row["reason_code"]),
        ]
        (maintenance,) = self.agents.maintenance(revision)
        assert maintenance["state"] == "queued"


class Redeploy(Deploy):
    """In the place of another, which must not run beside it."""

    options = (*Deploy.options, "--alone")

    def admit(self):
        key = super().admit()
        self.first = key.split(":")[1]
        self.agents.activate(self.first)
        self.work.db.execute("update occ.controller_work set available_at = 'infinity' where idempotency_key = %s", key)
        return self.agents.deploy(2)

    def world(self):
        return {self.first: "active"}


class BeforeCommit(Redeploy):
    """The route is switched before the database says so."""

    options = (*Deploy.options, "--before-commit")


class FirstInProduction(Deploy):
    """A dedicated Harness stays inactive until the database says that it is active."""

    options = (*Deploy.options, "--production")

    def admit(self):
        self.agents = Agents(self.work)
        return self.agents.deploy(harness="codex", mode="dedicated")


class Converging(Deploy):
    """What is not ready yet is looked at again."""

    options = (*Deploy.options, f"prepare:pending={WAITS}", "prepare:ready", f"activate:pending={WAITS}", "activate:ready")


class Refused(Deploy):
    """K93: the candidate is stopped before the refusal is told."""

    options = ("--agents", "prepare:permanent=X_BAD")

    def check(self):
        assert self.agents.active() is None
        assert self.events() == [(RECONCILE, "failure", "X_BAD")]

    def look(self, changes):
        """A refusal that was not told yet is found again by another preparation; the stop is always the end."""
        assert changes in ([("prepare", 1), ("stop", 1)] * times for times in (1, 2)), changes


class Held(Refused):
    """Its stop takes longer, and the refusal waits for it."""

    options = ("--agents", "prepare:permanent=X_BAD", "stop:pending=X_STOPPING", "stop:ready")

    def events(self):
        """What was told of it meanwhile is the same refusal."""
        told = super().events()
        assert told.count(told[0]) == len(told) in (1, 2, 3)
        return told[:1]


class Overlap(Scenario):
    """A stop that comes while a candidate is prepared."""

    options = ("--agents",)

    def admit(self):
        self.agents = Agents(self.work)
        key = self.agents.admit(revision=self.agents.deployable(), attempts=1)
        self.agents.set(desired_runtime_state="stopped")
        self.stop = self.agents.admit("stopped", due="-1 s")
        return key

    def keys(self):
        return [self.key, self.stop]

    def check(self):
        assert self.agents.active() is None
        assert self.events() == [(RECONCILE, "success", "REVISION_STOPPED")]
        codes = {event[2] for event in self.work.events(self.stop)} - set(CRASHES)
        assert codes == {"AGENT_STOPPED"} or codes == {"AGENT_ALREADY_STOPPED"}


class Maintain(Scenario):
    options = ("--agents", "--maintenance", "3600000")

    def admit(self):
        self.agents = Agents(self.work)
        self.revision = self.agents.deployable()
        self.agents.activate(self.revision)
        return self.agents.maintain(self.revision)

    def world(self):
        return {self.revision: "active"}

    def check(self):
        assert self.agents.active() == self.revision
        assert self.events() == [(RECONCILE, "success", "REVISION_ALREADY_ACTIVE")]
        assert [item["state"] for item in self.agents.maintenance(self.revision)] == ["succeeded", "queued"]


def settled(work, scenario):
    """All is terminal, or gone with its Agent."""
    rows = [work.row(key) for key in scenario.keys()]
    return all(row is None or row["state"] in ("succeeded", "failed_permanent") for row in rows)


def recover(work, probe, scenario, by):
    """As the dispatcher does: by the lease that runs out, or at once, knowing the token of the dead."""
    for key in scenario.keys():
        row = work.row(key)
        if not row or row["state"] != "claimed":
            continue
        if by == "lease":
            work.expire(key)
            assert [each["key"] for each in probe("sweep", 5)["rows"]] == [key]
        else:
            assert len(probe("release", row["claim_token"], "WORKER_CRASHED", 5)["rows"]) == 1
        work.due(key)


def killed_at(scenario, reconciler, boundary):
    """(the reconciler, what it was doing when it was killed); None: it came to its rest before that boundary."""
    pass_ = reconciler("--die-at", boundary, *scenario.options, *scenario.steps)
    poll(lambda: pass_.process.poll() is not None or pass_.all("rest"), 20, what="a death or a rest")
    if pass_.process.poll() is None:
        return pass_, None
    for each in pass_._threads:
        each.join(5)
    last = pass_.said[-1]
    if last["say"] != "effect":
        return pass_, "after " + {"renewed": "a trip"}.get(last["say"], last["say"])
    # Said before the operation; each has a boundary after it too.
    before = boundaries(pass_) == boundary
    return pass_, ("before " if before else "after ") + last["what"]


def boundaries(pass_):
    """How many it had passed when it said its last."""
    return sum(2 if record["say"] == "effect" else 1 for record in pass_.said) - 1


def come_to_an_end(work, scenario, reconciler):
    """Another one carries out what is left, as often as it waits for something; None: nothing was."""
    if settled(work, scenario):
        return None
    second = reconciler(*scenario.options, *scenario.steps)
    for number in range(1, 8):
        assert second.rest(number) == "idle"
        if settled(work, scenario):
            return second
        for key in scenario.keys():
            if (work.row(key) or {"state": "gone"})["state"] == "queued":
                work.due(key)
        second.order("go")
    raise AssertionError(f"{[work.row(key) for key in scenario.keys()]}")


# What an operation makes of its subject; some say so of what is already so, or gone for good.
BECOMES = {
    "ensure": "made", "delete": "gone", "bind": "bound", "provision": "provisioned", "delete-credentials": "gone",
    "prepare": "prepared", "activate": "active", "deactivate": "prepared", "stop": "stopped", "retire": "retired",
}  # fmt: skip
UNCHANGED = {
    ("prepare", "active"), ("provision", "gone"), ("bind", "provisioned"), ("deactivate", "stopped"), ("stop", "retired"),
    ("deactivate", "retired"), ("deactivate", None),
}  # fmt: skip


def changes_of(effects, world):
    """[(operation, number of the revision)] of those that had something to do, as a Compute that keeps things sees it."""
    changes = []
    for effect in effects:
        what, subject = effect["what"], effect.get("revision") or effect.get("agent") or effect["namespace"]
        state = world.get(subject)
        if effect["observe"] or state == BECOMES[what] or (what, state) in UNCHANGED:
            continue
        assert what != "activate" or state == "prepared", f"a revision is activated that is {state}"
        world[subject] = BECOMES[what]
        changes.append((what, effect.get("number")))
    return changes


def effects_of(pass_, said):
    """Without one that it was killed right before."""
    effects = pass_.all("effect")
    return effects[:-1] if said and said.startswith("before") else effects


@pytest.mark.parametrize(
    "kind",
    [
        Ensure, Adopt, Delete, LateDelete, AgentStop, AgentDelete, LateAgentDelete, GoneAgentDelete, Deploy, Converging,
        Redeploy, BeforeCommit, FirstInProduction, Refused, Held, Overlap, Maintain,
    ],
)  # fmt: skip
def test_killed_at_every_step(work, reconciler, probe, kind):
    """K01, K05, K06: `pytest -s` shows the table."""
    print(f"\n{kind.__name__}: boundary, when it died, the item's state then, what Compute did in all")
    for boundary in range(1, MOST):
        scenario = kind(work)
        first, said = killed_at(scenario, reconciler, boundary)
        row = work.row(scenario.key)
        recover(work, probe, scenario, ("lease", "token")[boundary % 2])
        second = come_to_an_end(work, scenario, reconciler)
        changes = changes_of(effects_of(first, said) + (effects_of(second, None) if second else []), scenario.world())
        told = " ".join(f"{what}{f' {number}' if number else ''}," for what, number in changes)
        print(f"  {boundary:3} {said or 'not at all':26} {row['state'] if row else 'gone':16} {told.rstrip(',')}")
        scenario.check()
        scenario.look(changes)
        if said is None:
            assert boundary > 6
            return
    raise AssertionError(f"more than {MOST} boundaries")
