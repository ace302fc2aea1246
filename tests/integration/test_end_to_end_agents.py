# SPDX-License-Identifier: MIT
"""Agents as an operator has them: occctl, the queue and occ-worker, with nothing replaced but what the Agents run on."""

import pytest
from support.desk import SECRET, Desk
from support.standing import start

DRIVERS = ("compute", "configuration", "secret")
ACTIVATE = "openclaw.agents.lifecycle.activate"
DEPLOYS = ("agent:deploy", "configuration:read", "secret:operate")
TIMES = {"deployPasses", "prepareMs", "readinessWaitMs", "elapsedMs", "activationMs"}


@pytest.fixture
def desk(scripted, worker, bootstrapped, folder, occctl):
    """desk(*flags): a worker with these, and a Desk beside it."""

    def make(*flags):
        running = start(worker, scripted, bootstrapped, folder / "ready", "--reconcilers=3", *flags, drivers=DRIVERS)
        made = Desk(occctl, bootstrapped, folder, scripted.env)
        made.worker = running
        return made

    return make


def works(at, kind="agent_revision"):
    """(state, code, attempt) of the Namespace's work of a kind, oldest first, as work list shows it."""
    return [(row["state"], row["code"], row["attempt"]) for row in at.run("work", "list", "-n", "acme", "--kind", kind)]


def evidence(at, key):
    """The audit of an item of work: its reason codes, oldest first."""
    return [row["details"]["reasonCode"] for row in at.run("audit", "list", "--work", key) if row["action"] == "reconcile"]


def actions(at, since=()):
    """What the audit shows of Agents, without what it showed before."""
    rows = [row for row in at.run("audit", "list", "-n", "acme", "--limit", "1000") if row["id"] not in since]
    return [row["action"] for row in rows if row["action"].startswith("openclaw.agents.")]


def active(at, agent=None):
    """(number, active) of the Agent's revisions, as agent revisions shows them."""
    return [(row["number"], row["active"]) for row in at.run("agent", "revisions", agent or at.id)]


def failed(result, code, *words):
    """--wait tells that the work failed, why, and where to look."""
    assert result.status == 5, result
    assert f"failed with {code}" in result.err and "occctl audit list --work " in result.err, result.err
    for word in words:
        assert word in result.err, (word, result.err)
    return result


def activations(scripted, agent):
    """The numbers of the revisions that got the Agent's route, in order."""
    return [entry["number"] for entry in scripted.changes("activate_revision", agentId=agent)]


def test_from_the_first_command_to_the_last(desk, scripted):
    """Issue 3: create, deploy, replace, stop, deploy again, delete; at each step what everybody shows."""
    at = desk()
    drafted = at.status()
    assert (drafted["state"], drafted["work"], drafted["activeRevision"], active(at)) == ("draft", None, None, [])

    # The progress is shown while it waits.
    waits = "failure gateway startup CRASH_LOOP + warn SLOW_IMAGE the image is large + pending REVISION_INCOMPLETE 100 x2"
    scripted.on("prepare_revision", waits, "warn SLOW_IMAGE the image is large + gate built + ready",
                subject="support/1")  # fmt: skip
    deploying = at.follow("agent", "deploy", at.id)
    deploying.wait_said("REVISION_INCOMPLETE")
    scripted.wait_at("built")
    during = at.status()
    assert during["state"] == "deploying" and during["newestRevision"]["number"] == 1 and not during["activeRevision"]
    assert during["work"]["meaning"] == "The revision's workload is not ready yet."
    assert during["failure"]["component"] == "gateway" and during["failure"]["code"] == "CRASH_LOOP"
    assert during["warnings"] == ["the image is large"] and during["error"] is None
    assert works(at) == [("claimed", "REVISION_INCOMPLETE", 1)]
    # A pass that ends at once would be over before the next look.
    deploying.wait_said("support: claimed, attempt 1, REVISION_INCOMPLETE, ")
    scripted.open("built")
    shown = deploying.result().ok()
    assert shown.json["state"] == "running" and shown.json["activeRevision"]["number"] == 1
    assert [line for line in deploying.said if line.startswith("support: claimed, attempt 1, REVISION_INCOMPLETE, ")]
    first = shown.json["work"]["id"]
    # What the Driver remarked stays to be seen, until the next deployment.
    assert at.status()["warnings"] == ["the image is large"] and at.status()["failure"] is None
    assert evidence(at, first) == ["REVISION_INCOMPLETE", "REVISION_ACTIVATED"]
    told = at.worker.wait_for("worker.completed", workId=first, outcome="success")
    assert (told["operation"], told["code"], told["attempt"]) == ("agent_revision.reconcile", "REVISION_ACTIVATED", 1)
    assert TIMES <= set(told) and told["deployPasses"] == 3 and told["readinessWaitMs"] >= 100
    assert scripted.revisions(at.id) == {1: "active"} and active(at) == [(1, True)]

    # Another one takes its place.
    second = at.deploy()["work"]["id"]
    after = at.status()
    assert (after["state"], after["warnings"], after["error"], after["failure"]) == ("running", [], None, None)
    assert scripted.revisions(at.id) == {1: "retired", 2: "active"} and active(at) == [(1, False), (2, True)]
    assert works(at) == [("succeeded", "REVISION_ACTIVATED", 1)] * 2 and evidence(at, second) == ["REVISION_ACTIVATED"]
    told = at.worker.wait_for("worker.completed", workId=second)
    assert (told["deployPasses"], told["readinessWaitMs"]) == (1, 0)

    stopped = at.run("agent", "stop", at.id, "--wait")
    assert stopped["state"] == "stopped" and stopped["activeRevision"] is None
    assert scripted.revisions(at.id) == {1: "retired", 2: "stopped"} and active(at) == [(1, False), (2, False)]
    assert works(at, "agent_stop") == [("succeeded", "AGENT_STOPPED", 1)]
    told = at.worker.wait_for("worker.completed", workId=stopped["work"]["id"])
    assert (told["operation"], told["code"]) == ("agent.stop", "AGENT_STOPPED") and not TIMES & set(told)

    assert at.deploy()["activeRevision"]["number"] == 3
    assert scripted.revisions(at.id) == {1: "retired", 2: "retired", 3: "active"}
    assert activations(scripted, at.id) == [1, 2, 3]

    assert at.run("agent", "delete", at.id, "--wait")["state"] == "deleted"
    assert at.ask("agent", "status", at.id).status == 3
    assert set(scripted.revisions(at.id).values()) == {"retired"}
    assert not scripted.made("agent") and not scripted.made("credentials")
    # Its work is gone with it, and the evidence stays.
    assert works(at) == works(at, "agent_stop") == works(at, "agent_delete") == []
    assert evidence(at, first) == ["REVISION_INCOMPLETE", "REVISION_ACTIVATED"]
    told = at.worker.wait_for("worker.completed", operation="agent.delete")
    assert (told["code"], told["outcome"]) == ("AGENT_DELETED", "success") and not TIMES & set(told)
    assert actions(at) == [
        "openclaw.agents.create",
        *["openclaw.agents.deploy", ACTIVATE] * 2,
        "openclaw.agents.stop", "openclaw.agents.lifecycle.stop",
        "openclaw.agents.deploy", ACTIVATE,
        "openclaw.agents.delete", "openclaw.agents.lifecycle.delete",
    ]  # fmt: skip

    # And all that it referred to.
    assert at.ask("namespace", "delete", "acme").status == 4
    at.run("configuration", "delete", at.configuration)
    at.run("secret", "delete", at.secret)
    at.run("namespace", "delete", "acme", "--wait")
    left = {kind: list(scripted.made(kind)) for kind in ("secret", "configuration", "agent", "credentials")}
    assert not any(left.values()) and at.namespace not in scripted.made("namespace")
    assert SECRET not in at.worker.log and not at.worker.events("worker.error")


def test_two_agents_at_once_and_the_revisions_of_one_in_order(desk, scripted):
    at = desk()
    other = at.draft("sales")
    for name in ("support", "sales"):
        scripted.on("prepare_revision", "gate both + ready", subject=f"{name}/1")
    followed = [at.follow("agent", "deploy", agent) for agent in (at.id, other)]
    scripted.wait_at("both", count=2)
    # Further revisions of one of them meanwhile: nobody begins with them.
    at.run("agent", "deploy", at.id)
    newest = at.follow("agent", "deploy", at.id)
    newest.wait_said("queued")
    assert scripted.calls(operation="prepare_revision") == ["prepare_revision"] * 2
    scripted.open("both")
    assert followed[1].result().ok().json["activeRevision"]["number"] == 1
    assert newest.result().ok().json["activeRevision"]["number"] == 3
    # By then the first one is not what runs, as its caller is told.
    assert followed[0].result().status in (0, 5)

    # Both were in the Driver's hands at the same time.
    spans = []
    for agent in (at.id, other):
        begun, ended = (scripted.journal("prepare_revision", what, agentId=agent, number=1)[0] for what in ("begin", "end"))
        spans.append((begun["atMs"], ended["atMs"]))
    assert max(begun for begun, _ in spans) < min(ended for _, ended in spans), spans
    # Each revision of the one ended before the next one began (that none overlap is looked at by the Driver).
    order = [entry["number"] for entry in scripted.journal(what="begin", agentId=at.id) if "number" in entry]
    own = [number for operation, number in _own(scripted, at.id)]
    assert own == sorted(own) and set(own) == {1, 2, 3}, order
    assert activations(scripted, at.id) == [1, 2, 3] and activations(scripted, other) == [1]
    assert scripted.revisions(at.id) == {1: "retired", 2: "retired", 3: "active"} and scripted.revisions(other) == {1: "active"}
    assert works(at) == [("succeeded", "REVISION_ACTIVATED", 1)] * 4


def _own(scripted, agent):
    """What was done for a revision itself, in order: without what a later one does to those before it."""
    ours = ("prepare_revision", "activate_revision")
    return [(entry["operation"], entry["number"]) for entry in scripted.journal(what="begin", agentId=agent)
            if entry["operation"] in ours]  # fmt: skip


def test_a_revision_that_waits_is_overtaken_and_never_comes_back(desk, scripted):
    at = desk()
    scripted.on("prepare_revision", "effect + pending REVISION_UNSCHEDULABLE 300 forever", subject="support/1")
    first = at.follow("agent", "deploy", at.id)
    first.wait_said("REVISION_UNSCHEDULABLE")
    assert at.deploy()["activeRevision"]["number"] == 2
    result = first.result()
    assert result.status == 5 and "the Agent is running revision 2 and not running revision 1" in result.err
    assert works(at) == [("succeeded", "REVISION_SUPERSEDED", 1), ("succeeded", "REVISION_ACTIVATED", 1)]
    assert activations(scripted, at.id) == [2] and scripted.revisions(at.id) == {1: "retired", 2: "active"}
    # Once the newer one had the route, Compute heard of the older one only that it goes.
    journal = scripted.journal(agentId=at.id)
    taken = next(i for i, entry in enumerate(journal) if entry["operation"] == "activate_revision")
    assert {entry["operation"] for entry in journal[taken:] if entry.get("number") == 1} == {"retire_revision"}


# ---- What goes wrong


def test_a_driver_that_refuses(desk, scripted):
    at = desk()
    at.deploy()
    scripted.on("prepare_revision", "effect + failure gateway image NO_SUCH_IMAGE + permanent IMAGE_INVALID", subject=2)
    failed(at.follow("agent", "deploy", at.id).result(), "IMAGE_INVALID", "as the script says")
    told = at.status()
    assert told["state"] == "failed" and told["error"].startswith("IMAGE_INVALID") and "as the script says" in told["error"]
    assert told["warnings"] == ["Revision 1 is still active."] and told["failure"]["code"] == "NO_SUCH_IMAGE"
    # What was begun of it is stopped; what served goes on.
    assert scripted.revisions(at.id) == {1: "active", 2: "stopped"} and active(at) == [(1, True), (2, False)]
    assert works(at)[1] == ("failed_permanent", "IMAGE_INVALID", 1)
    record = at.worker.wait_for("worker.completed", code="IMAGE_INVALID")
    assert record["outcome"] == "permanent" and "activationMs" not in record
    assert at.deploy()["activeRevision"]["number"] == 3
    assert scripted.revisions(at.id) == {1: "retired", 2: "retired", 3: "active"}


def test_a_workload_that_never_becomes_ready(desk, scripted):
    at = desk("--convergence-timeout-ms=2000")
    scripted.on("prepare_revision", "effect + pending REVISION_UNSCHEDULABLE forever", subject=1)
    result = failed(at.follow("agent", "deploy", at.id).result(), "CONVERGENCE_DEADLINE_EXCEEDED")
    assert "REVISION_UNSCHEDULABLE" in result.err
    told = at.status()
    assert told["state"] == "failed" and told["error"].startswith(
        "CONVERGENCE_DEADLINE_EXCEEDED: It did not become ready within the convergence timeout."
    )
    assert scripted.revisions(at.id) == {1: "stopped"} and active(at) == [(1, False)]
    assert evidence(at, told["work"]["id"]) == ["REVISION_UNSCHEDULABLE", "CONVERGENCE_DEADLINE_EXCEEDED"]
    (event,) = [row for row in at.run("audit", "list", "--work", told["work"]["id"])
                if row["details"].get("reasonCode") == "CONVERGENCE_DEADLINE_EXCEEDED"]  # fmt: skip
    assert event["outcome"] == "failure"
    assert at.run("work", "get", told["work"]["id"])["result"] == {"timeoutMs": 2000}


def test_a_permission_that_is_withdrawn_meanwhile(desk, scripted):
    at = desk()
    asking, identity = at.operator("reader", "agent:read", "namespace:read")
    at.run("iam", "role", "create", "deployer", *(f"--permission={each}" for each in DEPLOYS))
    binding = at.bind("deployer", identity)
    scripted.on("prepare_revision", "effect + pending REVISION_INCOMPLETE 100 forever", subject=1)
    deploying = at.follow("agent", "deploy", at.id, env=asking)
    deploying.wait_said("REVISION_INCOMPLETE")
    # What comes after the refusal waits, to be looked at.
    scripted.on("stop_revision", "gate stopping + ready", subject=1)
    at.run("iam", "binding", "delete", binding)
    scripted.wait_at("stopping")
    assert at.status()["state"] == "deploying" and works(at) == [("claimed", "REVISION_INCOMPLETE", 1)]
    scripted.open("stopping")
    failed(deploying.result(), "AUTHORIZATION_DENIED")
    told = at.status()
    assert told["state"] == "failed" and told["error"].startswith("AUTHORIZATION_DENIED: Who asked for it")
    assert scripted.revisions(at.id) == {1: "stopped"} and not activations(scripted, at.id)
    assert evidence(at, told["work"]["id"]) == ["REVISION_INCOMPLETE", "AUTHORIZATION_DENIED"]
    (event,) = [row for row in at.run("audit", "list", "--work", told["work"]["id"]) if row["outcome"] == "denied"]
    assert event["actorId"] == told["work"]["actorId"]
    # The administrator may.
    assert at.deploy()["activeRevision"]["number"] == 2


# K87
def test_a_crash_on_the_last_attempt_after_publication(desk, scripted):
    at = desk("--max-attempts=1")
    scripted.on("activate_revision", "effect + kill", subject=1)
    shown = at.deploy()
    assert shown["state"] == "running" and shown["activeRevision"]["number"] == 1
    assert evidence(at, shown["work"]["id"]) == ["ACTIVE_REVISION_RECOVERY", "REVISION_ALREADY_ACTIVE"]
    assert works(at) == [("succeeded", "REVISION_ALREADY_ACTIVE", 1)] and actions(at).count(ACTIVATE) == 1
    assert scripted.revisions(at.id) == {1: "active"} and len(scripted.changes("activate_revision")) == 1
    assert at.worker.events("worker.completed", outcome="error", code="ACTIVE_REVISION_RECOVERY")


def test_a_deletion_that_fails_is_tried_again(desk, scripted):
    at = desk()
    at.deploy()
    rule = scripted.on("delete_agent_credentials", "permanent CREDENTIALS_HELD forever")
    result = at.follow("agent", "delete", at.id).result()
    key = f"agent:{at.id}:reconcile:deleted"
    failed(result, "CREDENTIALS_HELD", "as the script says", f"again: occctl work retry {key}")
    told = at.status()
    assert told["state"] == "failed" and told["error"].startswith("CREDENTIALS_HELD")
    # All that a repetition needs is still there, and nothing of it runs.
    assert scripted.revisions(at.id) == {1: "retired"} and at.id in scripted.made("agent")
    assert works(at, "agent_delete") == [("failed_permanent", "CREDENTIALS_HELD", 1)]
    refusal = at.ask("agent", "deploy", at.id)
    assert refusal.status == 4 and "AGENT_DELETING" in refusal.err
    scripted.off(rule)
    assert at.run("work", "retry", key, "--wait") == {"id": key, "state": "succeeded", "code": "AGENT_DELETED"}
    assert at.ask("agent", "get", at.id).status == 3 and not scripted.made("agent")
    assert evidence(at, key)[0] == "CREDENTIALS_HELD" and evidence(at, key)[-1] == "AGENT_DELETED"
