# SPDX-License-Identifier: MIT
"""Deployments: a revision becomes the active one, and what was before goes."""

import json

import pytest
from support.agents import Agents
from support.deployment import again, complete, ended, told
from support.waiting import poll

RECONCILE = "reconcile"
ACTIVATE = "openclaw.agents.lifecycle.activate"
SUPERSEDE = "openclaw.agents.lifecycle.supersede"


@pytest.fixture
def agents(work):
    return Agents(work)


def of(key):
    return key.split(":")[1]


def test_first_deployment(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    assert told(pass_) == [("prepare", 1), ("activate", 1)]
    assert agents.active() == of(key)
    assert sorted(work.events(key)) == [
        (ACTIVATE, "success", "REVISION_ACTIVATED"), (RECONCILE, "success", "REVISION_ACTIVATED"),
    ]  # fmt: skip
    event = work.latest(key, ACTIVATE)
    assert (event["resource_kind"], event["resource_id"], event["actor_id"]) == ("agent_revision", of(key), work.actor)
    decision = event["details"]["decision"]
    assert decision["permission"] == "agent:deploy" and decision["bindingId"] == work.binding
    report = pass_.report()
    assert report["deployment"] and report["ready_ms"] > 0 and report["unready_ms"] == 0
    details = work.latest(key)["details"]
    assert (details["workId"], details["reasonCode"], details["attemptCount"]) == (key, "REVISION_ACTIVATED", 1)


def test_what_the_driver_is_told(work, agents, reconciler):
    """Texts are the database's own: no number passes through a double."""
    harness, bound = agents.secret(), agents.secret()
    document = '{"precise": 12345678901234567890.12345678901234567890, "big": 1e400}'
    auth = {"method": "chatgpt_service_account", "serviceAccountId": agents.account(harness)}
    key = agents.deploy(
        7, auth=auth, secret_bindings=[{"name": "TOKEN", "source": agents.reference(bound)}],
        configuration_generation=3, secret_driver_id="secret-kubernetes",
    )  # fmt: skip
    work.db.execute("alter table occ.agent_revisions disable trigger agent_revisions_fixed")
    work.db.execute(
        "update occ.agent_revisions set admitted_spec = jsonb_set(admitted_spec, '{draft_spec}', %s::jsonb)", document
    )
    pass_ = reconciler("--agents", "--secrets", "secret-kubernetes", "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    said = pass_.wait("effect", what="prepare")
    assert (said["revision"], said["number"], said["first"], said["generation"]) == (of(key), 7, True, 3)
    assert (said["agent"], said["agentName"], said["principal"]) == (agents.agent, "a", agents.principal)
    assert (said["namespace"], said["harness"], said["mode"], said["version"]) == (
        agents.namespace, "openclaw", "embedded", "1",
    )  # fmt: skip
    assert "12345678901234567890.12345678901234567890" in said["document"] and "1" + "0" * 400 in said["document"]
    assert json.loads(said["auth"]) == auth and said["secrets"] == "secret-kubernetes"
    assert said["harnessSecret"]["secret"] == harness and said["harnessSecret"]["backendName"] == harness
    (binding,) = said["bindings"]
    assert (binding["name"], binding["secret"], binding["backendNamespace"]) == ("TOKEN", bound, "oce-x")


def test_pending_until_ready(work, agents, reconciler):
    """K95, K103: the wait keeps its code, and writes it once."""
    key = agents.deploy()
    pass_ = reconciler("--agents", "prepare:broken+pending=REVISION_INCOMPLETE", "prepare:pending=REVISION_INCOMPLETE",
                       "prepare:ready", "activate:pending=X_ROUTING", "activate:ready")  # fmt: skip
    assert ended(pass_) == ("pending", "REVISION_INCOMPLETE")
    assert work.latest(key)["details"]["failure"]["code"] == "CRASH_LOOP"
    assert pass_.report(1)["unready_ms"] > 0 and pass_.report(1)["ready_ms"] == 0
    assert again(work, pass_, key, 2) == ("pending", "REVISION_INCOMPLETE") and agents.active() is None
    assert again(work, pass_, key, 3) == ("pending", "X_ROUTING") and agents.active() == of(key)
    # Published already: the rest is done again, and nothing is prepared.
    assert again(work, pass_, key, 4) == ("success", "REVISION_ALREADY_ACTIVE")
    assert told(pass_) == [("prepare", 1)] * 3 + [("activate", 1)] * 2
    codes = [event[2] for event in work.events(key) if event[0] == RECONCILE]
    assert codes == ["REVISION_INCOMPLETE", "X_ROUTING", "REVISION_ALREADY_ACTIVE"]
    assert [event[0] for event in work.events(key)].count(ACTIVATE) == 1
    assert work.row(key)["attempt_count"] == 1


def test_agent_operations_come_first(work, agents, reconciler):
    agents.deploy()
    pass_ = reconciler("--agents", "--binds", "ready")
    assert ended(pass_)[1] == "REVISION_ACTIVATED"
    assert told(pass_) == [("bind", None), ("provision", None), ("prepare", 1), ("activate", 1)]


def test_the_predecessor_is_retired(work, agents, reconciler):
    complete(agents, 1)
    key = agents.deploy(2)
    pass_ = reconciler("--agents", "retire:pending=X_ENDING", "retire:ready")
    assert ended(pass_) == ("pending", "X_ENDING") and agents.active() == of(key)
    assert again(work, pass_, key, 2) == ("success", "REVISION_ALREADY_ACTIVE")
    assert told(pass_) == [("prepare", 2), ("activate", 2), ("retire", 1), ("activate", 2), ("retire", 1)]
    assert [event[0] for event in work.events(key)].count(ACTIVATE) == 1


@pytest.mark.parametrize("alone", [False, True])
def test_predecessors_newest_first_down_to_the_last_completed(work, agents, reconciler, alone):
    complete(agents, 1)
    complete(agents, 2)
    agents.deployable(3)
    agents.deployable(4, compute={"id": "compute-kubernetes", "implementation": "kubernetes"})
    agents.deployable(5)
    agents.deploy(6)
    pass_ = reconciler("--agents", *(["--alone"] if alone else []), "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    stops = [("stop", 5), ("stop", 3), ("stop", 2)] if alone else []
    assert told(pass_) == [*stops, ("prepare", 6), ("activate", 6), ("retire", 5), ("retire", 3), ("retire", 2)]


def test_what_another_compute_completed_hides_nothing_of_this_one(work, agents, reconciler):
    """It could not retire what ran here, which is retired, or stopped, when this Compute is selected again."""
    elsewhere = {"compute": {"id": "c", "implementation": "d"}}
    complete(agents, 1)
    complete(agents, 2)
    complete(agents, 3, **elsewhere)
    agents.deploy(4)
    pass_ = reconciler("--agents", "prepare:permanent=X_BAD", "ready")
    assert ended(pass_) == ("permanent", "X_BAD") and pass_.rest() == "idle"
    agents.deploy(5)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED") and pass_.rest() == "idle"
    assert told(pass_) == [("prepare", 5), ("activate", 5), ("retire", 4), ("retire", 2)]


def test_activation_before_the_commit(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "--before-commit", "activate:gate", "ready")
    pass_.wait("effect", what="activate")
    assert agents.active() is None
    pass_.order("open")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED") and agents.active() == of(key)
    assert told(pass_) == [("prepare", 1), ("activate", 1)]


@pytest.mark.parametrize("order", [[], ["--before-commit"]])
def test_a_first_dedicated_deployment_stays_inactive_in_production(work, agents, reconciler, order):
    key = agents.deploy(harness="codex", mode="dedicated")
    pass_ = reconciler("--agents", "--production", *order, "activate:gate")
    pass_.wait("effect", what="activate")
    assert agents.active() == of(key)
    pass_.order("open")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    assert told(pass_) == [("prepare", 1), ("deactivate", 1), ("activate", 1)]


def test_a_later_dedicated_deployment_follows_the_driver_s_order(work, agents, reconciler):
    complete(agents, 1, harness="codex", mode="dedicated")
    agents.deploy(2, harness="codex", mode="dedicated")
    pass_ = reconciler("--agents", "--production", "--before-commit", "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    assert told(pass_) == [("prepare", 2), ("activate", 2), ("retire", 1)]


def test_two_revisions_of_one_agent_stay_in_order_and_two_agents_go_together(work, reconciler):
    one, other = Agents(work), Agents(work)
    first, second, third = one.deploy(1), one.deploy(2), other.deploy(1)
    passes = [reconciler("--agents", "--lease", 30000, "prepare:gate", "ready") for _ in range(2)]
    poll(lambda: all(each.all("effect") for each in passes), what="two preparations at a time")
    assert {each.all("effect")[0]["agent"] for each in passes} == {one.agent, other.agent}
    for each in passes:
        each.order("open")

    def done():
        for each in passes:
            each.order("open")
            each.order("go")
        return all(work.row(key)["state"] == "succeeded" for key in (first, second, third))

    poll(done, 30, interval=0.05, what="the end of all three")
    assert one.active() == of(second) and other.active() == of(third)


# ---- revisions that run alone


def only(work, pass_, key, number):
    """The item's next pass, whatever else has become due meanwhile."""
    pass_.rest(number - 1)
    work.db.execute("update occ.controller_work set available_at = now() + interval '1 h' where state = 'queued'")
    return again(work, pass_, key, number)


def test_what_a_newer_one_has_stopped_waits_for_it(work, agents, reconciler):
    """The older one is active already, and its route not yet finished: it does not run beside the newer one, and comes back
    when that has failed."""
    first = agents.deploy(1)
    pass_ = reconciler("--agents", "--alone", "prepare:ready", "prepare:pending=X_WAIT", "prepare:permanent=X_BAD",
                       "prepare:ready", "activate:pending=X_ROUTING", "activate:ready", "ready")  # fmt: skip
    assert ended(pass_) == ("pending", "X_ROUTING") and agents.active() == of(first)
    pass_.rest(1)
    second = agents.deploy(2)
    assert only(work, pass_, second, 2) == ("pending", "X_WAIT")
    assert only(work, pass_, first, 3) == ("pending", "REVISION_FINALIZATION_INCOMPLETE")
    assert told(pass_) == [("prepare", 1), ("activate", 1), ("stop", 1), ("prepare", 2)]
    assert only(work, pass_, second, 4) == ("permanent", "X_BAD")
    assert only(work, pass_, first, 5) == ("success", "REVISION_ALREADY_ACTIVE")
    assert told(pass_)[4:] == [("stop", 1), ("prepare", 2), ("stop", 2), ("prepare", 1), ("activate", 1)]


def test_an_older_candidate_waits_for_a_newer_one_that_has_begun(work, agents, reconciler):
    first = agents.deploy(1)
    pass_ = reconciler("--agents", "--alone", "prepare:pending=X_WAIT", "prepare:pending=X_WAIT", "prepare:ready", "ready")
    assert ended(pass_) == ("pending", "X_WAIT")
    pass_.rest(1)
    second = agents.deploy(2)
    assert only(work, pass_, second, 2) == ("pending", "X_WAIT")
    assert only(work, pass_, first, 3) == ("pending", "REVISION_INCOMPLETE")
    assert told(pass_) == [("prepare", 1), ("stop", 1), ("prepare", 2)]
    assert only(work, pass_, second, 4) == ("success", "REVISION_ACTIVATED")
    assert only(work, pass_, first, 5) == ("success", "REVISION_SUPERSEDED")


def test_maintenance_leaves_alone_what_a_newer_one_has_stopped(work, agents, reconciler):
    revision = complete(agents, 1)
    key = agents.maintain(revision)
    work.db.execute("update occ.controller_work set available_at = now() + interval '1 h' where idempotency_key = %s", key)
    second = agents.deploy(2)
    pass_ = reconciler("--agents", "--alone", "--maintenance", 3600000, "prepare:pending=X_WAIT", "prepare:permanent=X_BAD", "prepare:ready",
                       "ready")  # fmt: skip
    assert ended(pass_) == ("pending", "X_WAIT")
    assert only(work, pass_, key, 2) == ("pending", "REVISION_FINALIZATION_INCOMPLETE")
    assert only(work, pass_, second, 3) == ("permanent", "X_BAD")
    # What serves nothing is brought back.
    assert only(work, pass_, key, 4) == ("success", "REVISION_ALREADY_ACTIVE")
    assert told(pass_)[-2:] == [("prepare", 1), ("activate", 1)]


def test_revisions_that_may_run_together_do_not_wait(work, agents, reconciler):
    first = agents.deploy(1)
    pass_ = reconciler("--agents", "prepare:pending=X_WAIT", "prepare:pending=X_WAIT", "prepare:ready", "ready")
    assert ended(pass_) == ("pending", "X_WAIT")
    assert only(work, pass_, agents.deploy(2), 2) == ("pending", "X_WAIT")
    assert only(work, pass_, first, 3) == ("success", "REVISION_ACTIVATED")


# ---- superseded, stopped, deleted


def test_an_older_revision_is_superseded_without_compute(work, agents, reconciler):
    old = agents.deploy(1)
    complete(agents, 2)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("success", "REVISION_SUPERSEDED") and not pass_.all("effect")
    assert sorted(work.events(old)) == [
        (SUPERSEDE, "success", "REVISION_SUPERSEDED"), (RECONCILE, "success", "REVISION_SUPERSEDED"),
    ]  # fmt: skip


def test_an_older_revision_is_superseded_after_a_stop_too(work, agents, reconciler):
    agents.deploy(1)
    complete(agents, 2)
    agents.set(active_revision_id=None)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_)[1] == "REVISION_SUPERSEDED" and agents.active() is None


@pytest.mark.parametrize("what", ["stopped", "deleting"])
def test_the_agent_is_stopped_or_deleted_while_the_candidate_converges(work, agents, reconciler, what):
    key = agents.deploy()
    pass_ = reconciler("--agents", "prepare:gate", "ready")
    pass_.wait("effect", what="prepare")
    agents.set(desired_runtime_state="stopped")
    if what == "deleting":
        agents.set(status="deleting")
    pass_.order("open")
    assert ended(pass_) == ("success", "SUPERSEDED_TARGET" if what == "deleting" else "REVISION_STOPPED")
    # A deletion removes it itself.
    assert told(pass_) == [("prepare", 1)] + ([] if what == "deleting" else [("stop", 1)])
    assert agents.active() is None and ACTIVATE not in [event[0] for event in work.events(key)]


def test_a_stopped_agent_s_first_pass_calls_nothing(work, agents, reconciler):
    agents.deploy()
    agents.set(desired_runtime_state="stopped")
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("success", "REVISION_STOPPED") and not pass_.all("effect")


def test_a_candidate_that_a_stop_captured_does_not_come_back(work, agents, reconciler):
    """The Agent is to run again, but with a later revision."""
    key = agents.deploy(1)
    pass_ = reconciler("--agents", "prepare:pending=X_WAIT", "ready")
    assert ended(pass_)[0] == "pending" and pass_.rest() == "idle"
    work.db.execute("update occ.controller_work set available_at = now() + interval '1 h'")
    agents.admit("stopped")
    agents.deployable(2)
    pass_.order("go")
    assert ended(pass_, 2)[1] == "STOP_SUPERSEDED"
    assert again(work, pass_, key, 3) == ("success", "REVISION_STOPPED")
    assert told(pass_) == [("prepare", 1), ("stop", 1)]


def test_a_stop_after_the_publication_is_the_stop_s_own(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "activate:pending=X_WAIT", "ready")
    assert ended(pass_)[0] == "pending"
    agents.set(desired_runtime_state="stopped")
    assert again(work, pass_, key, 2) == ("success", "REVISION_STOPPED")
    assert told(pass_) == [("prepare", 1), ("activate", 1)] and agents.active() == of(key)


# ---- maintenance


def test_maintenance_activates_again(work, agents, reconciler):
    revision = complete(agents, 1)
    key = agents.maintain(revision)
    pass_ = reconciler("--agents", "--maintenance", 60000, "ready")
    assert ended(pass_) == ("success", "REVISION_ALREADY_ACTIVE") and told(pass_) == [("activate", 1)]
    assert work.events(key) == [(RECONCILE, "success", "REVISION_ALREADY_ACTIVE")]
    assert len(agents.maintenance(revision)) == 2 and not pass_.report()["deployment"]


@pytest.mark.parametrize("step, outcome", [("activate:permanent=X_BAD", "permanent"), ("activate:pending=X_WAIT", "pending")])
def test_maintenance_never_stops_what_is_active(work, agents, reconciler, step, outcome):
    """K89"""
    revision = complete(agents, 1)
    agents.maintain(revision)
    pass_ = reconciler("--agents", "--attempts", 1, step)
    assert ended(pass_)[0] == outcome and told(pass_) == [("activate", 1)] and agents.active() == revision
    assert len(agents.maintenance(revision)) == (2 if outcome == "permanent" else 1)


def test_maintenance_of_what_is_active_no_more(work, agents, reconciler):
    revision = complete(agents, 1)
    key = agents.maintain(revision)
    complete(agents, 2)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("success", "REVISION_SUPERSEDED") and not pass_.all("effect")
    assert work.events(key) == [(RECONCILE, "success", "REVISION_SUPERSEDED")]
    assert len(agents.maintenance(revision)) == 1


def test_a_completed_deployment_makes_the_first_maintenance(work, agents, reconciler):
    key = agents.deploy()
    reconciler("--agents", "--maintenance", 3600000, "ready").rest()
    (item,) = agents.maintenance(of(key))
    assert item["state"] == "queued" and item["result_data"] == {"maintenanceIntervalMs": 3600000}


# ---- crash and loss


def test_the_claim_is_lost_between_publication_and_activation(work, agents, reconciler):
    """Nothing is published under a lost claim, and the next one finishes what was begun."""
    key = agents.deploy()
    pass_ = reconciler("--agents", "activate:gate", "activate:ready")
    pass_.wait("effect", what="activate")
    work.db.execute("update occ.controller_work set lease_expires_at = now() - interval '1 s'")
    work.db.execute(
        "update occ.controller_work set state = 'queued', lease_expires_at = null, available_at = now() + interval '1 h'"
    )
    pass_.order("open")
    assert ended(pass_)[0] == "claim_lost" and agents.active() == of(key) and work.events(key) == []
    assert again(work, pass_, key, 2) == ("success", "REVISION_ALREADY_ACTIVE")
    assert [event[0] for event in work.events(key)].count(ACTIVATE) == 1


def test_the_answer_of_the_publication_is_lost(work, agents, reconciler, through, database):
    """It is read back under the token, and not repeated blindly."""
    path, url = through
    key = agents.deploy()
    pass_ = reconciler("--agents", "--lease", 30000, "prepare:gate", "ready", url=url)
    pass_.wait("effect", what="prepare")
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:  # holds the publication until the path is about to be cut
        cursor.execute("select from occ.agents for update")
        pass_.order("open")
        poll(lambda: database.one("select count(*) from pg_locks where not granted") > 0, what="the publication")
        path.cut_after(0)
    other.commit()
    assert ended(pass_) == ("success", "REVISION_ACTIVATED")
    assert told(pass_) == [("prepare", 1), ("activate", 1)] and agents.active() == of(key)
    assert [event[0] for event in work.events(key)].count(ACTIVATE) == 1 and not pass_.errors("CLAIM_LOST")


def test_the_active_revision_changes_under_the_pass(work, agents, reconciler, database):
    """By a hand in the tables: compare-and-set finds it."""
    one = agents.deployable(1)
    two = agents.deployable(2)
    key = agents.deploy(3)
    agents.activate(one)
    pass_ = reconciler("--agents", "prepare:gate", "prepare:ready")
    pass_.wait("effect", what="prepare")
    other = database.connect("postgres", autocommit=False)
    with other.cursor() as cursor:  # after the confirmation, which does not lock, and before the publication
        cursor.execute("update occ.agents set active_revision_id = %s", (two,))
        pass_.order("open")
        poll(lambda: database.one("select count(*) from pg_locks where not granted") > 0, what="the publication")
    other.commit()
    assert ended(pass_) == ("retry", "ACTIVE_REVISION_CHANGED") and agents.active() == two
    assert again(work, pass_, key, 2) == ("success", "REVISION_ACTIVATED") and agents.active() == of(key)


@pytest.mark.parametrize("at", ["prepare", "activate", "retire"])
def test_drain_in_each_step(work, agents, reconciler, at):
    """K18, K60"""
    complete(agents, 1)
    key = agents.deploy(2)
    first = reconciler("--agents", f"{at}:hang", "ready")
    first.wait("effect", what=at)
    first.order("abort")
    assert first.report()["handed_back"] and work.row(key)["attempt_count"] == 0
    assert first.rest() == "stopped"
    second = reconciler("--agents", "ready")
    assert second.report()["outcome"] == "success" and agents.active() == of(key)
    assert [event[0] for event in work.events(key)].count(ACTIVATE) == 1


@pytest.mark.parametrize("at", ["prepare", "activate", "retire"])
def test_killed_in_each_step(work, agents, reconciler, at):
    complete(agents, 1)
    key = agents.deploy(2)
    first = reconciler("--agents", f"{at}:hang", "ready")
    first.wait("effect", what=at)
    first.kill()
    work.db.execute(
        "update occ.controller_work set state = 'queued', lease_expires_at = null, available_at = now()"
        " where idempotency_key = %s", key,
    )  # fmt: skip
    second = reconciler("--agents", "ready")
    assert second.report()["outcome"] == "success" and agents.active() == of(key)
    assert [event[0] for event in work.events(key)].count(ACTIVATE) == 1
    assert ("retire", 1) in told(second)


def test_trips_of_a_deployment(agents, reconciler):
    """Five: subject, two confirmations, publication, outcome with the next claim. All but the last confirm the claim, as
    the claim itself did."""
    agents.deploy()
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_)[0] == "success" and pass_.rest() == "idle"
    assert len(pass_.all("renewed")) == 1 + 4
