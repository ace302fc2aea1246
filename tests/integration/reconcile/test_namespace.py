# SPDX-License-Identifier: MIT
"""What a pass makes of a claim, whatever its Driver says and whatever became of its target meanwhile."""

import uuid

import pytest

RECONCILE = "reconcile"
ENSURE = "openclaw.namespaces.lifecycle.ensure"
DELETE = "openclaw.namespaces.lifecycle.delete"


def test_a_namespace_becomes_ready(work, reconciler):
    key = work.admit()
    pass_ = reconciler("ready")
    assert pass_.rest() == "idle"
    # All is announced before the first effect.
    said = [record["say"] for record in pass_.said if record["say"] != "renewed"]
    assert said[:5] == ["token", "claimed", "effect", "token", "report"] and said[-1] == "rest"
    token, claimed, effect = (pass_.wait(say) for say in ("token", "claimed", "effect"))
    report = pass_.report()
    assert token["token"] == claimed["token"] == report["token"]
    assert (claimed["key"], claimed["kind"], claimed["attempt"]) == (key, "namespace_ensure", 1)
    assert effect["what"] == "ensure" and effect["namespace"] in key and not effect["observe"]
    assert (report["outcome"], report["code"]) == ("success", "NAMESPACE_RECONCILED")
    assert work.settled(key) == ("succeeded", "RECONCILE_SUCCEEDED", 1)
    assert work.status(key)["status"] == "ready"
    details = work.latest(key, ENSURE)["details"]
    assert details["decision"] == {
        "driver": "native-iam", "permission": "namespace:create", "verdict": "allowed",
        "bindingId": work.binding, "roleId": work.role,
    }  # fmt: skip
    assert len(work.events(key)) == 2


def test_a_namespace_is_deleted(work, reconciler):
    key = work.admit("deleted")
    pass_ = reconciler("ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("success", "NAMESPACE_RECONCILED")
    assert pass_.wait("effect")["what"] == "delete"
    assert work.status(key)["deleted_at"] is not None
    assert sorted(event[0] for event in work.events(key)) == [DELETE, RECONCILE]


def test_pending_until_ready(work, reconciler):
    """K95: the wait writes evidence once."""
    key = work.admit()
    pass_ = reconciler("pending=NAMESPACE_INCOMPLETE", "pending=NAMESPACE_INCOMPLETE", "ready")
    for number in (1, 2):
        report = pass_.report(number)
        assert (report["outcome"], report["code"], report["attempt"]) == ("pending", "NAMESPACE_INCOMPLETE", 1)
        assert pass_.rest(number) == "idle"
        work.due(key)
        pass_.order("go")
    assert pass_.report(3)["outcome"] == "success"
    assert sorted(event[2] for event in work.events(key)) == [
        "NAMESPACE_INCOMPLETE", "RECONCILE_SUCCEEDED", "RECONCILE_SUCCEEDED",
    ]  # fmt: skip


def test_retry_after_is_honoured(work, reconciler):
    """K80"""
    key = work.admit()
    reconciler("pending=X_BUSY/7000").report(outcome="pending")
    wait = work.db.one("select extract(epoch from available_at - updated_at)::float8 from occ.controller_work")
    assert wait == 7 and work.row(key)["attempt_count"] == 0


def test_failures_end_with_the_attempts(work, reconciler):
    key = work.admit()
    pass_ = reconciler("--attempts", 2, "retry=DOCKER_ENGINE_UNAVAILABLE")
    assert pass_.report()["outcome"] == "retry"
    work.due(key)
    pass_.rest() and pass_.order("go")
    report = pass_.report(2)
    assert (report["outcome"], report["code"], report["attempt"]) == ("permanent", "DOCKER_ENGINE_UNAVAILABLE", 2)
    assert work.status(key)["status"] == "failed"


def test_permanent(work, reconciler):
    key = work.admit()
    report = reconciler("permanent=OWNERSHIP_CONFLICT").report()
    assert (report["outcome"], report["code"]) == ("permanent", "OWNERSHIP_CONFLICT")
    assert work.status(key)["status"] == "failed"


def test_deadline(work, reconciler):
    key = work.admit(age="10 s")
    report = reconciler("--timeout", 9000, "pending=NAMESPACE_INCOMPLETE").report()
    assert (report["outcome"], report["code"]) == ("permanent", "CONVERGENCE_DEADLINE_EXCEEDED")
    assert work.row(key)["result_data"] == {"timeoutMs": 9000}


@pytest.mark.parametrize("step", ["foreign", "mute"])
def test_an_observation_of_another_namespace_is_worth_nothing(work, reconciler, step):
    key = work.admit()
    assert reconciler(step).report()["code"] == "INVALID_DRIVER_OBSERVATION"
    assert work.status(key)["status"] == "failed"


def test_a_code_that_is_none_is_not_stored(work, reconciler):
    key = work.admit()
    assert reconciler("permanent=not-a-code").report()["code"] == "INVALID_DRIVER_OBSERVATION"
    assert work.settled(key)[0] == "failed_permanent"


def test_adoption_needs_a_driver_that_can(work, reconciler):
    key = work.admit(existing="team-a")
    pass_ = reconciler("ready")
    assert pass_.report()["code"] == "EXISTING_NAMESPACE_UNSUPPORTED" and not pass_.all("effect")
    assert work.status(key)["status"] == "failed"


def test_adoption_needs_administration(work, reconciler):
    actor = work.identity()
    work.bind(actor, work.new_role([{"action": "create", "resourceKind": "namespace"}]))
    refused, allowed = work.admit(existing="team-a", actor=actor, due="-1 s"), work.admit(existing="team-b")
    pass_ = reconciler("--existing", "ready")
    assert pass_.report(1)["code"] == "AUTHORIZATION_DENIED"
    assert pass_.report(2)["code"] == "NAMESPACE_RECONCILED"
    assert [effect["existing"] for effect in pass_.all("effect")] == ["team-b"]
    assert work.latest(refused)["details"]["decision"]["permission"] == "installation:administer"
    assert work.status(allowed)["status"] == "ready"


# ---- re-reading: target and rights


@pytest.mark.parametrize("target, status", [("ready", "deleting"), ("ready", "failed"), ("deleted", "ready")])
def test_superseded_target(work, reconciler, target, status):
    key = work.admit(target, work.namespace(status))
    pass_ = reconciler("ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("success", "SUPERSEDED_TARGET")
    assert not pass_.all("effect") and work.status(key)["status"] == status
    assert work.events(key) == [(RECONCILE, "success", "SUPERSEDED_TARGET")]


def test_target_that_moves_on_during_the_effect(work, reconciler):
    key = work.admit()
    pass_ = reconciler("gate")
    pass_.wait("effect")
    work.db.execute("update occ.namespaces set status = 'deleting'")
    pass_.order("open")
    assert pass_.report()["code"] == "SUPERSEDED_TARGET"
    assert work.status(key)["status"] == "deleting"


@pytest.mark.parametrize("target", ["ready", "deleted"])
@pytest.mark.parametrize("why", ["AUTHORIZATION_DENIED", "ACTOR_REVOKED", "restricted"])
def test_denied(work, reconciler, target, why):
    actor = str(uuid.uuid4()) if why == "ACTOR_REVOKED" else work.identity()
    key = work.admit(target, actor=actor)
    if why == "restricted":
        work.bind(actor, work.role)
        made = work.restrict("create" if target == "ready" else "delete", "namespace", resource=key.split(":")[1])
    pass_ = reconciler("ready")
    code = "AUTHORIZATION_DENIED" if why == "restricted" else why
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", code)
    assert not pass_.all("effect")
    event = work.latest(key)
    assert (event["kind"], event["outcome"], event["actor_id"]) == ("authorization_denial", "denied", actor)
    assert event["details"]["decision"].get("restrictionId") == (made if why == "restricted" else None)
    assert work.status(key)["status"] == ("failed" if target == "ready" else "deleting")


def test_iam_that_cannot_be_read_allows_nothing(work, reconciler):
    key = work.admit()
    work.db.execute("revoke select on occ.iam_access_bindings from occ_app")
    pass_ = reconciler("ready")
    report = pass_.report()
    assert (report["outcome"], report["code"], report["dependency"]) == ("retry", "DEPENDENCY_UNAVAILABLE", "postgresql")
    assert not pass_.all("effect") and work.row(key)["state"] == "queued"


def test_a_late_deletion_observes_first(work, reconciler):
    """K97: already gone is success, whatever the deadline says."""
    key = work.admit("deleted", age="1 h")
    pass_ = reconciler("ready")
    assert pass_.report()["outcome"] == "success"
    assert [effect["observe"] for effect in pass_.all("effect")] == [True]
    assert work.status(key)["deleted_at"] is not None


def test_a_late_deletion_is_tried_once_more(work, reconciler):
    """K97: a repetition asks for a try; what is still not done then has missed its deadline."""
    keys = [work.admit("deleted", age="1 h", due=f"-{2 - i} s") for i in range(2)]
    pass_ = reconciler("pending=X_THERE", "ready", "pending=X_THERE", "pending=DOCKER_NETWORK_IN_USE")
    assert pass_.report(1)["outcome"] == "success"
    assert pass_.report(2)["code"] == "CONVERGENCE_DEADLINE_EXCEEDED"
    assert [effect["observe"] for effect in pass_.all("effect")] == [True, False, True, False]
    assert work.status(keys[0])["deleted_at"] is not None and work.status(keys[1])["deleted_at"] is None
