# SPDX-License-Identifier: MIT
"""Deployments that are refused: with which code, whether Compute is asked, and what becomes of a candidate (K93)."""

import uuid

import pytest
from support.agents import Agents
from support.deployment import again, complete, ended, told

RECONCILE = "reconcile"
ACTIVATE = "openclaw.agents.lifecycle.activate"


@pytest.fixture
def agents(work):
    return Agents(work)


# ---- before anything is prepared


@pytest.mark.parametrize(
    "more, options, code",
    [
        ({"mode": "dedicated"}, [], "HARNESS_UNSUPPORTED"),
        ({"mode": "dedicated"}, ["--sandbox", "sandbox-a"], "HARNESS_UNSUPPORTED"),
        ({"mode": "dedicated", "sandbox_driver_id": "sandbox-a"}, [], "HARNESS_UNSUPPORTED"),
        ({"mode": "dedicated", "sandbox_driver_id": "sandbox-a"}, ["--sandbox", "sandbox-b"], "SANDBOX_DRIVER_MISMATCH"),
        ({"harness": "codex"}, [], "HARNESS_UNSUPPORTED"),
        ({"harness_version": "0"}, [], "HARNESS_DESCRIPTOR_MISMATCH"),
        ({"compute": {"id": "compute-docker-development", "implementation": "other"}}, [], "COMPUTE_DRIVER_MISMATCH"),
        ({"sandbox_driver_id": "sandbox-a"}, [], "SANDBOX_DRIVER_MISMATCH"),
        ({"sandbox_driver_id": "sandbox-a"}, ["--sandbox", "sandbox-b"], "SANDBOX_DRIVER_MISMATCH"),
        ({"secret_driver_id": "secret-a"}, [], "SECRET_DRIVER_MISMATCH"),
        ({"secret_driver_id": "secret-a"}, ["--secrets", "secret-b"], "SECRET_DRIVER_MISMATCH"),
        ({"auth": None}, [], "HARNESS_AUTH_REQUIRED"),
        ({"auth": "gone"}, [], "HARNESS_AUTH_SOURCE_UNAVAILABLE"),
        ({"bound": "gone"}, [], "SECRET_SOURCE_UNAVAILABLE"),
    ],
)
def test_refused_without_compute(work, agents, reconciler, more, options, code):
    more = dict(more)
    gone = agents.reference(work.id("sec"))
    if more.get("auth") == "gone":
        more["auth"] = {"method": "api_key", "source": gone}
    if more.pop("bound", None):
        more["secret_bindings"] = [{"name": "A", "source": gone}]
    if more.pop("harness_version", None):
        key = agents.deploy()
        work.db.execute("alter table occ.agent_revisions disable trigger agent_revisions_fixed")
        work.db.execute(
            "update occ.agent_revisions set admitted_spec = jsonb_set(admitted_spec, '{harness,version}', '\"0\"')"
        )
    else:
        key = agents.deploy(**more)
    pass_ = reconciler("--agents", *options, "ready")
    assert ended(pass_) == ("permanent", code) and not pass_.all("effect")
    assert work.latest(key)["details"]["message"] and agents.active() is None


@pytest.mark.parametrize(
    "statement, code",
    [
        ("update occ.namespaces set status = 'failed' where id = %(namespace)s", "NAMESPACE_NOT_READY"),
        ("update occ.namespaces set status = 'provisioning' where id = %(namespace)s", "NAMESPACE_NOT_READY"),
        ("delete from occ.iam_identities where id = %(principal)s", "INVALID_AGENT_PRINCIPAL"),
        ("update occ.iam_identities set agent_id = %(other)s where id = %(principal)s", "INVALID_AGENT_PRINCIPAL"),
        ("update occ.agent_revisions set agent_id = %(other)s where agent_id = %(agent)s", "INVALID_REVISION_OWNER"),
        ("update occ.agents set namespace_id = %(elsewhere)s where id = %(agent)s", "INVALID_REVISION_OWNER"),
        ("delete from occ.agents where id = %(agent)s", "INVALID_REVISION_OWNER"),
    ],
)
def test_what_the_database_would_not_let_happen(work, agents, reconciler, statement, code):
    """Owner, Namespace and principal are looked at all the same, before anything else of the revision."""
    key = agents.deploy()
    names = {name: getattr(agents, name) for name in ("namespace", "principal", "agent")}
    agents.force(statement, other=work.id("agt"), elsewhere=work.namespace("ready"), **names)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("permanent", code) and not pass_.all("effect")
    assert work.row(key)["reason_code"] == code and work.events(key) == [(RECONCILE, "failure", code)]


def test_a_sandboxed_harness(agents, reconciler):
    agents.deploy(mode="dedicated", sandbox_driver_id="sandbox-a")
    assert ended(reconciler("--agents", "--sandbox", "sandbox-a", "ready")) == ("success", "REVISION_ACTIVATED")


@pytest.mark.parametrize("step", ["prepare:stranger", "prepare:mute", "prepare:foreign"])
def test_an_observation_of_something_else_is_worth_nothing(agents, reconciler, step):
    agents.deploy()
    pass_ = reconciler("--agents", step)
    assert ended(pass_) == ("permanent", "INVALID_DRIVER_OBSERVATION") and agents.active() is None
    assert told(pass_) == [("prepare", 1), ("stop", 1)]


# ---- rights


DEPLOYS = [("deploy", "agent"), ("read", "configuration"), ("operate", "secret"), ("read", "service_account")]


@pytest.mark.parametrize("by", ["harness", "binding"])
@pytest.mark.parametrize(
    "who, action, kind",
    [
        ("actor", "deploy", "agent"), ("actor", "read", "configuration"), ("actor", "operate", "secret"),
        ("principal", "operate", "secret"), ("actor", "read", "service_account"),
    ],
)  # fmt: skip
def test_each_right_is_needed(work, agents, reconciler, who, action, kind, by):
    """Of a Secret for both who use it: the one that is bound, and the one by which the Harness authenticates."""
    secret = agents.secret()
    actor = work.identity()
    granted = [pair for pair in DEPLOYS if who != "actor" or pair != (action, kind)]
    work.bind(actor, work.new_role([{"action": a, "resourceKind": k} for a, k in granted]))
    more = {"auth": {"method": "api_key", "source": agents.reference(secret)}}
    if by == "binding" or kind == "service_account":
        account = agents.account(agents.secret())
        more = {"auth": {"method": "chatgpt_service_account", "serviceAccountId": account}}
    if by == "binding":
        more["secret_bindings"] = [{"name": "KEY", "source": agents.reference(secret)}]
    revision = agents.deployable(**more)
    if who == "principal":
        work.db.execute("delete from occ.iam_access_bindings where identity_subject_id = %s", agents.principal)
    key = agents.admit(revision=revision, actor=actor)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("permanent", "AUTHORIZATION_DENIED") and not pass_.all("effect")
    event = work.latest(key)
    assert (event["kind"], event["outcome"], event["details"]["decision"]["permission"]) == (
        "authorization_denial", "denied", f"{kind}:{action}",
    )  # fmt: skip


def test_an_account_is_read_by_the_actor_alone(work, agents, reconciler):
    """The Secret behind it is the account's, and nobody needs a right of that."""
    account = agents.account(agents.secret())
    actor = work.identity()
    work.bind(actor, work.new_role([{"action": a, "resourceKind": k} for a, k in DEPLOYS if k != "secret"]))
    revision = agents.deployable(auth={"method": "chatgpt_service_account", "serviceAccountId": account})
    work.db.execute("delete from occ.iam_access_bindings where identity_subject_id = %s", agents.principal)
    agents.admit(revision=revision, actor=actor)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("success", "REVISION_ACTIVATED") and agents.active() == revision
    # And its place is told to the Driver all the same.
    assert pass_.all("effect")[0]["harnessSecret"]["driver"] == "secret-kubernetes"


def test_rights_that_go_between_the_steps(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "prepare:gate", "ready")
    pass_.wait("effect", what="prepare")
    work.db.execute("delete from occ.iam_access_bindings where id = %s", work.binding)
    pass_.order("open")
    assert ended(pass_) == ("permanent", "AUTHORIZATION_DENIED") and agents.active() is None
    assert told(pass_) == [("prepare", 1), ("stop", 1)]
    assert work.events(key) == [(RECONCILE, "denied", "AUTHORIZATION_DENIED")]


def test_an_actor_who_is_gone_after_an_earlier_pass(work, agents, reconciler):
    actor = work.identity()
    work.bind(actor, work.role)
    key = agents.admit(revision=agents.deployable(), actor=actor)
    pass_ = reconciler("--agents", "prepare:pending=X_WAIT", "ready")
    assert ended(pass_)[0] == "pending"
    work.db.execute("delete from occ.iam_access_bindings where identity_subject_id = %s", actor)
    work.db.execute("delete from occ.iam_identities where id = %s", actor)
    assert again(work, pass_, key, 2) == ("permanent", "ACTOR_REVOKED")
    assert told(pass_) == [("prepare", 1), ("stop", 1)]


def test_rights_that_go_after_the_publication_leave_what_is_active(work, agents, reconciler):
    """K87"""
    key = agents.deploy()
    pass_ = reconciler("--agents", "activate:pending=X_WAIT", "ready")
    assert ended(pass_)[0] == "pending"
    work.db.execute("delete from occ.iam_access_bindings where id = %s", work.binding)
    assert again(work, pass_, key, 2) == ("permanent", "AUTHORIZATION_DENIED")
    assert told(pass_) == [("prepare", 1), ("activate", 1)] and agents.active() == key.split(":")[1]


# ---- candidates


def test_a_permanent_failure_stops_the_candidate_first(work, agents, reconciler):
    complete(agents, 1)
    active = agents.active()
    key = agents.deploy(2)
    pass_ = reconciler("--agents", "prepare:permanent=REVISION_UNSCHEDULABLE", "stop:gate")
    pass_.wait("effect", what="stop")
    assert work.row(key)["state"] == "claimed" and work.events(key) == []
    pass_.order("open")
    assert ended(pass_) == ("permanent", "REVISION_UNSCHEDULABLE")
    assert told(pass_) == [("prepare", 2), ("stop", 2)] and agents.active() == active
    assert work.events(key) == [(RECONCILE, "failure", "REVISION_UNSCHEDULABLE")]


def test_a_refusal_after_the_route_was_switched_switches_it_back(work, agents, reconciler):
    """Else the Agent's callers would reach a revision that is stopped, while the active one runs for nobody."""
    complete(agents, 1)
    active = agents.active()
    key = agents.deploy(2)
    pass_ = reconciler("--agents", "--before-commit", "prepare:ready", "activate:gate", "activate:gate", "ready")
    pass_.wait("effect", what="activate")
    work.db.execute("delete from occ.iam_access_bindings where id = %s", work.binding)
    pass_.order("open")
    pass_.wait("effect", 2, what="activate")
    assert work.row(key)["state"] == "claimed" and work.events(key) == []
    pass_.order("open")
    assert ended(pass_) == ("permanent", "AUTHORIZATION_DENIED")
    assert told(pass_) == [("prepare", 2), ("activate", 2), ("activate", 1), ("stop", 2)]
    assert agents.active() == active


def test_a_route_that_does_not_go_back_yet_keeps_the_candidate_and_the_refusal(work, agents, reconciler):
    """K93"""
    complete(agents, 1)
    key = agents.deploy(2)
    pass_ = reconciler("--agents", "--before-commit", "activate:permanent=X_BAD", "activate:pending=X_WAIT", "activate:ready")
    assert ended(pass_) == ("pending", "X_BAD")
    assert told(pass_) == [("prepare", 2), ("activate", 2), ("activate", 1)]
    assert again(work, pass_, key, 2) == ("permanent", "X_BAD")
    assert told(pass_)[3:] == [("activate", 1), ("stop", 2)]


def test_the_deadline_stops_the_candidate_first(work, agents, reconciler):
    key = agents.admit(revision=agents.deployable(), age="10 s")
    pass_ = reconciler("--agents", "--timeout", 9000, "prepare:pending=REVISION_INCOMPLETE")
    assert ended(pass_) == ("permanent", "CONVERGENCE_DEADLINE_EXCEEDED")
    assert told(pass_) == [("prepare", 1), ("stop", 1)]
    assert work.row(key)["result_data"] == {"timeoutMs": 9000}


def test_the_deadline_after_the_publication_leaves_what_is_active(work, agents, reconciler):
    key = agents.admit(revision=agents.deployable(), age="10 s")
    pass_ = reconciler("--agents", "--timeout", 9000, "activate:pending=X_WAIT")
    assert ended(pass_) == ("permanent", "CONVERGENCE_DEADLINE_EXCEEDED")
    assert told(pass_) == [("prepare", 1), ("activate", 1)] and agents.active() == key.split(":")[1]
    assert work.row(key)["result_data"] == {"timeoutMs": 9000}


def test_the_last_attempt_stops_the_candidate_first(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "--attempts", 2, "prepare:retry=X_FAILED")
    assert ended(pass_) == ("retry", "X_FAILED")
    assert again(work, pass_, key, 2) == ("permanent", "X_FAILED")
    assert told(pass_) == [("prepare", 1), ("prepare", 1), ("stop", 1)]


def test_an_unfinished_stop_holds_the_refusal(work, agents, reconciler):
    """K93: beyond attempts and deadline, with the refusal's code, more slowly with each failed stop."""
    key = agents.admit(revision=agents.deployable(), age="1 h")
    pass_ = reconciler("--agents", "--attempts", 1, "--timeout", 7200000, "prepare:permanent=X_BAD",
                       "stop:pending=X_STOPPING", "stop:retry=X_LATER", "stop:permanent=X_WORSE", "stop:ready")  # fmt: skip
    assert ended(pass_) == ("pending", "X_BAD")
    for number, wait in ((1, 2), (2, 4), (3, 8)):
        row = work.row(key)
        assert (row["state"], row["attempt_count"]) == ("queued", 0)
        assert row["result_data"]["stops"] == number and row["result_data"]["refusal"]["code"] == "X_BAD"
        assert (row["available_at"] - row["updated_at"]).total_seconds() == wait
        assert again(work, pass_, key, number + 1) == (("pending", "X_BAD") if number < 3 else ("permanent", "X_BAD"))
    # The refusal is not decided anew, and its evidence is kept. It is told once meanwhile (K95).
    assert told(pass_) == [("prepare", 1)] + [("stop", 1)] * 4
    assert work.latest(key)["details"]["message"] == "as the test said"
    assert work.events(key) == [(RECONCILE, "failure", "X_BAD")] * 2


def test_a_denial_is_held_as_a_denial(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "prepare:pending=X_WAIT", "stop:pending=X_STOPPING", "stop:ready")
    assert ended(pass_)[0] == "pending"
    work.db.execute("delete from occ.iam_access_bindings where id = %s", work.binding)
    assert again(work, pass_, key, 2) == ("pending", "AUTHORIZATION_DENIED")
    assert work.latest(key)["details"]["stop"]["code"] == "X_STOPPING"
    assert again(work, pass_, key, 3) == ("permanent", "AUTHORIZATION_DENIED")
    event = work.latest(key)
    assert (event["kind"], event["outcome"], event["details"]["decision"]["permission"]) == (
        "authorization_denial", "denied", "agent:deploy",
    )  # fmt: skip


def test_a_stop_or_deletion_ends_what_is_held(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "prepare:permanent=X_BAD", "stop:pending=X_STOPPING")
    assert ended(pass_) == ("pending", "X_BAD")
    agents.set(desired_runtime_state="stopped")
    assert again(work, pass_, key, 2) == ("pending", "REVISION_STOPPED")
    assert work.row(key)["result_data"]["stops"] == 2
    agents.set(status="deleting")
    assert again(work, pass_, key, 3) == ("success", "SUPERSEDED_TARGET")
    assert told(pass_) == [("prepare", 1), ("stop", 1), ("stop", 1)]


def test_drain_while_the_candidate_is_stopped(work, agents, reconciler):
    key = agents.deploy()
    pass_ = reconciler("--agents", "prepare:permanent=X_BAD", "stop:hang")
    pass_.wait("effect", what="stop")
    pass_.order("abort")
    assert pass_.report()["handed_back"] and work.row(key)["attempt_count"] == 0
    assert pass_.rest() == "stopped"
    pass_ = reconciler("--agents", "prepare:permanent=X_BAD", "ready")
    assert ended(pass_) == ("permanent", "X_BAD") and told(pass_) == [("prepare", 1), ("stop", 1)]


def test_a_subject_that_cannot_be_read_outlives_its_attempts(work, agents, reconciler):
    """Whether there is a candidate is not known then."""
    key = agents.deploy()
    work.db.execute("revoke select on occ.agent_revisions from occ_app")
    pass_ = reconciler("--agents", "--attempts", 1, "ready")
    assert ended(pass_) == ("pending", "DEPENDENCY_UNAVAILABLE") and work.row(key)["state"] == "queued"
    work.db.execute("grant select on occ.agent_revisions to occ_app")
    assert again(work, pass_, key, 2) == ("success", "REVISION_ACTIVATED")


def test_what_is_pinned_elsewhere_is_not_stopped_here(work, agents, reconciler):
    key = agents.admit(revision=agents.deployable(compute={"id": "c", "implementation": "d"}), attempts=1)
    pass_ = reconciler("--agents", "ready")
    assert ended(pass_) == ("permanent", "COMPUTE_DRIVER_MISMATCH") and not pass_.all("effect")
    assert work.row(key)["state"] == "failed_permanent"


def test_an_authority_is_asked_before_each_step(work, agents, reconciler):
    actor = str(uuid.uuid4())
    work.db.execute("insert into occ.iam_identities (id, kind) values (%s, 'service_principal')", actor)
    agents.admit(revision=agents.deployable(), actor=actor)
    pass_ = reconciler("--agents", "--authority", ",".join(["allow"] * 8 + ["deny"]), "ready")
    assert ended(pass_) == ("permanent", "AUTHORIZATION_DENIED")
    # Four questions for the preparation and four for the publication; the route is not allowed any more.
    assert told(pass_) == [("prepare", 1)] and agents.active() is not None
    assert len(pass_.all("decide")) == 9
