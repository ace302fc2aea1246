# SPDX-License-Identifier: MIT
"""A reconciler that is killed exactly at each boundary of its steps: after each announcement and trip, before and after each
operation of the Driver. Whatever was done by then, the next one ends in the same state, with one success in the evidence.
"""

import pytest
from support.agents import Agents
from support.queue import Probe
from support.waiting import poll

RECONCILE = "reconcile"
CRASHES = ("LEASE_EXPIRED", "WORKER_CRASHED")
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
        """The evidence, without that of the crash."""
        return sorted(event for event in self.work.events(self.key) if event[2] not in CRASHES)


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

    def admit(self):
        self.agents = Agents(self.work)
        self.agents.revision(1)
        self.agents.revision(2, active=True)
        self.agents.set(status="deleting")
        return self.agents.admit("deleted")

    def check(self):
        agent = self.agents.agent
        assert self.work.db.one("select count(*) from occ.agents where id = %s", agent) == 0
        assert self.work.db.one("select count(*) from occ.controller_work where agent_id = %s", agent) == 0
        assert self.events() == [(RECONCILE, "success", "AGENT_DELETED")]
        assert 1 == self.work.db.one(
            "select count(*) from occ.audit_events where action = 'openclaw.agents.lifecycle.delete' and resource_id = %s",
            agent,
        )


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
        self.agents.activate(key.split(":")[1])
        self.work.db.execute("update occ.controller_work set available_at = 'infinity' where idempotency_key = %s", key)
        return self.agents.deploy(2)


class BeforeCommit(Redeploy):
    """The route is switched before the database says so."""

    options = (*Deploy.options, "--before-commit")


class FirstInProduction(Deploy):
    """A dedicated Harness stays inactive until the database says that it is active."""

    options = (*Deploy.options, "--production")

    def admit(self):
        self.agents = Agents(self.work)
        return self.agents.deploy(harness="codex", mode="dedicated")


class Refused(Deploy):
    """K93: the candidate is stopped before the refusal is told."""

    options = ("--agents", "prepare:permanent=X_BAD")

    def check(self):
        assert self.agents.active() is None
        assert self.events() == [(RECONCILE, "failure", "X_BAD")]


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
    """What it was doing when it was killed; None: it came to its rest before that boundary."""
    pass_ = reconciler("--die-at", boundary, *scenario.options, *scenario.steps)
    poll(lambda: pass_.process.poll() is not None or pass_.all("rest"), 20, what="a death or a rest")
    if pass_.process.poll() is None:
        return None
    for each in pass_._threads:
        each.join(5)
    last = pass_.said[-1]
    if last["say"] != "effect":
        return "after " + {"renewed": "a trip"}.get(last["say"], last["say"])
    # Said before the operation; each has a boundary after it too.
    before = boundaries(pass_) == boundary
    return ("before " if before else "after ") + last["what"]


def boundaries(pass_):
    """How many it had passed when it said its last."""
    return sum(2 if record["say"] == "effect" else 1 for record in pass_.said) - 1


@pytest.mark.parametrize(
    "kind",
    [
        Ensure, Delete, AgentStop, AgentDelete, Deploy, Redeploy, BeforeCommit, FirstInProduction, Refused, Overlap,
        Maintain,
    ],
)  # fmt: skip
def test_killed_at_every_step(work, reconciler, probe, kind):
    """K01, K05, K06: `pytest -s` shows the table."""
    print(f"\n{kind.__name__}: boundary, when it died, the item's state then")
    for boundary in range(1, MOST):
        scenario = kind(work)
        said = killed_at(scenario, reconciler, boundary)
        row = work.row(scenario.key)
        print(f"  {boundary:3} {said or 'not at all':26} {row['state'] if row else 'gone'}")
        recover(work, probe, scenario, ("lease", "token")[boundary % 2])
        if not settled(work, scenario):
            second = reconciler(*scenario.options, *scenario.steps)
            assert second.rest() == "idle"
        scenario.check()
        if said is None:
            assert boundary > 6
            return
    raise AssertionError(f"more than {MOST} boundaries")
