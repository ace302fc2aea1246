# SPDX-License-Identifier: MIT
"""What a Driver says beside its answer, and what an installed IAM Driver decides."""

import uuid

import pytest

ENSURE = "openclaw.namespaces.lifecycle.ensure"


def warnings(pass_):
    pass_.close()
    return [record for record in pass_.log if record["event"] == "compute.warning"]


@pytest.mark.parametrize("step", ["warn+ready", "warn+permanent=X_BAD"])
def test_a_warning_is_one_record(work, reconciler, step):
    key = work.admit()
    pass_ = reconciler(step)
    pass_.rest()
    (said,) = warnings(pass_)
    assert (said["severity"], said["code"], said["message"]) == ("WARN", "X_OLD", "it is old")
    assert said["workId"] == key and said["namespaceId"] in key and "agentId" not in said
    # The evidence of how the pass ended has it, too.
    for event in ("reconcile", *([ENSURE] if step == "warn+ready" else [])):
        assert work.latest(key, event)["details"]["warnings"] == [{"code": "X_OLD", "message": "it is old"}], event


def test_the_runtime_s_failure_is_evidence(work, reconciler):
    key = work.admit()
    pass_ = reconciler("broken+pending=X_WAIT", "pending=X_LATER", "broken+permanent=X_BAD")
    told = {
        "component": "gateway", "check": "readiness-probe", "checkedAt": "2026-01-31T23:59:59.123Z", "code": "CRASH_LOOP",
    }  # fmt: skip
    for number, code, failure in ((1, "X_WAIT", told), (2, "X_LATER", None), (3, "X_BAD", told)):
        assert pass_.report(number)["code"] == code
        details = work.latest(key)["details"]
        assert details["message"] == "as the test said" and details.get("failure") == failure
        if number < 3:
            pass_.rest(number)
            work.due(key)
            pass_.order("go")


# ---- an installed IAM Driver


def stranger(work, **more):
    """Work of an actor to whom no binding gives anything."""
    actor = work.identity()
    return actor, work.admit(actor=actor, **more)


def test_the_authority_s_word_takes_the_place_of_bindings(work, reconciler):
    """K99: the worker's evidence has the same form as that of what was asked for."""
    actor, key = stranger(work)
    pass_ = reconciler("--authority", "allow", "ready")
    assert pass_.report()["outcome"] == "success"
    (asked,) = pass_.all("decide")
    namespace = key.split(":")[1]
    assert (asked["actor"], asked["permission"], asked["resource"], asked["namespace"]) == (
        actor, "namespace:create", namespace, namespace,
    )  # fmt: skip
    assert work.latest(key, ENSURE)["details"]["decision"] == {
        "driver": "iam-probe", "permission": "namespace:create", "verdict": "allowed",
        "reference": "decision of create",
    }  # fmt: skip


def test_the_authority_denies_what_bindings_grant(work, reconciler):
    key = work.admit()
    pass_ = reconciler("--authority", "deny", "ready")
    assert (pass_.report()["outcome"], pass_.report()["code"]) == ("permanent", "AUTHORIZATION_DENIED")
    event = work.latest(key)
    assert (event["kind"], event["outcome"]) == ("authorization_denial", "denied")
    assert event["details"]["decision"] == {
        "driver": "iam-probe", "permission": "namespace:create", "verdict": "not_granted",
        "reference": "decision of create",
    }  # fmt: skip
    assert not pass_.all("effect")


def test_every_question_is_asked_of_the_authority(work, reconciler):
    key = work.admit(existing="team-a")
    pass_ = reconciler("--existing", "--authority", "allow,allow,deny", "ready")
    assert pass_.report()["code"] == "AUTHORIZATION_DENIED" and not pass_.all("effect")
    assert [asked["permission"] for asked in pass_.all("decide")] == [
        "namespace:create", "namespace:create", "installation:administer",
    ]  # fmt: skip
    assert work.latest(key)["details"]["decision"]["permission"] == "installation:administer"


@pytest.mark.parametrize("why", ["restricted", "gone"])
def test_restrictions_and_the_actor_stay_the_database_s(work, reconciler, why):
    """The authority is not even asked."""
    actor, key = (str(uuid.uuid4()), None) if why == "gone" else stranger(work)
    key = key or work.admit(actor=actor)
    if why == "restricted":
        work.restrict("create", "namespace", resource=key.split(":")[1])
    pass_ = reconciler("--authority", "allow", "ready")
    assert pass_.report()["code"] == ("ACTOR_REVOKED" if why == "gone" else "AUTHORIZATION_DENIED")
    assert not pass_.all("effect") and not pass_.all("decide")


@pytest.mark.parametrize(
    "decision, outcome, code",
    [
        ("retry=X_IAM_AWAY", "retry", "X_IAM_AWAY"),
        ("permanent=X_IAM_BROKEN", "retry", "X_IAM_BROKEN"),
        ("pending=X_IAM_BUSY/3000", "pending", "X_IAM_BUSY"),
    ],
)
def test_an_authority_that_fails_allows_nothing(work, reconciler, decision, outcome, code):
    """A dependency that failed: whatever it says, nothing ends for ever, and nothing is done."""
    key = work.admit()
    pass_ = reconciler("--passes", 1, "--authority", decision, "ready")
    report = pass_.report()
    assert (report["outcome"], report["code"], report["dependency"]) == (outcome, code, "iam")
    assert not pass_.all("effect") and work.row(key)["state"] == "queued"
    work.due(key)
    assert reconciler("--authority", "allow", "ready").report()["outcome"] == "success"


def test_the_claim_is_renewed_while_the_authority_thinks(work, reconciler):
    key = work.admit()
    pass_ = reconciler("--lease", 900, "--authority", "slow=2000", "ready")
    assert pass_.report()["outcome"] == "success"
    said = [record["say"] for record in pass_.said]
    assert said[said.index("decide") : said.index("effect")].count("renewed") >= 2
    assert work.row(key)["attempt_count"] == 1


def test_abort_while_the_authority_thinks(work, reconciler):
    """K18"""
    key = work.admit()
    pass_ = reconciler("--authority", "hang", "ready")
    pass_.wait("decide")
    pass_.order("abort")
    assert pass_.report()["handed_back"] and not pass_.all("effect")
    assert work.row(key)["attempt_count"] == 0
